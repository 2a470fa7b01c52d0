"""Effects of the collection core; the gateway applies them in order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import Lease
from attract.schema.api import EvaluationView, GameReport, LogLine
from attract.schema.episode_results import EpisodeResult
from attract.schema.episodes import Episodes
from attract.schema.game import GameDescription
from attract.schema.game_messages import MethodSource
from attract.schema.learner import Awaited, Train, Warmup
from attract.schema.messages import RolloutClose, ToBrowser
from attract.schema.recorded_episode import RecordedEpisode


@dataclass(frozen=True)
class Send:
    """Send a message on a connection; nothing happens if it has just gone."""

    connection_id: int
    message: ToBrowser


@dataclass(frozen=True)
class SendPolicy:
    """Send a worker the policy of this version, whose bytes the gateway has.

    The version is the newest, or while an evaluation runs the one being evaluated, at most one older; or
    with `is_opponent` one of the pool, or the one that was the newest.
    """

    connection_id: int
    policy_id: str
    policy_version: int
    is_opponent: bool = False
    """It plays a seat that does not learn: it takes the place of no other."""


@dataclass(frozen=True)
class PoolChanged:
    """These versions are opponents from now on, and no others."""

    versions: tuple[int, ...]


@dataclass(frozen=True)
class CloseConnection:
    """Close a socket, after what was sent before."""

    connection_id: int
    code: int
    reason: str


@dataclass(frozen=True)
class SendToLearner:
    """Send the learner its work: random play for its statistics, an update; or that a batch waits."""

    message: Warmup | Train | Awaited


@dataclass(frozen=True)
class EpisodesCounted:
    """Finished training episodes, never cut ones (E1), that count from now on."""

    first_index: int
    """`global_episode_index` of the first (C6); the others' follow."""
    results: Episodes


@dataclass(frozen=True)
class WakeAfter:
    """Give the core a `Tick` after so many seconds, since no message may come before that."""

    seconds: float


@dataclass(frozen=True)
class LeaseClosed:
    """A worker's own account of a lease of its that is over."""

    close: RolloutClose
    seconds: float | None
    """From the issue of a training lease to its close; the wait behind the lease before is part of it. None:
    one of another purpose, or that never began.
    """


@dataclass(frozen=True)
class EvaluationDone:
    """An evaluation is complete: one result per episode, in the order of their indices."""

    view: EvaluationView
    results: tuple[EpisodeResult, ...]
    recorded: tuple[RecordedEpisode, ...] = ()
    """The episodes among them that its workers were asked to send."""


@dataclass(frozen=True)
class EpisodesRecorded:
    """The best, the worst and the median training episodes of each worker under one version."""

    policy_version: int
    episodes: tuple[RecordedEpisode, ...]


@dataclass(frozen=True)
class GameKnown:
    """The game says this of itself: make the store, begin the learner and central inference."""

    description: GameDescription


@dataclass(frozen=True)
class Report:
    """Something broke: tell everyone, in the places of its author."""

    report: GameReport
    method: MethodSource | None = None
    """The method that failed, whose place stands in for a stack."""
    recorded: RecordedEpisode | None = None
    """The episode that failed: kept with the first report of its kind."""
    fatal: bool = False
    """The run cannot go on."""


@dataclass(frozen=True)
class GameLogged:
    """The first copy of a game in one worker of each host wrote a line to its console."""

    worker_id: int
    line: LogLine


@dataclass(frozen=True)
class ForgerCaught:
    """A guest's segment differs from its replay (rule C10): its identity is banned from now on."""

    identity: str
    worker_id: int
    what: str
    """The first thing that differed, in words."""
    has_counted: bool = False
    """Whether episodes of it were counted, which may be before a segment of it is trained."""


@dataclass(frozen=True)
class Unconfirmed:
    """Nothing computed again could be confirmed, for any worker: the core has paused itself (rule C7)."""

    text: str
    """For people."""


@dataclass(frozen=True)
class Note:
    """Something a person should see; `kind` is a short word, `text` a sentence."""

    kind: str
    text: str
    rollback_to: int | None = None
    """The newest version without what the note is about; None: there is nothing to go back from."""


Effect = (
    Send
    | SendPolicy
    | PoolChanged
    | CloseConnection
    | SendToLearner
    | EpisodesCounted
    | LeaseClosed
    | WakeAfter
    | EvaluationDone
    | EpisodesRecorded
    | GameKnown
    | Report
    | GameLogged
    | ForgerCaught
    | Unconfirmed
    | Note
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the core says of an offered block; handed back with `decide_block` or `withdraw_block`."""

    accepted: bool
    rows: NDArray[np.int64] | None
    """[k] store rows for the block's columns, reserved until committed or withdrawn; None when refused."""
    worker_id: int
    """For the store's rows; -1 when the connection is no worker's."""
    reason: str | None = None
    lease: Lease | None = None
    """That it came under; None when refused."""
    is_outside: bool = False
    """Refused for numbers outside of the game's boxes: no proof of a lie; the guest is audited more."""
