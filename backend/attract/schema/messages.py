"""Every message on a websocket, by direction; `PROTOCOL.md` has when each is sent."""

from typing import Annotated, Literal

from pydantic import FailFast, Field, TypeAdapter

from attract.schema.base import (
    MAX_AGENTS,
    Amount,
    Count,
    FiniteModel,
    Name,
    Seconds,
    Seed,
    Text,
    Tier,
    UncheckedCount,
    WireBytes,
)
from attract.schema.game import GameDescription, GameReference
from attract.schema.game_messages import (
    CheckGame,
    EpisodesReplayed,
    GameChecked,
    GameDescribed,
    GameFailed,
    GameLog,
    ParameterDistribution,
    ReplayEpisodes,
)
from attract.schema.outside import Answer, Ask
from attract.schema.playtest import GamePlaytested, PlaytestGame
from attract.schema.recorded_episode import RecordedEpisode
from attract.schema.step_numbers import DecidedNumbers, OutcomeNumbers, PackedPictures, Tensor

Purpose = Literal["train", "evaluate", "warmup", "replay"]
EndReason = Literal["terminated", "time_limit", "game_truncated", "cut"]
RefusalCode = Literal[
    "protocol_version",
    "build",
    "token",
    "role",
    "run",
    "duplicate",
    "full",
    "malformed",
    "too_large",
    "timeout",
    "stopped",
    "internal",
]
Version = Annotated[int, Field(ge=0, le=2**31 - 1)]


# --- from the browser -------------------------------------------------------------------------------------


class Device(FiniteModel):
    """Description of a host by itself; shown, never trusted."""

    user_agent: Text = ""
    hardware_concurrency: Annotated[int, Field(ge=0, le=4096)] = 0


class Hello(FiniteModel):
    """First message on every socket, within 3 s."""

    type: Literal["hello"] = "hello"
    protocol_version: int
    build: Name
    role: Literal["host", "worker"]
    token: Annotated[str, Field(max_length=200)] | None = None
    host_id: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    worker_index: Annotated[int, Field(ge=0, le=1023)] | None = None
    """Workers only: position in the host, 0-based."""
    worker_key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    """Workers only: secret of one worker's life; on a new socket it proves the same worker with its games."""
    max_workers: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Hosts only: how many workers it is willing to run."""
    run_id: Name | None = None
    """Workers only: the run of the assignment it was created for."""
    device: Device = Device()


class HostStatus(FiniteModel):
    """Host: a worker was created or ended; the count now running."""

    type: Literal["host_status"] = "host_status"
    run_id: Name | None
    num_workers: Annotated[int, Field(ge=0, le=1024)]
    hidden: bool = False


class PolicyAck(FiniteModel):
    """Worker: the session of this version exists and has run once. A worker that cannot make it ends."""

    type: Literal["policy_ack"] = "policy_ack"
    run_id: Name
    policy_id: Name
    policy_version: Version
    create_ms: Annotated[float, Field(ge=0, le=1e12)]


class Progress(FiniteModel):
    """Worker: alive and playing; at least every 5 s while it holds a lease, which it does not renew (C3)."""

    type: Literal["progress"] = "progress"
    run_id: Name
    lease_id: Count
    steps: Count
    """Steps per slot played under this lease so far (evaluation: steps that its games took, side by side)."""


class EpisodeResult(FiniteModel):
    """One finished (or cut) episode of one instance."""

    instance_id: Count
    episode: Count
    """Episode number of this instance, 0-based: with the run seed it names the random stream."""
    step: Count
    """Step in the segment (train) at which it ended; 0 for evaluation."""
    returns: Annotated[list[Amount], Field(min_length=1, max_length=MAX_AGENTS)]
    """Raw undiscounted return per agent."""
    length_steps: Count
    length_ticks: Count
    end_reason: EndReason
    metrics: dict[str, Amount] = {}
    reward_terms: dict[str, Amount] = {}
    lesson_id: Annotated[str, Field(max_length=64)] | None = None
    """Lesson of the lease under which it was started (rule C6); None without lessons."""


class EpisodeColumns(FiniteModel):
    """The episodes of a block that ended or were cut, [n]: all of `EpisodeResult`, field by field."""

    instance_id: Annotated[list[UncheckedCount], FailFast()] = []
    episode: Annotated[list[UncheckedCount], FailFast()] = []
    step: Annotated[list[UncheckedCount], FailFast()] = []
    """Step in the segment at which it ended."""
    returns: Annotated[list[float], FailFast()] = []
    """[n x agents], those of an episode side by side."""
    length_steps: Annotated[list[UncheckedCount], FailFast()] = []
    length_ticks: Annotated[list[UncheckedCount], FailFast()] = []
    end_reason: Annotated[list[EndReason], FailFast()] = []
    metrics: dict[str, Annotated[list[float | None], FailFast()]] = {}
    """[n] by name; None where the game did not report it."""
    reward_terms: dict[str, Annotated[list[float | None], FailFast()]] = {}
    lesson_id: Annotated[list[Annotated[str, Field(max_length=64)] | None], FailFast()] = []
    """Empty where no episode has one."""


class FinalObservations(FiniteModel):
    """Sparse: the observation before the reset, for each truncated step of a block (rules E2, E8)."""

    step: Tensor
    """[n] int32, step in the segment."""
    column: Tensor
    """[n] int32, column in the block."""
    observation: dict[str, Tensor]
    """[n, ...] each."""
    value: Tensor
    """[n] float32, V(final observation) under the acting version."""
    recurrent_state: dict[str, Tensor] = {}


class Block(DecidedNumbers, OutcomeNumbers):
    """k slots' segments of one segment index of one lease; tensors are [horizon, k, ...]."""

    type: Literal["block"] = "block"
    run_id: Name
    lease_id: Count
    segment_index: Count
    block_index: Count
    """0-based within the lease, in the order sent."""
    policy_id: Name = "main"
    policy_version: Version
    slot_id: Tensor
    """[k] int32."""
    first_step: Tensor
    """[k] int32, the slot's own step counter at the segment's first step."""
    observation: dict[str, Tensor]
    """Keys sorted; a plain box is `obs`."""
    packed: dict[str, PackedPictures] = {}
    """By key, what was done to the observations of that key, here, at the end and before resets."""
    action: Tensor
    """[horizon, k] int32, or [horizon, k, components] int32 / float32."""
    action_mask: Tensor | None = None
    recurrent_state: dict[str, Tensor] = {}
    """[k, ...] at the segment's first step."""
    bootstrap_observation: dict[str, Tensor]
    """[k, ...], the observation after the last step (after a reset: the new episode's)."""
    bootstrap_value: Tensor
    """[k] float32, rule E4."""
    final_observations: FinalObservations | None = None
    episodes: EpisodeColumns = EpisodeColumns()


