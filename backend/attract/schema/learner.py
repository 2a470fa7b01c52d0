"""Messages between the gateway and the learner process: length-prefixed MessagePack over a socket pair."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from attract.schema.base import Count, Name, Text, WireBytes, WireModel
from attract.schema.game import GameDescription
from attract.schema.messages import Version


class Counters(WireModel):
    """Rule T4; saved with every checkpoint, owned by the gateway."""

    collected_steps: Count = 0
    agent_steps: Count = 0
    ticks: Count = 0
    episodes: Count = 0
    global_episode_index: Count = 0
    updates: Count = 0


# --- gateway to learner -----------------------------------------------------------------------------------


class Begin(WireModel):
    """First message: everything the learner needs to build its policy and open the store."""

    type: Literal["begin"] = "begin"
    run_id: Name
    run_dir: Text
    store_path: Text
    description: GameDescription
    settings: dict[str, Any]
    """RunSettings as a mapping."""
    resume: bool = False
    """Resume from the newest valid checkpoint of `run_dir`."""
    initialize_from: Text | None = None
    """Checkpoint folder of another run whose weights and normaliser start this one."""


class Warmup(WireModel):
    """Set the observation statistics from these rows of random play, then publish version 0 (rule P7)."""

    type: Literal["warmup"] = "warmup"
    rows: list[int]
    rows_by_policy: dict[Name, list[int]] = {}
    """As `train` has it."""


class Train(WireModel):
    """One update on these store rows, in the order that rule C8 fixes."""

    type: Literal["train"] = "train"
    batch_id: Count
    rows: list[int]
    verify_rows: list[int]
    """Rows whose log-probabilities and values are recomputed and compared (rule C7)."""
    verify: Literal["sample", "all"]
    """`sample`, for local hosts: only `verify_rows` are recomputed. `all`: every row is, and trained on."""
    counters: Counters
    """Counters after this batch is committed."""
    rows_by_policy: dict[Name, list[int]] = {}
    """With several policies, the rows of each, in the order of `rows`; empty with one."""
    curriculum: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    """The gateway's metrics of the update at its start. The checkpoint keeps it beside what the learner
    reports: a row that was not written in time is written from there."""
    federated_rounds: list[Count] = []
    """Rounds of averaging to do with the other trainers after this update, before it becomes a version."""


class Awaited(WireModel):
    """A full batch waits for the end of this update (schedule `async`): an update that can end early does."""

    type: Literal["awaited"] = "awaited"
    batch_id: Count


class Export(WireModel):
    """Write the model of each policy and policy.json of a version into a folder."""

    type: Literal["export"] = "export"
    out_dir: Text
    policy_version: Version | None = None
    summary: dict[str, Any] = {}


class Shutdown(WireModel):
    """Finish what is being written, then exit 0."""

    type: Literal["shutdown"] = "shutdown"


# --- learner to gateway -----------------------------------------------------------------------------------


class Ready(WireModel):
    """The policies exist. A fresh run waits for `warmup` if `needs_warmup`; else `onnx` is current."""

    type: Literal["ready"] = "ready"
    policy_version: Version
    needs_warmup: bool
    onnx: dict[Name, WireBytes]
    """The model of each policy, by its id."""
    weights_sha256: str
    """Hash of the weights of all policies together."""
    num_parameters: Count
    device: Text
    counters: Counters
    curriculum: dict[str, Any] = {}
    notes: list[Text] = []
    """Notes for the user, such as checkpoints that were skipped because they were damaged."""


class Trained(WireModel):
    """An update is done, the learner free for the next; `published` follows once its version is durable."""

    type: Literal["trained"] = "trained"
    batch_id: Count
    policy_version: Version
    metrics: dict[str, float]
    """As in `published`, but for what is known only then."""
    valid_steps: Count = 0
    rejected: list["RejectedRow"] = []


class Published(WireModel):
    """A version is durable (checkpoint renamed and synced, rule D1) and may be announced."""

    type: Literal["published"] = "published"
    batch_id: Count | None
    """None for version 0."""
    policy_version: Version
    onnx: dict[Name, WireBytes]
    """The model of each policy, by its id."""
    checkpoint: Text
    """Folder relative to the run directory."""
    weights_sha256: str
    metrics: dict[str, float]
    """`train/*` and `time/*` names, plus rollout statistics only the learner knows.

    With several policies, what an update reports of one of them is `train/<what>/<policy id>`.
    """
    valid_steps: Count = 0
    rejected: list["RejectedRow"] = []


class RejectedRow(WireModel):
    """A row left out of the update by rule C7."""

    row: int
    largest_difference: float
    is_blamed: bool = True
    """False: the version that played it is no longer known here; the worker is not at fault."""


class Dropped(WireModel):
    """An update was rolled back (rule P8); the rows are free."""

    type: Literal["dropped"] = "dropped"
    batch_id: Count
    reason: Text
    consecutive: Count


class Exported(WireModel):
    """Files are written, and onnxruntime agrees with torch about them; or, with `error`, nothing was."""

    type: Literal["exported"] = "exported"
    policy_version: Version
    out_dir: Text
    error: Text | None = None


class Stalled(WireModel):
    """A version cannot be made durable: the disk refuses. It is tried again every second; None: it worked."""

    type: Literal["stalled"] = "stalled"
    reason: Text | None


class Noted(WireModel):
    """A note for the user; the gateway does not act on it."""

    type: Literal["noted"] = "noted"
    kind: Name
    text: Text


class Failed(WireModel):
    """The learner has failed."""

    type: Literal["failed"] = "failed"
    text: Text
    stack: Text
    is_final: bool = False
    """Another learner would fail in the same way."""


ToLearner = Annotated[Begin | Warmup | Train | Awaited | Export | Shutdown, Field(discriminator="type")]
FromLearner = Annotated[
    Ready | Trained | Published | Dropped | Exported | Stalled | Noted | Failed,
    Field(discriminator="type"),
]
TO_LEARNER: TypeAdapter[ToLearner] = TypeAdapter(ToLearner)
FROM_LEARNER: TypeAdapter[FromLearner] = TypeAdapter(FromLearner)
