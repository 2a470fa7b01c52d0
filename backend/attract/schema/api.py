"""Messages of the HTTP API; the dashboard's types are generated from the same models."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, computed_field, model_validator

from attract.schema.base import Amount, Count, FiniteModel, Name, Seconds, Text, Tier, WireModel
from attract.schema.game import GameDescription, GameReference
from attract.schema.game_messages import CheckedPlay
from attract.schema.match import LadderRow
from attract.schema.messages import ParameterDistribution
from attract.schema.recorded_episode import RecordedEpisode

PartName = Literal["game", "learner", "disk", "run"]
RunState = Literal["starting", "running", "paused", "evaluating", "finished", "stopped", "failed", "damaged"]
"""`damaged`: saved data of a past run cannot be read; `error` has the reason."""


class GameCard(WireModel):
    """Metadata of a bundled game; its trained policy, and a page game's picture, are next to it."""

    about: Text
    """The aim, in one or two sentences."""
    keys: Text | None = None
    """What a person plays it with."""
    random_return: Amount | None = None
    """Mean of random play in the episodes of an evaluation."""
    trained_return: Amount | None = None
    """Mean of the kept policy in the same episodes; None: no policy is kept."""
    learn_seconds: Seconds | None = None
    """Training time of a policy such as the kept one, on two CPU cores; None: not measured."""


class GameEntry(WireModel):
    """One game that can be trained here: bundled, or a module under the served project directory."""

    name: Name
    """Bundled name or path relative to the project directory."""
    title: Text
    bundled: bool
    error: Text | None = None
    reference: GameReference | None = None
    """The built module, for the preview on the game's card; None when it could not be built."""
    card: GameCard | None = None


class StartRun(WireModel):
    """Body of `POST /api/runs`; `settings` nests like the run settings, unknown keys are refused."""

    game: Name
    settings: dict[str, Any] = {}
    run_id: Name | None = None


class SettingProblem(WireModel):
    """The problem with one setting."""

    setting: Text
    """Its path, as `ppo.learning_rate`; empty where several together cannot work."""
    error: Text


class Problem(WireModel):
    """Body of every 4xx and 5xx answer."""

    error: Text
    fix: Text | None = None
    problems: list[SettingProblem] = []
    """Setting by setting, where settings were refused."""
    suggestion: Text | None = None
    """The search that was probably meant."""


class PresetView(WireModel):
    """A named set of settings that can be chosen."""

    name: Name
    help: Text
    """When to take it."""


class SettingsForm(WireModel):
    """Body of `GET /api/settings`: what can be set of a run."""

    json_schema: dict[str, Any]
    """JSON Schema of the run settings, without references: title, description, default, limits of each."""
    common: list[Text]
    """Paths of the settings that a form shows first."""
    short_flags: dict[Name, Text]
    """By name, the settings of flags that are shorter than their path."""
    presets: list[PresetView]


class SettingsRequest(WireModel):
    """Body of `POST /api/settings`: what would a run of `game` use with these? Nothing is started."""

    game: Name
    settings: dict[str, Any] = {}
    description: GameDescription | None = None
    """The game's description, if the client has loaded the game: several settings depend on it."""


class SettingsView(WireModel):
    """Answer to `POST /api/settings`."""

    own: dict[str, Any]
    """Every setting as a run uses it when nothing is sent: defaults, and the game's own above them."""
    effective: dict[str, Any] | None
    """Every setting with what was sent; None when that cannot work."""
    resolved: dict[str, Any]
    """What a run uses instead of the value in `effective` (else `own`), by path, for example
    {"ppo.gae_lambda": 0.95}: of each setting that is empty (null: nothing), and of each that is overruled."""
    undecided: dict[str, Text]
    """A sentence for each setting whose value is known only once the game is loaded or the run has begun."""
    problems: list[SettingProblem]
    """Why it cannot work."""