class RolloutClose(FiniteModel):
    """Worker: every block of the lease has been sent."""

    type: Literal["rollout_close"] = "rollout_close"
    run_id: Name
    lease_id: Count
    num_blocks: Count
    slot_id: Tensor
    """[slots] int32."""
    bootstrap_value: Tensor
    """[slots] float32, rule E4: the `lastValue` of each slot."""
    play_seconds: Seconds
    inference_seconds: Seconds
    game_seconds: Seconds
    wait_seconds: Seconds
    """Time between the end of the lease before and the start of this one."""


class StepOutcome(OutcomeNumbers):
    """Outcomes of the last action for the slots of a group (rule I1); k slots, agents inside instances.

    The numbers of a step are [k].
    """

    final_column: Tensor | None = None
    """[n] int32: columns whose step was truncated (rule E2); None: there are none."""
    final_observation: dict[str, Tensor] = {}
    """[n, ...] each: the observations before the reset, in that order."""
    episodes: Annotated[list[EpisodeResult], FailFast()] = []
    """Episodes that ended in this step; their `step` is 0 here."""
    step_seconds: Seconds
    """Time that the games took."""


class Observe(FiniteModel):
    """Worker under central inference: what the slots of one group see now, and how they came there (I1)."""

    type: Literal["observe"] = "observe"
    run_id: Name
    lease_id: Count
    group: Annotated[int, Field(ge=0, le=63)]
    step: Count
    """Steps that each slot of the group has taken in all."""
    observation: dict[str, Tensor]
    """[k, ...] each, after the step and, where an episode ended, after the reset (rule E3)."""
    action_mask: Tensor | None = None
    """[k, n] uint8, for the next action."""
    active: Tensor
    """[k] uint8: whether the slot takes part in the next step (rule E9)."""
    episode: Tensor
    """[instances] int32."""
    episode_step: Tensor
    """[instances] int32: steps taken in that episode; with `episode` it names the next draw (rule C5)."""
    outcome: StepOutcome | None = None
    """None: only a look, nothing was stepped; not counted."""


class EvaluationResult(FiniteModel):
    """Worker: an `evaluate` lease is done; one result per episode asked for, in that order."""

    type: Literal["evaluation_result"] = "evaluation_result"
    run_id: Name
    lease_id: Count
    policy_version: Version
    episodes: Annotated[list[EpisodeResult], FailFast()]
    play_seconds: Seconds


