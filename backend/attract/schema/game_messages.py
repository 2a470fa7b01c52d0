"""Messages about a game as such: what it is, how it failed, what a check found, what it wrote."""

from typing import Annotated, Literal

from pydantic import FailFast, Field

from attract.schema.base import Count, FiniteModel, Name, Seed, Text
from attract.schema.game import GameDescription, GameReference
from attract.schema.recorded_episode import EpisodeReplay, RecordedEpisode


class GameDescribed(FiniteModel):
    """Host: the module was loaded in a worker; its description."""

    type: Literal["game_described"] = "game_described"
    run_id: Name
    sha256: str
    description: GameDescription


class MethodSource(FiniteModel):
    """Which method of a game something is about: the server looks for its place in the module."""

    name: Name
    """Class and method, such as `Catch.update`."""
    text: Annotated[str, Field(max_length=4_000)]
    """The beginning of its source as the browser has it; empty where it has none."""
    field: Annotated[str, Field(max_length=120)] = ""
    """The returned field it is about, such as `reward`; empty for the method as a whole."""


class GameFailed(FiniteModel):
    """Host or worker: the game threw, hung, or returned something unusable."""

    type: Literal["game_failed"] = "game_failed"
    run_id: Name
    kind: Literal["load", "throw", "hang", "shape", "nan", "invalid", "crash"]
    name: Text
    """The error's class name."""
    text: Text
    repeated: Count = 0
    """Failures of this kind in a row that ended the worker: this is the last, sent again. 0: a new one."""
    worker_lost: bool = False
    """From a host: the worker failed three times within a minute and is not restarted."""
    stack: Text | None
    """Stack of the game's own exception, source-mapped at the server; None where the game threw nothing."""
    method: MethodSource | None = None
    """The method that failed, where that is known."""
    step_values: Text | None = None
    """Action and observation of the step that failed, in one line."""
    worker_index: int | None = None
    lease_id: Count | None = None
    slot_id: Count | None = None
    instance_id: Count | None = None
    episode: Count | None = None
    tick: Count | None = None
    seed: Seed | None = None
    recorded: RecordedEpisode | None = None
    """The episode that failed, up to its last step; None where it could not be recorded."""


class GameFinding(FiniteModel):
    """One thing that a check found out about a game."""

    id: Name
    """Stable: tools may rely on it. `web/check/src/check-finding.ts` lists them."""
    severity: Literal["error", "warning"]
    text: Text
    fix: Text
    stack: Text | None = None
    """Frames that lead to the place."""
    method: MethodSource | None = None
    recorded: RecordedEpisode | None = None
    """The episode in which the game failed so, if `record` asked for it and all of it was recorded."""


class CheckedPlay(FiniteModel):
    """The random play of a check, in numbers."""

    steps: Count
    episodes: Count
    return_mean: float | None
    """Raw, over finished episodes and their agents; None without an episode."""
    return_std: float | None = None
    """Standard deviation over those episodes, each the mean over its agents; None without one."""
    length_mean: float | None
    returns: Annotated[list[float], Field(max_length=100)] = []
    """Returns of the first episodes, each the mean over its agents."""
    terminated: Count = 0
    """Episodes that the game ended itself."""
    paid_steps: Count = 0
    """Steps with a reward above 0."""
    microseconds_per_tick: float
    create_milliseconds: float


class GameChecked(FiniteModel):
    """Host: a game was checked as `check_game` asked."""

    type: Literal["game_checked"] = "game_checked"
    check_id: Count
    findings: Annotated[list[GameFinding], Field(max_length=200), FailFast()]
    description: GameDescription | None
    """None when it could not be loaded."""
    play: CheckedPlay | None
    """None when a game failed in it."""
    first_episode: RecordedEpisode | None = None
    """The first episode at random, if `record` asked for it; None where the game failed in it."""
    unplayable: bool
    """No game could be loaded, made or played for some hundred steps: training would fail as well."""
    seconds: float


class GameLog(FiniteModel):
    """Worker: a line that the first copy of its game wrote to the console; at most some ten a second."""

    type: Literal["game_log"] = "game_log"
    run_id: Name
    level: Literal["debug", "log", "info", "warn", "error"]
    text: Annotated[str, Field(max_length=2_000)]
    dropped: Count = 0
    """Lines left out since the one before, because there were too many."""


class ParameterDistribution(FiniteModel):
    """Distribution of a game parameter, drawn at each `start()` from stream `parameters`."""

    kind: Literal["constant", "uniform", "normal", "multi_range"] = "constant"
    values: Annotated[list[float], Field(min_length=1, max_length=64)]
    """constant: [value]; uniform: [low, high]; normal: [mean, std, low, high]; multi_range: [low, high]*."""


class CheckGame(FiniteModel):
    """Host: load this game in a worker of its own, check it and answer `game_checked`; no run is needed."""

    type: Literal["check_game"] = "check_game"
    check_id: Count
    game: GameReference
    budget_seconds: Annotated[float, Field(gt=0, le=60)]
    """Roughly how long the check may take."""
    random_episodes: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Only play at random, until so many episodes have ended or the budget is spent."""
    parameters: dict[str, ParameterDistribution] = {}
    """Game parameters of that play, drawn at each start; a missing one has its default."""
    is_fresh: bool = False
    """Whether each episode has a fresh page, as in evaluations, whatever its adapter's `restart` does."""
    record: bool = False
    """Whether the episodes that can be played again come with the answer."""


class ReplayEpisodes(FiniteModel):
    """Host: load this game in a worker of its own, play these episodes again, answer `episodes_replayed`."""

    type: Literal["replay_episodes"] = "replay_episodes"
    replay_id: Count
    game: GameReference
    episodes: Annotated[list[RecordedEpisode], Field(min_length=1, max_length=64)]
    budget_seconds: Annotated[float, Field(gt=0, le=3600)]
    """The host gives up the game after so long."""


class EpisodesReplayed(FiniteModel):
    """Host: the results of a `replay_episodes`."""

    type: Literal["episodes_replayed"] = "episodes_replayed"
    replay_id: Count
    replays: Annotated[list[EpisodeReplay], Field(max_length=64), FailFast()]
    """One per episode, in that order; fewer where the game could not be played on."""
    problem: Text | None = None
    """Why there are fewer."""