class WorkerView(WireModel):
    """One worker as the dashboard shows it."""

    worker_id: Count
    host_id: str
    worker_index: Count
    state: Literal["joining", "waiting", "playing", "left_out", "gone"]
    """`left_out`: it gets no leases for now, because of how it behaved."""
    num_instances: Count
    lease_id: Count | None
    policy_version: Count | None
    steps_per_second: float
    collected_steps: Count
    episodes: Count
    last_seen_seconds: float
    identity: Text = ""
    """Key of its conduct record; used to lift a ban."""
    left_out: Text | None = None
    """Why it gets no leases; None: it is like any other."""
    deflates: bool = False
    """Whether it found that deflating pictures pays on its way here: its newest block came so."""


class HostView(WireModel):
    """One browser page."""

    host_id: str
    tier: Tier
    user_agent: Text
    hidden: bool
    workers: list[WorkerView]
    identity: Text = ""
    """Its owner, as far as the server knows: its token and address."""


class FleetView(WireModel):
    """The fleet now."""

    hosts: list[HostView]
    """Those with workers, and the first 32 of those without."""
    num_hosts: Count = 0
    """All pages that are here, or whose workers left just now."""
    steps_per_second: float
    leases_open: Count
    leases_lapsed: Count
    blocks_refused: Count
    sockets_refused: Count = 0
    """Sockets turned away or closed for what they sent, since the server started."""
    last_left_seconds: float | None = None
    """Since the last worker left or fell silent; None: one is here, or none has ever been."""


class RollBack(WireModel):
    """Body of `POST /api/runs/{id}/rollback`."""

    to_version: Count


class LetIn(WireModel):
    """Body of `POST /api/runs/{run_id}/let-in`: lifts the ban of an identity."""

    identity: Text


class GameReport(WireModel):
    """A readable report of a game that broke, or of what a check of it found (kind `check`)."""

    kind: str
    name: Text
    text: Text
    stack: Text | None
    host_id: str | None = None
    worker_index: int | None = None
    slot_id: int | None = None
    instance_id: int | None = None
    episode: int | None = None
    tick: int | None = None
    seed: str | None = None
    """16 hex digits."""
    step_values: Text | None = None
    """Action and observation of the step that failed, in one line."""
    fix: Text | None = None
    """What to do about it, if known."""
    rollback_to: Count | None = None
    """The newest version before a caught guest's first share (rule C10); None: no version holds any."""
    count: Count = 1
    num_workers: Count = 0
    """Workers that it came from; 0: no worker's."""
    episode_id: str | None = None
    """The episode that failed, which the run keeps; None if it is not kept."""
    severity: Literal["error", "warning"] = "error"
    """`warning`: advice of a check."""
    fault_id: str = ""
    """The same for every report of one fault, and in every session of the run; empty: an older run's."""
    place: Text | None = None
    """The first position in the author's own files, such as `glass.ts:8:51`; None: unknown."""
    repeated: Count = 0
    """Failures in a row that ended a worker: this is the last, sent again and not counted. 0: a new one."""
    worker_lost: bool = False
    """Whether a worker of the admin's own ended by it and is not restarted."""
    run_error: Text | None = None
    """The run's `error` where this fault is its cause."""


class CheckFinding(WireModel):
    """One thing that a check found out about a game, in its author's own places."""

    id: Name
    """Stable: tools may rely on it."""
    severity: Literal["error", "warning"]
    text: Text
    fix: Text
    file: Text | None
    """Source position after the source map; None: unknown."""
    line: Count | None
    column: Count | None
    stack: Text | None
    recorded: RecordedEpisode | None = None
    """The episode in which the game failed so, where episodes were asked for; `attract check --save` does."""


class CheckView(WireModel):
    """Result of `attract check` for a game."""

    game: Name
    findings: list[CheckFinding]
    description: GameDescription | None
    """None when the game could not be loaded."""
    play: CheckedPlay | None
    """The random play; None when a game failed in it."""
    first_episode: RecordedEpisode | None = None
    """The first one at random, where episodes were asked for; None where the game failed in it."""
    unplayable: bool
    """No game could be loaded, made or played for some hundred steps."""
    seconds: float


