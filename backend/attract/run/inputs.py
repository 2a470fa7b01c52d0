"""Inputs of the run core: what `RunCore.handle` takes; some are inputs of the collection core too."""

from collections.abc import Iterable
from dataclasses import dataclass

from attract.collection.effects import Effect as CollectionEffect
from attract.collection.inputs import GameChecked, LearnerLost, LetIn, Pause, Resume, Tick
from attract.run.evaluation import EvaluationRequest
from attract.schema.api import FleetView, RandomPlay
from attract.schema.game import GameDescription
from attract.schema.learner import Dropped, Published, Ready, Trained


@dataclass(frozen=True)
class Begin:
    """The active run: the first input."""

    description: GameDescription | None
    """What a resumed run knows of its game; None: nothing."""
    is_same_module: bool = False
    """Whether this very module described itself so: no browser is asked again."""


@dataclass(frozen=True)
class Collected:
    """The effect runner: the collection core took an input and emitted these effects, in order."""

    emitted: list[CollectionEffect]


@dataclass(frozen=True)
class LearnerReady:
    """A learner has its policy, fresh or from the newest checkpoint; and what the record holds (D2)."""

    ready: Ready
    seconds: float = 0.0
    """The run's time at its newest row."""
    policy_version: int | None = None
    """Version of the newest row; None: there is no row."""
    rows: Iterable[tuple[int, int, dict[str, float]]] = ()
    """Update, agent steps and metrics of each row."""


@dataclass(frozen=True)
class LearnerFailed:
    """The supervisor: there is no learner, and there will be none."""

    why: str


@dataclass(frozen=True)
class GroupEnded:
    """The learner: cell 0 has ended the run of all cells. This one ends too, whatever it had collected."""


@dataclass(frozen=True)
class RowCommitted:
    """The outputs: the row of `CommitRow` is on disk; its version may be announced (D1)."""


@dataclass(frozen=True)
class RowFailed:
    """The outputs: the row cannot be written, and not because of the disk; its version is never announced."""

    error: str


@dataclass(frozen=True)
class DiskChanged:
    """The disk watch: the disk refuses writes for this reason; None: it accepts them again."""

    reason: str | None


@dataclass(frozen=True)
class Stop:
    """A person: finish the update under way, save, export, end."""


@dataclass(frozen=True)
class Abort:
    """A person: end now; what is not durable yet is lost, nothing is exported."""


@dataclass(frozen=True)
class Fail:
    """A part of the run: it cannot go on; it ends with this error."""

    error: str
    refused: bool = False
    """Whether the request itself is impossible."""


@dataclass(frozen=True)
class Broke:
    """The effect runner: a fault of our own, perhaps in the middle of a decision, which is given up."""

    error: str


@dataclass(frozen=True)
class ExportDone:
    """The outputs: `ExportLast` wrote this version into that folder."""

    attempt: int
    version: int | None
    folder: str | None


@dataclass(frozen=True)
class ExportFailed:
    """The outputs: `ExportLast` failed."""

    attempt: int
    error: str


@dataclass(frozen=True)
class LearnerEnded:
    """The outputs: `EndLearner` is done."""


@dataclass(frozen=True)
class CannotEnd:
    """The outputs: the run cannot be ended in good order."""

    error: str


Input = (
    Begin
    | Tick
    | Collected
    | FleetView
    | GameChecked
    | RandomPlay
    | LearnerReady
    | Trained
    | Published
    | Dropped
    | LearnerLost
    | LearnerFailed
    | GroupEnded
    | RowCommitted
    | RowFailed
    | DiskChanged
    | Pause
    | Resume
    | LetIn
    | EvaluationRequest
    | Stop
    | Abort
    | Fail
    | Broke
    | ExportDone
    | ExportFailed
    | LearnerEnded
    | CannotEnd
)
"""Besides the classes above, as they came:

`Trained`, `Published`, `Dropped`: messages of the learner. `FleetView`: hosts and workers now; the run waits
while no worker is there. `RandomPlay`: measured by a browser, now or in an earlier session.
`EvaluationRequest`: a person or a program asks for an evaluation; `AnswerEvaluation` follows.
"""