class EpisodeRecorded(FiniteModel):
    """Worker: an episode of a lease whose `record` asks for it."""

    type: Literal["episode_recorded"] = "episode_recorded"
    run_id: Name
    lease_id: Count
    episode: RecordedEpisode


class Goodbye(FiniteModel):
    """The page is going away on purpose: leases lapse at once."""

    type: Literal["goodbye"] = "goodbye"


# --- from the server --------------------------------------------------------------------------------------


class Refused(FiniteModel):
    """Last message before the server closes: the reason and the fix."""

    type: Literal["refused"] = "refused"
    code: RefusalCode
    reason: Text
    fix: Text
    close_code: Annotated[int, Field(ge=1000, le=4999)]


class WelcomeHost(FiniteModel):
    """The host is known; its tier decides what it may do."""

    type: Literal["welcome_host"] = "welcome_host"
    host_id: str
    tier: Tier


class Assignment(FiniteModel):
    """Host: run (or keep running) this many workers of this run's game; `run_id` None means none."""

    type: Literal["assignment"] = "assignment"
    run_id: Name | None
    game: GameReference | None
    num_workers: Annotated[int, Field(ge=0, le=1024)]
    describe: bool = False
    """Load the game once and answer `game_described` before starting workers."""
    silence_seconds: float = 5.0
    """End a worker that holds a lease and has been silent for this long."""


class WelcomeWorker(FiniteModel):
    """The worker is admitted to the run."""

    type: Literal["welcome_worker"] = "welcome_worker"
    run_id: Name
    worker_id: Count
    game: GameReference
    description: GameDescription
    instance_ids: Annotated[list[Count], Field(min_length=1, max_length=8192)]
    seed: Seed
    """The run seed, key of the `game`, `parameters` and `action` streams of training."""
    horizon: Annotated[int, Field(ge=1, le=65_536)]
    max_frame_bytes: Annotated[int, Field(ge=1024)]
    progress_seconds: float = 2.0
    state_size: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Numbers of a slot's packed recurrent state, the same for every policy of the run; 0: feed-forward."""


class Seat(FiniteModel):
    """The controller of one agent of the game."""

    policy_id: Name = "main"
    policy_version: Version = 0
    script: Literal["random", "outside"] | None = None
    """A controller instead of the policy: `random` draws uniformly from stream `action`; `outside` asks the
    program that `policy_id` names (message `ask`)."""
    deterministic: bool = False
    learns: bool = True


class EpisodeOrder(FiniteModel):
    """One evaluation episode: its own random streams, fresh instance."""

    index: Count
    """Stands in for the instance (and slot) in the streams of the lease's seed, episode 0."""


class EpisodeTerms(FiniteModel):
    """Terms of an episode: the lesson and the distributions of its lease (rule C6)."""

    lesson_id: Annotated[str, Field(max_length=64)] | None = None
    parameters: dict[str, ParameterDistribution] = {}


class ReplayOrder(FiniteModel):
    """One segment of one instance that another worker claims to have played: replay it (rule C10)."""

    instance_id: Count
    episode: Count
    """The episode that begins before the first of the actions (rule C5)."""
    first_step: Count
    """The slots' own step counter at the segment's first step."""
    num_before: Count
    """Actions that come before the segment: those of its episode since that began."""
    action: Tensor
    """[num_before + horizon, agents], or with components as in a block: what every agent did."""
    begun: EpisodeTerms = EpisodeTerms()
    """Terms of the first episode that begins."""
    terms: EpisodeTerms = EpisodeTerms()
    """Terms of the later episodes."""


Recording = Literal["none", "extremes", "all"]
"""`extremes`: the best, the worst and the median episode of those that end under the lease."""


class Lease(FiniteModel):
    """The order for one rollout; single use (rules C1, C3)."""

    type: Literal["lease"] = "lease"
    run_id: Name
    lease_id: Count
    purpose: Purpose
    seats: Annotated[list[Seat], Field(min_length=1, max_length=MAX_AGENTS)]
    """One per agent of the game; in `train` also for several games in turn: slot s of the worker, counted
    from its first, has the seat s modulo their number."""
    game_sha256: str
    seed: Seed
    """`train` and `record`: the run seed. `evaluate`: the evaluation's."""
    num_segments: Annotated[int, Field(ge=0, le=65_536)]
    """Segments per slot; the lease is `num_segments * horizon` steps of each slot. 0 for `evaluate`."""
    episodes: list[EpisodeOrder] = []
    """`evaluate` only."""
    max_episode_steps: Annotated[int, Field(ge=1)] | None = None
    """`evaluate` only: stop an episode that does not end."""
    desync_steps: Count = 0
    """Rule E7; 0 is off. Counts only in an instance's first episode."""
    parameters: dict[str, ParameterDistribution] = {}
    lesson_id: str | None = None
    group_sizes: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=64)] = []
    """`train` under central inference: instances of each group, in the order of the seat; the worker steps
    them on `act` messages (rule I2). Empty: the worker runs the policy itself."""
    tells_terminal: bool = False
    """With `group_sizes`: outcomes have the final observations of terminated slots too, not only of truncated
    ones (rule E2). Training does not use them, but environments of other libraries return them."""
    record: Recording = "none"
    """`train` and `evaluate`: which of its episodes are sent as `episode_recorded`."""
    replays: Annotated[list[ReplayOrder], Field(max_length=64)] = []
    """`replay` only: answered by blocks whose `segment_index` is the place in this list (rule C10)."""


