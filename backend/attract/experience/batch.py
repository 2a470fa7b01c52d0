"""A batch: the segments of one update as torch tensors, in the order the collection core fixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attract.experience.store import SegmentStore


@dataclass(frozen=True)
class Batch:
    """T steps of S segments, time-major, on one device; owned by the learner, a copy of the store's rows."""

    observation: Mapping[str, Tensor]
    """[T, S, ...] float32 or uint8 each, raw: not normalised."""
    action: Tensor
    """[T, S] int64, or [T, S, components] int64 or float32."""
    log_prob: Tensor
    """[T, S] float32, under the version that acted."""
    value: Tensor
    reward: Tensor
    """[T, S] float32, raw."""
    final_value: Tensor
    """[T, S] float32, V(final observation) where truncated, else 0."""
    terminated: Tensor
    truncated: Tensor
    valid: Tensor
    """[T, S] bool."""
    executed_ticks: Tensor
    """[T, S] int32."""
    action_mask: Tensor | None
    """[T, S, n] bool, or None where every action is always allowed."""
    recurrent_state: Mapping[str, Tensor]
    """[S, ...] float32 each, at the segment's first step (rule S3); empty for feed-forward policies."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    bootstrap_observation: Mapping[str, Tensor]
    """[S, ...] each, the observation after the last step (rule E8)."""
    final_step: Tensor
    final_column: Tensor
    """[n] int64: step and segment (column of this batch) of each truncated step with a final observation."""
    final_observation: Mapping[str, Tensor]
    """[n, ...] each (rule E8)."""
    slot_id: Tensor
    first_step: Tensor
    policy_version: Tensor
    worker_id: Tensor
    """[S] int64."""
    rows: tuple[int, ...]
    """[S] row of the store each segment came from."""

    @property
    def num_steps(self) -> int:
        """T."""
        return self.valid.shape[0]

    @property
    def num_segments(self) -> int:
        """S."""
        return self.valid.shape[1]


def upload(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on `device`; neither waits for the copy, as one from pageable memory would."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def _taken(array: NDArray[Any], index: NDArray[np.int64], axis: int, device: torch.device) -> Tensor:
    """`np.take` onto `device`; for a GPU into pinned memory at once, so that there is one copy on the CPU."""
    if device.type != "cuda":
        return torch.from_numpy(np.take(array, index, axis=axis))  # pyright: ignore[reportUnknownMemberType]
    return taken_into(array, index, axis, pinned=True).to(device, non_blocking=True)


def taken_into(array: NDArray[Any], index: NDArray[np.int64], axis: int, *, pinned: bool) -> Tensor:
    """`np.take` into a tensor of the CPU, pinned where that is wanted.

    Args:
        index: within the axis; not checked.
    """
    shape = (*array.shape[:axis], len(index), *array.shape[axis + 1 :])
    like = torch.from_numpy(np.empty(0, array.dtype))  # pyright: ignore[reportUnknownMemberType]
    staging = torch.empty(shape, dtype=like.dtype, pin_memory=pinned)
    # Any mode but `raise` writes straight into what it is given.
    np.take(array, index, axis=axis, out=staging.numpy(), mode="clip")
    return staging


def load_batch(store: SegmentStore, rows: Sequence[int], device: torch.device | str = "cpu") -> Batch:
    """Copy `rows` out of the store, in that order.

    Args:
        store: open in this process.
        rows: [S] row numbers, all different.
        device: where the tensors go.

    Returns: a Batch with S = len(rows); independent of the store from then on.
    Raises: ValueError: for no rows, or a row outside the store.
    """
    index = np.asarray(rows, dtype=np.int64)
    capacity = store.layout.capacity
    if index.size == 0 or index.min() < 0 or index.max() >= capacity:
        raise ValueError(f"expected rows within [0, {capacity}), got {list(rows)[:8]!r}")
    keys = store.layout.observation_keys

    target = torch.device(device)

    def put(array: NDArray[Any]) -> Tensor:
        return upload(torch.from_numpy(array), target)  # pyright: ignore[reportUnknownMemberType]

    def steps(name: str) -> Tensor:
        return _taken(store[name], index, 1, target)

    def per_row(name: str) -> Tensor:
        return _taken(store[name], index, 0, target)

    action = steps("action")
    counts = np.take(store["final_count"], index)
    place, column = np.nonzero(np.arange(counts.max())[:, None] < counts)
    final_step = store["final_step"][place, index[column]].astype(np.int64)
    final_value = np.zeros((store.layout.horizon, len(index)), np.float32)
    final_value[final_step, column] = store["final_value"][place, index[column]]
    return Batch(
        observation={key: steps(f"obs.{key}") for key in keys},
        action=action if action.dtype.is_floating_point else action.long(),
        log_prob=steps("log_prob"),
        value=steps("value"),
        reward=steps("reward"),
        final_value=put(final_value),
        terminated=steps("terminated"),
        truncated=steps("truncated"),
        valid=steps("valid"),
        executed_ticks=put(np.take(store["executed_ticks"], index, axis=1).astype(np.int32)),
        action_mask=steps("action_mask") if store.layout.has_action_mask else None,
        recurrent_state={key: per_row(f"recurrent_state.{key}") for key in store.layout.recurrent_keys},
        bootstrap_value=per_row("bootstrap_value"),
        bootstrap_observation={key: per_row(f"bootstrap_obs.{key}") for key in keys},
        final_step=put(final_step),
        final_column=put(column.astype(np.int64)),
        final_observation={key: put(store[f"final_obs.{key}"][place, index[column]]) for key in keys},
        slot_id=per_row("slot_id"),
        first_step=per_row("first_step"),
        policy_version=per_row("policy_version"),
        worker_id=per_row("worker_id"),
        rows=tuple(int(row) for row in index),
    )
