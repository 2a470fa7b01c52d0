"""What commands print with `--json`: see docs/commands.md, "Answers as JSON"."""

from typing import Literal

from pydantic import ConfigDict, Field

from attract.schema.api import CheckedPlay, Finding
from attract.schema.base import Count, Name, Text, WireModel
from attract.schema.recorded_episode import EpisodeReplay


class CheckedFinding(WireModel):
    """One thing that keeps an agent from learning the game."""

    id: Name
    """Stable, such as `constant-observation`: look it up in the guide."""
    severity: Literal["error", "warning"]
    text: Text
    fix: Text
    """What to do about it."""
    file: Text | None
    """Place in the author's files, with `line` and `column`; null: unknown."""
    line: Count | None
    column: Count | None
    stack: Text | None
    episode: Text | None = None
    """File of the episode in which the game failed; null without `--save`."""


class CheckAnswer(WireModel):
    """`attract check`: at most some thirty findings."""

    game: Text
    ok: bool
    """No finding is an error."""
    findings: list[CheckedFinding]
    first_episode: Text | None
    """File of the first episode; null without `--save`."""
    play: CheckedPlay | None
    """The random play; null: the game failed in it."""
    unplayable: bool
    """The game could not be loaded, or not be played for some hundred steps."""


class JudgedAnswer(WireModel):
    """What `train` and `eval` have in common: the return beside that of random play."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    trained_return: float | None = Field(alias="return")
    """Mean return of the trained policy; null: no episode ended."""
    standard_error: float | None
    return_episodes: Count | None
    """Episodes that `return` is the mean of."""
    random_return: float | None
    """The same of random play; null: not measured."""
    random_standard_error: float | None
    random_episodes: Count | None
    learned: bool | None
    """Whether `return` is clearly above `random_return`; null: not known."""
    learned_reason: Text | None
    """Why `learned` is null, and what is missing."""


class TrainAnswer(JudgedAnswer):
    """`attract train`, once it has ended."""

    run_id: Name
    agent_steps: Count
    updates: Count
    policy_version: Count
    wall_seconds: float
    steps_per_second: float
    episode_return_mean: float | None
    """Mean return of the last 100 training episodes."""
    goal_reached: bool | None
    """`--until-return`: whether an evaluation confirmed it; `--until-win-rate`: whether it was reached; null
    without either."""
    win_rate: float | None
    """Share of the last 100 whole episodes against opponents that it won; null without any."""
    export: Text | None
    """Folder of the policy; null: there is none."""
    state: Name
    """`finished`, `stopped` or `failed`."""
    error: Text | None
    """Why it failed."""
    waited_seconds: float
    """How long the learner waited for experience."""
    findings: list[Finding]
    """What kept the run from learning, or slowed it down; at most one of each kind."""
    check: list[CheckedFinding] | None
    """What the check before the training found; null: it was left out."""


class TrainLine(WireModel):
    """`attract train --json-lines`: an update; the last line is the answer."""

    update: Count
    agent_steps: Count
    wall_seconds: float
    episode_return_mean: float | None
    """Null until an episode has ended."""


class EvaluateAnswer(JudgedAnswer):
    """`attract eval`."""

    run_id: Name
    policy_version: Count
    episodes: Count
    return_mean: float
    """The same as `return`."""
    return_std: float
    length_mean: float
    """Steps of an episode."""
    episodes_saved: Count | None
    """Files that `--save` wrote; null without the option."""


class ReplayedEpisode(EpisodeReplay):
    """One episode, played again."""

    episode: Text
    """Its file, or run and number."""
    other_build: bool
    """It was recorded in another build of the game."""


class ReplayAnswer(WireModel):
    """`attract replay`: about 400 bytes an episode."""

    game: Text
    equal: bool
    """All episodes were played, and are the same."""
    problem: Text | None
    """Why the others were not played."""
    episodes: list[ReplayedEpisode]


class RunMetric(WireModel):
    """One metric of a run, to six digits."""

    first: float
    """Value of the first update; of more than 500 updates the mean of the first part."""
    last: float
    """The same of the last."""
    low: float
    high: float
    values: list[float | None] | None
    """On the axis of the answer; null in it: there was none. Null instead: not asked for."""


class RunMetrics(WireModel):
    """`attract metrics`: at most 8 kB, unless `--points` is given."""

    run_id: Name
    agent_steps: Count | None
    """Steps of the newest update; null: there is none yet."""
    axis: list[int] | None
    """Agent steps of each value."""
    metrics: dict[str, RunMetric]
    left_out: list[str] = []
    """Names that were cut; the last entry may say how many more there are."""


class ImitateAnswer(WireModel):
    """`attract imitate`."""

    run_id: Name
    demonstrations: Count
    steps: Count
    """Steps in all demonstrations."""
    return_mean: float
    """Mean return in the demonstrations."""
    policy_version: Count
    wall_seconds: float
    export: Text
    """Folder of the policy."""
    metrics: dict[str, float]


class ExportedLevel(WireModel):
    """A version of an opponent that is shipped from easy to hard."""

    level: Count
    """From 1, the easiest."""
    file: Text
    """Beside policy.json."""
    policy_version: Count
    rating: float
    """By a match of the run's versions."""
    wins_below: float | None
    """Share that it wins against the level below; null: there is none."""


class ExportAnswer(WireModel):
    """`attract export`."""

    run_id: Name | None
    """Null: a recorded episode was exported."""
    version: Count | None
    """Version of the policy."""
    episode: Text | None
    """The recorded episode."""
    files: list[Text]
    """What was written, the policies first; some ten files and those of the page."""
    page: Text | None
    """Path of the page below the folder; null without `--page`."""
    left_out: dict[str, Count]
    """Files of the page's folder that no page needs: their number by kind."""
    notes: list[Text]
    """What the page did that may fail elsewhere."""
    levels: list[ExportedLevel] = []
    """With `--levels`, the easiest first."""


class NewAnswer(WireModel):
    """`attract new`."""

    folder: Text
    files: list[Text]
    """What was written, below the folder."""
    next: list[Text]
    """The commands to type next."""


class InitAnswer(WireModel):
    """`attract init`."""

    files: list[Text]
    """What was written, below the current folder, beside the baseline."""
    verdict: Literal["plays", "findings", "not_played"] | None = None
    """Of the play of the first baseline; None: none was played."""
    problem: Text | None = None
    """Why there is no baseline."""
    next: Text
    """The command to type next."""


class DoctorFinding(WireModel):
    """One thing that was looked at."""

    name: Name
    ok: bool
    detail: Text
    fix: Text
    """The command that mends it; may be empty."""
    required: bool
    """Whether Attract does not work without it."""


class DoctorAnswer(WireModel):
    """`attract doctor`: some twenty findings."""

    ok: bool
    """Nothing that is required is missing."""
    findings: list[DoctorFinding]


class ReportAnswer(WireModel):
    """`attract report`."""

    file: Text
    parts: list[Name]
    """Names in the zip."""


class RollbackAnswer(WireModel):
    """`attract rollback`."""

    run_id: Name
    version: Count


class HealthAnswer(WireModel):
    """`attract health`."""

    url: Text
    ok: bool
    problem: Text | None