class Act(FiniteModel):
    """Central inference: step one group of a lease's games once, or only send observations (rules I1, I2)."""

    type: Literal["act"] = "act"
    run_id: Name
    lease_id: Count
    group: Annotated[int, Field(ge=0, le=63)]
    action: Tensor | None
    """[k] int32, or [k, components] int32 / float32 as in a block; None: answer with what is seen now."""


class Policy(FiniteModel):
    """A version of a policy: the ONNX model with its weights and normalisation; or a script that plays."""

    type: Literal["policy"] = "policy"
    run_id: Name
    policy_id: Name = "main"
    policy_version: Version
    onnx: WireBytes
    """Empty with a script."""
    script: Annotated[str, Field(max_length=2_000_000)] = ""
    """Code of a module with `act(observation, mask, random)`, whose id is `script:` and the file."""


class PlayAgain(FiniteModel):
    """Host: load this game in a worker of its own, do this `replay` lease there, answer `played_again`."""

    type: Literal["play_again"] = "play_again"
    replay_id: Count
    game: GameReference
    seat: WelcomeWorker
    lease: Lease
    budget_seconds: Annotated[float, Field(gt=0, le=3600)]
    """The host gives up the game after so long."""


class PlayedAgain(FiniteModel):
    """Host: what came of a `play_again`."""

    type: Literal["played_again"] = "played_again"
    replay_id: Count
    blocks: Annotated[list[WireBytes], Field(max_length=64), FailFast()]
    """Each a `block` as a worker sends it; none of a game that fails as soon as it begins."""
    problem: Text | None = None
    """Why there are none."""


class BlockAck(FiniteModel):
    """A block was handled: committed, or dropped for a reason (rule C1)."""

    type: Literal["block_ack"] = "block_ack"
    run_id: Name
    lease_id: Count
    block_index: Count
    accepted: bool
    reason: Text | None = None


class LeaseVoid(FiniteModel):
    """Drop what is left of this lease: it lapsed, or is no longer wanted."""

    type: Literal["lease_void"] = "lease_void"
    run_id: Name
    lease_id: Count
    reason: Text


class RunEnded(FiniteModel):
    """The run is over: workers end, the host waits for the next assignment."""

    type: Literal["run_ended"] = "run_ended"
    run_id: Name
    reason: Text


_Checked = GameChecked | EpisodesReplayed | PlayedAgain | GamePlaytested
_FromHost = Hello | GameDescribed | GameFailed | _Checked | HostStatus | Ask | Goodbye
_FromWorker = (
    Hello
    | GameFailed
    | GameLog
    | PolicyAck
    | Progress
    | Block
    | RolloutClose
    | EvaluationResult
    | EpisodeRecorded
    | Observe
    | Ask
    | Goodbye
)
_Ordered = CheckGame | ReplayEpisodes | PlayAgain | PlaytestGame
_ToHost = Refused | WelcomeHost | Assignment | _Ordered | Answer | RunEnded
_ToWorker = Refused | WelcomeWorker | Lease | Act | Answer | Policy | BlockAck | LeaseVoid | RunEnded
FromHost = Annotated[_FromHost, Field(discriminator="type")]
FromWorker = Annotated[_FromWorker, Field(discriminator="type")]
ToHost = Annotated[_ToHost, Field(discriminator="type")]
ToWorker = Annotated[_ToWorker, Field(discriminator="type")]
FromBrowser = Annotated[_FromHost | _FromWorker, Field(discriminator="type")]
ToBrowser = Annotated[_ToHost | _ToWorker, Field(discriminator="type")]

FROM_BROWSER: TypeAdapter[FromBrowser] = TypeAdapter(FromBrowser)
TO_BROWSER: TypeAdapter[ToBrowser] = TypeAdapter(ToBrowser)
