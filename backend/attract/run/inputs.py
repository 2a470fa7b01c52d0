"""Inputs of the run core: what `RunCore.handle` takes; some are inputs of the collection core too."""

from collections.abc import Iterable
from dataclasses import dataclass

from attract.collection.effects import Effect as CollectionEffect
from attract.collection.inputs import EndEvaluation, GameChecked, LearnerLost, LetIn, Pause, Resume, Tick
from attract.run.evaluation import EvaluationRequest
from attract.schema.api import FleetView, RandomPlay, RunView
from attract.schema.game import GameDescription
from attract.schema.learner import Dropped, Published, Ready, Trained


class Event:
    """An input of the run core alone: one of the classes below."""


@dataclass(frozen=True)
class Begin(Event):
    """The active run: the first input."""

    description: GameDescription | None
    """What is known of the game; None: a browser has to describe it."""
    is_same_module: bool = False
    """Whether this very module described itself so: no browser is asked again."""
    before: RunView | None = None
    """How a resumed run stood last."""


@dataclass(frozen=True)
class Collected(Event):
    """The effect runner: the collection core took an input and emitted these effects, in order."""

    emitted: list[CollectionEffect]


@dataclass(frozen=True)
class LearnerReady(Event):
    """A learner has its policy, fresh or from the newest checkpoint; and what the record holds (D2)."""

    ready: Ready
    seconds: float = 0.0
    """The run's time at its newest row."""
    policy_version: int | None = None
    """Version of the newest row; None: there is no row."""
    rows: Iterable[tuple[int, int, dict[str, float]]] = ()
    """Update, agent steps and metrics of each row."""


@dataclass(frozen=True)
class LearnerFailed(Event):
    """The supervisor: there is no learner, and there will be none."""

    why: str


@dataclass(frozen=True)
class RowCommitted(Event):
    """The outputs: the row of `CommitRow` is on disk; its version may be announced (D1)."""


@dataclass(frozen=True)
class RowFailed(Event):
    """The outputs: the row cannot be written, and not because of the disk; its version is never announced."""

    error: str


@dataclass(frozen=True)
class DiskChanged(Event):
    """The disk watch: the disk refuses writes for this reason; None: it accepts them again."""

    reason: str | None


@dataclass(frozen=True)
class Stop(Event):
    """A person: finish the update under way, save, export, end."""


@dataclass(frozen=True)
class Abort(Event):
    """A person: end now; what is not durable yet is lost, nothing is exported."""


@dataclass(frozen=True)
class Fail(Event):
    """A part of the run: it cannot go on; it ends with this error."""

    error: str
    refused: bool = False
    """Whether the request itself is impossible."""


@dataclass(frozen=True)
class Broke(Event):
    """The effect runner: a fault of our own, perhaps in the middle of a decision, which is given up."""

    error: str


@dataclass(frozen=True)
class ExportDone(Event):
    """The outputs: `ExportLast` wrote this version into that folder."""

    attempt: int
    version: int | None
    folder: str | None


@dataclass(frozen=True)
class ExportFailed(Event):
    """The outputs: `ExportLast` failed."""

    attempt: int
    error: str


@dataclass(frozen=True)
class LearnerEnded(Event):
    """The outputs: `EndLearner` is done."""


@dataclass(frozen=True)
class CannotEnd(Event):
    """The outputs: the run cannot be ended in good order."""

    error: str


Shared = EndEvaluation | GameChecked | LearnerLost | LetIn | Pause | Resume | Tick
"""Inputs of both cores."""
Input = Event | Shared | Trained | Published | Dropped | FleetView | RandomPlay | EvaluationRequest
"""`FleetView`: hosts and workers now; the run waits while no worker is there. `RandomPlay`: measured by a
browser, now or in an earlier session. `EvaluationRequest`: asked for by a person or a program;
`AnswerEvaluation` follows.
"""
