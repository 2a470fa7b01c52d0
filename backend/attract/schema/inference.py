"""Messages between gateway and inference process, over a socket pair; frames lie in shared memory."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from attract.schema.base import Count, Name, Text, WireBytes, WireModel
from attract.schema.game import GameDescription
from attract.schema.messages import Lease, Seed, Version


class Frame(WireModel):
    """A message of the wire: in the ring from `start` on, or (`data`) here, when the ring was full."""

    start: Count = 0
    length: Count = 0
    data: WireBytes | None = None


class BeginInference(WireModel):
    """First message: what is played, and where the rings are."""

    type: Literal["begin_inference"] = "begin_inference"
    run_id: Name
    description: GameDescription
    seed: Seed
    horizon: Annotated[int, Field(ge=1)]
    num_groups: Annotated[int, Field(ge=1, le=64)]
    state_size: Count
    max_columns: Annotated[int, Field(ge=1)]
    """Segments in a block, at most."""
    device: Literal["auto", "cpu", "cuda"]
    num_threads: Annotated[int, Field(ge=0)]
    """0: one."""
    inbound_path: str
    outbound_path: str
    """Rings, as this process sees them."""
    trace_path: str | None = None
    """File for the timeline at the end; None: it is not written."""


class InferPolicy(WireModel):
    """Make a version ready; answered by `policy_inferred`."""

    type: Literal["infer_policy"] = "infer_policy"
    policy_version: Version
    onnx: WireBytes


class ServedLease(WireModel):
    """A lease that is played here for a worker."""

    worker_id: Count
    instance_ids: list[Count]
    lease: Lease


class ServeLeases(WireModel):
    """Leases that were issued at one time: they begin together (rule C8)."""

    type: Literal["serve_leases"] = "serve_leases"
    leases: list[ServedLease]


class CancelLease(WireModel):
    """A lease is over before its time."""

    type: Literal["served_void"] = "served_void"
    lease_id: Count


class WorkerGone(WireModel):
    """A worker's socket is closed."""

    type: Literal["worker_gone"] = "worker_gone"
    worker_id: Count


class Observed(WireModel):
    """A worker's `observe`."""

    type: Literal["observed"] = "observed"
    worker_id: Count
    frame: Frame


class EndInference(WireModel):
    """Write the timeline and end."""

    type: Literal["end_inference"] = "end_inference"


class PolicyInferred(WireModel):
    """A version is ready. One that cannot be made ends the process."""

    type: Literal["policy_inferred"] = "policy_inferred"
    policy_version: Version
    create_ms: float


class ForwardedFrame(WireModel):
    """An `act` for a worker; a `block` or `rollout_close` in its name."""

    type: Literal["said"] = "said"
    worker_id: Count
    to_worker: bool
    """An `act`; else in the worker's name."""
    frame: Frame


class ObserveRefused(WireModel):
    """A worker's observation is invalid: its socket must be closed."""

    type: Literal["observe_refused"] = "observe_refused"
    worker_id: Count
    reason: Text
    fix: Text


class InferenceFailed(WireModel):
    """Last message of a process that failed."""

    type: Literal["inference_failed"] = "inference_failed"
    text: Text
    stack: Text


ToInference = Annotated[
    BeginInference | InferPolicy | ServeLeases | CancelLease | WorkerGone | Observed | EndInference,
    Field(discriminator="type"),
]
FromInference = Annotated[
    PolicyInferred | ForwardedFrame | ObserveRefused | InferenceFailed, Field(discriminator="type")
]

TO_INFERENCE: TypeAdapter[ToInference] = TypeAdapter(ToInference)
FROM_INFERENCE: TypeAdapter[FromInference] = TypeAdapter(FromInference)
