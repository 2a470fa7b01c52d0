"""Inputs of the collection core: what `CollectionCore.handle` takes, besides messages of the learner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attract.collection.effects import Verdict
from attract.schema.api import CheckFinding
from attract.schema.base import Tier
from attract.schema.game import GameDescription
from attract.schema.learner import Dropped, Published, Ready, Trained
from attract.schema.messages import (
    Block,
    FromBrowser,
    Hello,
    ParameterDistribution,
    Recording,
    Seat,
    Seed,
)


class Event:
    """An input that is no message of the learner: one of the classes below."""


@dataclass(frozen=True)
class Connected(Event):
    """A host or a worker said hello on a new socket.

    Raises: ProtocolError: code `run`, when a worker was made for another run.
    """

    connection_id: int
    hello: Hello
    tier: Tier
    identity: str = ""
    """Credential and address of the socket in one word; empty: the id in its hello stands in."""


@dataclass(frozen=True)
class Disconnected(Event):
    """A socket is gone. Its worker may come back within 2 s (rule C3)."""

    connection_id: int


@dataclass(frozen=True)
class MessageReceived(Event):
    """A host or a worker sent a message, any but a block.

    Raises: ProtocolError: the sender may not say that, or speaks of another run.
    """

    connection_id: int
    message: FromBrowser


@dataclass(frozen=True)
class BlockDecided(Event):
    """A block has its verdict of `offer_block`, and its rows are written if accepted; acknowledge it."""

    connection_id: int
    block: Block
    verdict: Verdict


@dataclass(frozen=True)
class MessageWrong(Event):
    """A worker sent something impossible, so its socket is closed: this counts against its identity."""

    connection_id: int
    what: str


@dataclass(frozen=True)
class FrameUnreadable(Event):
    """A host or a worker sent an unreadable frame: this counts against its identity."""

    connection_id: int
    what: str


@dataclass(frozen=True)
class GameRemembered(Event):
    """A resumed run knows its module's description: no host is asked (rule D2)."""

    description: GameDescription


@dataclass(frozen=True)
class GameChecked(Event):
    """A browser of the admin's own has checked the game.

    Some findings switch off the audit or the boxes, before an honest guest can suffer from them.
    """

    findings: Sequence[CheckFinding]
    unplayable: bool = False
    """Whether the game cannot be played, which ends the run."""


@dataclass(frozen=True)
class LearnerLost(Event):
    """The learner died and another is started; what was not durable is collected again.

    Workers keep sockets and leases, the batch of the learner waits for the next one.
    """


@dataclass(frozen=True)
class RequestEvaluation(Event):
    """The run: play fixed episodes with a version; `EvaluationDone` follows.

    No update begins before it. Later requests wait their turn, each for the version that was newest then.
    Raises: RuntimeError: there is no version yet.
    """

    episodes: int
    deterministic: bool
    seed: Seed
    version: int | None = None
    """Which, with its models at hand; None: the newest."""
    record: Recording = "none"
    seats: tuple[Seat, ...] = ()
    """Who plays each agent, with its model at hand; empty: the version plays them all."""


@dataclass(frozen=True)
class EndEvaluation(Event):
    """The run: end the evaluation under way; `EvaluationDone` has the episodes so far.

    Nothing happens while no episode has its result.
    """


@dataclass(frozen=True)
class SetLesson(Event):
    """The run: leases for training that are issued from now on carry this lesson (C6)."""

    lesson_id: str | None
    parameters: Mapping[str, ParameterDistribution]
    evaluation_parameters: Mapping[str, ParameterDistribution] = field(
        default_factory=dict[str, ParameterDistribution]
    )
    """Leases for evaluation that are issued from now on start their games with these."""


@dataclass(frozen=True)
class Pause(Event):
    """A person, or the run: issue no leases for training and begin no update; finish what is under way."""


@dataclass(frozen=True)
class Resume(Event):
    """A person, or the run: go on after `Pause`, and after pauses that a person lifts."""


@dataclass(frozen=True)
class LetIn(Event):
    """A person: lift the ban of an identity. Raises: KeyError: it is not banned."""

    identity: str


@dataclass(frozen=True)
class Tick(Event):
    """A timer: time has passed; leases may have lapsed (rule C3), deadlines gone by."""


@dataclass(frozen=True)
class EndRun(Event):
    """The run is over: workers end, hosts wait for the next run. Nothing is accepted any more."""

    reason: str = "the run is over"


Input = Event | Ready | Trained | Published | Dropped