class LogLine(WireModel):
    """Server-sent event `log`: a line that the first copy of the game wrote to the console of its worker."""

    level: Literal["debug", "log", "info", "warn", "error"]
    text: Text
    dropped: Count = 0
    """Lines left out before this one, because there were too many."""


LogSource = Literal["server", "learner", "game"]
"""`game`: its console, as the first copy of one worker wrote it."""


class LogEntry(WireModel):
    """An entry of a run's log files: a line, with the stack that follows it."""

    source: LogSource
    level: Literal["debug", "info", "warning", "error"]
    time: Text | None
    """UTC, ISO 8601: a label; None: the line has none."""
    text: Text


class LogView(WireModel):
    """Body of `GET /api/runs/{id}/log`."""

    entries: list[LogEntry] = []
    """The end of the run's log files, oldest first; for a viewer only those of the game."""


class Finding(WireModel):
    """Server-sent event `finding`: what keeps a run from learning; in a run's view, what holds now."""

    finding_id: Name
    """Stable, such as `reward-constant`; at most one of each at a time."""
    kind: Literal["learning", "speed"]
    """`speed`: it learns, but more slowly than it could."""
    text: Text
    """One sentence with its number, without a full stop."""
    value: float
    """That number."""
    advice: Text
    """One thing to try."""
    setting: Text | None = None
    """The flag of `attract train` that does it; None where the game has to be changed."""
    first_update: Count
    first_agent_steps: Count
    """When it was first seen; it is reported once it has lasted."""
    withdrawn: bool = False
    """It no longer holds."""


class EvaluationView(WireModel):
    """Result of an evaluation."""

    policy_version: Count
    episodes: Count
    return_mean: float
    return_std: float
    length_mean: float
    deterministic: bool
    confirmed: bool = True
    """Played by hosts of the admin's own; evaluations by strangers reach no goal and mark no best version."""
    agent_return_means: list[float] = []
    """Mean return of each agent, for games of several; `return_mean` is over all of them."""
    returns: list[float] = []
    """Returns of the first 100 episodes, each the mean over its agents."""


class RandomPlay(WireModel):
    """Return of random play of a run's game, measured in a browser of this machine."""

    episodes: Count
    return_mean: float
    """Raw and undiscounted, over episodes and agents."""
    standard_error: float
    """Standard error of that mean."""
    returns: list[float] = []
    """Returns of the first 100 episodes."""
    parameters: dict[str, ParameterDistribution] = {}
    """Game parameters that the run sets, without those of a lesson."""


class LessonView(WireModel):
    """Server-sent event `lesson`: the lesson changed, or, in a run's view, the one that is played."""

    name: Name
    number: Annotated[int, Field(ge=1)]
    """Its place among the lessons, from 1; charted as `curriculum/lesson`."""
    num_lessons: Count
    agent_steps: Count = 0
    global_episode_index: Count = 0
    """The episode after which it changed."""
    reason: Text | None = None
    """Why it changed; None where it did not."""


BeginningStage = Literal["game", "learner", "workers", "warmup", "batch", "update"]
"""`game`: a browser loads it. `learner`: its process starts, or sets the first statistics. `workers`: some
that are expected have not come. `warmup`: random play. `batch`: the first one is played. `update`: the
learner works on it."""


class BeginningView(FiniteModel):
    """Stage of a run before the first update of a session."""

    stage: BeginningStage
    seconds: Seconds
    """Since this stage began."""
    steps: Count = 0
    """Agent steps played so far: of `warmup` and `batch`."""
    total_steps: Count = 0
    """Agent steps that the stage needs; 0: it is not measured by steps."""
    max_seconds: Seconds | None = None
    """Time limit of the stage; None if it has no limit."""
    text: str = ""
    """All of this in words."""


