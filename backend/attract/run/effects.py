"""Effects of the run core, besides those of the collection core; the run's outputs apply them in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attract.collection import effects as collection
from attract.runs.metrics import UpdateRow
from attract.schema.api import EvaluationView
from attract.schema.base import WireModel
from attract.schema.episode_results import EpisodeResult
from attract.schema.learner import Counters
from attract.schema.recorded_episode import EpisodeRole, EpisodeSource, RecordedEpisode

Kind = Literal["status", "metrics", "fleet", "report", "policy", "lesson", "finding", "log", "episode"]
"""Kind of an event that pages hear."""


@dataclass(frozen=True)
class CommitRow:
    """Write the row of a durable version, with the events that tell of it; `row_committed` follows (D1)."""

    row: UpdateRow
    counters: Counters
    bodies: tuple[tuple[Kind, WireModel], ...]


@dataclass(frozen=True)
class PublishRow:
    """Let pages hear the events of the row that was committed last."""


@dataclass(frozen=True)
class KeepPolicies:
    """Have the models of a version at hand: workers and pages may ask for them from now on."""

    policy_version: int
    onnx: Mapping[str, bytes]
    """By policy id."""


@dataclass(frozen=True)
class Publish:
    """An event for every page; kept."""

    kind: Kind
    body: WireModel


@dataclass(frozen=True)
class KeepEpisodes:
    """Keep episodes, to be played again."""

    source: EpisodeSource
    episodes: Sequence[tuple[EpisodeRole, RecordedEpisode]]
    agent_steps: int


@dataclass(frozen=True)
class StateChanged:
    """The run's state changed: keep its view and tell everyone."""


@dataclass(frozen=True)
class MarkBest:
    """Point `best` at a version."""

    policy_version: int


@dataclass(frozen=True)
class KeepVersion:
    """Never remove a version's checkpoint."""

    policy_version: int


@dataclass(frozen=True)
class AddEvaluation:
    """Write an evaluation's metrics beside the update that it judged."""

    update: int
    agent_steps: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class AnswerEvaluation:
    """Answer a requested evaluation with its result, once that is written."""

    request_id: int
    view: EvaluationView
    recorded: Sequence[RecordedEpisode] = ()
    """Every episode, where the request asks for them."""
    results: Sequence[EpisodeResult] = ()
    """One for each episode, in the order of their indices."""


@dataclass(frozen=True)
class ExportLast:
    """Write a version (None: the newest) into the run's export; `exported` follows, with this attempt."""

    attempt: int
    policy_version: int | None


@dataclass(frozen=True)
class EndLearner:
    """End the learner, `at_once` without letting it finish; `learner_ended` follows."""

    at_once: bool


@dataclass(frozen=True)
class Release:
    """The run has ended: nothing more is heard or written, its directory is free."""


RunEffect = (
    CommitRow
    | PublishRow
    | KeepPolicies
    | Publish
    | KeepEpisodes
    | StateChanged
    | MarkBest
    | KeepVersion
    | AddEvaluation
    | AnswerEvaluation
    | ExportLast
    | EndLearner
    | Release
)
Effect = RunEffect | collection.Effect