class RunSummary(FiniteModel):
    """One run of `GET /api/runs`, active or past."""

    run_id: Annotated[str, Field(min_length=1, max_length=141)]
    """At most 120 characters; in the trash, followed by the time of removal."""
    game: Name
    title: Text = ""
    """The game's, as `GET /api/games` has it."""
    state: RunState
    created: Text
    """UTC, ISO 8601: a label, nothing is decided by it."""
    seed: Count
    policy_version: Count
    agent_steps: Count
    collected_steps: Count
    updates: Count
    episodes: Count
    elapsed_seconds: float
    steps_per_second: float
    episode_return_mean: float | None
    goal: float | None
    total_steps: Count | None
    error: Text | None = None


class RunView(RunSummary):
    """One run with everything that is known of it."""

    waiting_seconds: float | None = None
    """How long the run has waited without workers; None: it has one, or needs none."""
    beginning: BeginningView | None = None
    """Stage before the first update of this session; None afterwards."""
    newest_model: Count | None = None
    """The newest version whose ONNX models are available; None if there is none."""
    reports: list[GameReport] = []
    findings: list[Finding] = []
    evaluation: EvaluationView | None = None
    goal_reached: bool = False
    """Whether an evaluation has confirmed the goal."""
    is_elsewhere: bool = False
    """Whether another process trains it, which alone can pause and stop it."""
    random_play: RandomPlay | None = None
    """None until it was measured, which takes a browser of this machine."""
    learned: bool | None = None
    """Whether the return is above random play's by three standard errors of the difference; None where that
    is unknown: with fewer than 20 episodes on either side an exact test says yes, or nothing."""
    lesson: LessonView | None = None
    """None without lessons."""
    ladder: list[LadderRow] = []
    """Opponents and the policy itself, the strongest first; empty without any, or before they have played."""
    parameters: dict[str, ParameterDistribution] = {}
    """Current distributions of the game's parameters: the run's, overridden by the lesson's."""
    description: GameDescription | None = None
    game_reference: GameReference | None = None
    settings: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_computed(cls, data: Any) -> Any:
        """A view that was written is read again."""
        if not isinstance(data, dict):
            return data
        given = cast("dict[str, Any]", data)
        return {name: value for name, value in given.items() if name not in cls.model_computed_fields}

    @computed_field
    @property
    def progress_share(self) -> float | None:
        """Progress in [0, 1]: towards a goal, without one by steps; None where that has no scale."""
        if self.goal is not None:
            if self.episode_return_mean is None:
                return 0.0
            if self.goal <= 0:
                return 1.0 if self.episode_return_mean >= self.goal else None
            return min(1.0, max(0.0, self.episode_return_mean / self.goal))
        return min(1.0, self.agent_steps / self.total_steps) if self.total_steps else None

    @computed_field
    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until `total_steps` at the mean speed so far; None where unknown, as in an evaluation."""
        is_unknown = self.agent_steps == 0 or self.elapsed_seconds <= 0 or self.state == "evaluating"
        if not self.total_steps or is_unknown:
            return None
        return max(0.0, (self.total_steps - self.agent_steps) * self.elapsed_seconds / self.agent_steps)


class MetricsRow(FiniteModel):
    """Server-sent event `metrics`: the row of one update."""

    update: Count
    agent_steps: Count
    seconds: float
    values: dict[str, float]


class PolicyView(WireModel):
    """Server-sent event `policy`: a version was announced."""

    policy_version: Count
    agent_steps: Count
    urls: dict[Name, Text]
    """URL of each policy's ONNX model, by policy id; relative to the page's base, immutable."""


class ReadyPart(WireModel):
    """One part of what `GET /readyz` looks at."""

    ready: bool
    problem: Text | None = None
    """The problem, or what it waits for; None: it is ready."""


class ReadyView(WireModel):
    """Body of `GET /readyz`: 200 when everything is ready, else 503."""

    ready: bool
    parts: dict[PartName, ReadyPart]
