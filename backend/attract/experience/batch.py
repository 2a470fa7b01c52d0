"""A batch: the segments of one update as torch tensors, in the order the collection core fixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attract.experience.layout import RECURRENT_STATE
from attract.experience.store import SegmentStore
from attract.schema.step_numbers import STEP_NUMBERS

UNREAD: Final = frozenset({"executed_ticks"})
"""Numbers of a step that learning has no use for."""
_PER_SEGMENT: Final = frozenset(
    {
        "bootstrap_value",
        "slot_id",
        "first_step",
        "policy_version",
        "worker_id",
        "recurrent_state",
        "bootstrap_observation",
        "policy_lag",
    }
)
"""Fields of a batch with one entry for each segment; all other tensors have one for each step."""


@dataclass(frozen=True, slots=True)
class Finals:
    """The last observations of truncated episodes, n of them (rule E8)."""

    step: Tensor
    column: Tensor
    """[n] int64, where in the batch."""
    observation: Mapping[str, Tensor]
    """[n, ...] each, raw."""


@dataclass(frozen=True, slots=True)
class Batch:
    """T steps of S segments, time-major, on one device; never written to, a copy of the store's rows.

    Rows (columns here) are ordered by slot and first step, never by arrival (rule C8). The numbers of a step
    have the names of `schema.step_numbers.STEP_NUMBERS`.
    """

    observation: Mapping[str, Tensor]
    """[T, S, ...] float32 or uint8 each, raw: not normalised; before each step."""
    action: Tensor
    """[T, S] int64, or [T, S, components] int64 or float32."""
    log_prob: Tensor
    """[T, S] float32, under the behaviour policy."""
    value: Tensor
    """[T, S] float32, V(observation) under the behaviour policy."""
    reward: Tensor
    """[T, S] float32; raw, or scaled (rule P11)."""
    final_value: Tensor
    """[T, S] float32, V(final observation) where truncated, else 0."""
    terminated: Tensor
    truncated: Tensor
    valid: Tensor
    """[T, S] bool; rules E1, S5."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    slot_id: Tensor
    first_step: Tensor
    """[S] int64, the slot's own step counter."""
    policy_version: Tensor
    worker_id: Tensor
    """[S] int64."""
    action_mask: Tensor | None = None
    """[T, S, choices] bool, or None where every action is always allowed."""
    recurrent_state: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """[S, ...] float32 each, at the segment's first step (rule S3); empty for feed-forward policies."""
    bootstrap_observation: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """[S, ...] each, after the last step; needed to recompute values (rule E8)."""
    finals: Finals | None = None
    """Needed to recompute values where an episode was truncated."""
    rows: tuple[int, ...] = ()
    """[S] row of the store each segment came from; empty when it came from none."""
    policy_lag: Tensor | None = None
    """[S] integer, the learner's version less the one that acted; None: no lag."""
    reward_bonus: Tensor | None = None
    """[T, S] float32, a wrapper's intrinsic rewards, on top of the scaled rewards; None without a wrapper."""
    advantage_bonus: Tensor | None = None
    """[T, S] float32, a wrapper's advantages, added to those of the algorithm; None without a wrapper."""

    @property
    def num_steps(self) -> int:
        """T."""
        return self.valid.shape[0]

    @property
    def num_segments(self) -> int:
        """S."""
        return self.valid.shape[1]

    @property
    def state(self) -> Tensor | None:
        """[S, state_size] float32, the packed recurrent state; None: the policy is feed-forward."""
        return self.recurrent_state.get(RECURRENT_STATE)

    @property
    def reset_after(self) -> Tensor:
        """[T, S] bool: after which steps a recurrent state is zeroed (rules S4, E9)."""
        return self.terminated | self.truncated | ~self.valid

    @property
    def has_lag(self) -> bool:
        """Whether any segment was played by an earlier version than the learner's."""
        return self.policy_lag is not None and bool((self.policy_lag > 0).any())

    def at_version(self, policy_version: int) -> Self:
        """The same for a learner of that version, from which segments may lag."""
        return replace(self, policy_lag=policy_version - self.policy_version)

    def keep_segments(self, chosen: Tensor) -> Self:
        """Only the segments where `chosen` ([S] bool) holds, in the same order."""

        def kept(value: Any, is_per_segment: bool) -> Any:
            if value is None:
                return None
            if isinstance(value, Mapping):
                tensors = cast(Mapping[str, Tensor], value)
                return {key: kept(tensor, is_per_segment) for key, tensor in tensors.items()}
            return value[chosen] if is_per_segment else value[:, chosen]

        changes = {
            attribute.name: kept(getattr(self, attribute.name), attribute.name in _PER_SEGMENT)
            for attribute in fields(self)
            if attribute.name not in ("finals", "rows")
        }
        rows = (
            tuple(self.rows[column] for column in chosen.nonzero().squeeze(1).tolist()) if self.rows else ()
        )
        return replace(self, **changes, rows=rows, finals=self._finals_of(chosen))

    def _finals_of(self, chosen: Tensor) -> Finals | None:
        finals = self.finals
        if finals is None:
            return None
        mine, columns = chosen[finals.column], torch.cumsum(chosen, 0) - 1
        observation = {key: tensor[mine] for key, tensor in finals.observation.items()}
        return Finals(finals.step[mine], columns[finals.column[mine]], observation)


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
    numbers = {name: steps(name) for name in STEP_NUMBERS if name not in UNREAD}
    counts = np.take(store["final_count"], index)
    place, column = np.nonzero(np.arange(counts.max())[:, None] < counts)
    final_step = store["final_step"][place, index[column]].astype(np.int64)
    final_value = np.zeros((store.layout.horizon, len(index)), np.float32)
    final_value[final_step, column] = store["final_value"][place, index[column]]
    return Batch(
        observation={key: steps(f"obs.{key}") for key in keys},
        action=action if action.dtype.is_floating_point else action.long(),
        **numbers,
        final_value=put(final_value),
        action_mask=steps("action_mask") if store.layout.has_action_mask else None,
        recurrent_state={key: per_row(f"recurrent_state.{key}") for key in store.layout.recurrent_keys},
        bootstrap_value=per_row("bootstrap_value"),
        bootstrap_observation={key: per_row(f"bootstrap_obs.{key}") for key in keys},
        finals=Finals(
            step=put(final_step),
            column=put(column.astype(np.int64)),
            observation={key: put(store[f"final_obs.{key}"][place, index[column]]) for key in keys},
        ),
        slot_id=per_row("slot_id"),
        first_step=per_row("first_step"),
        policy_version=per_row("policy_version"),
        worker_id=per_row("worker_id"),
        rows=tuple(int(row) for row in index),
    )


def start_states(batch: Batch, state_size: int, *, from_zero: bool) -> Tensor:
    """State each segment is trained from: the stored one, or zeros (rule S3).

    Returns: [S, state_size] float32; state_size 0 for a feed-forward policy.
    Raises: ValueError: when stored states are wanted and the batch has none, or others.
    """
    num_segments = batch.valid.shape[1]
    if from_zero or state_size == 0:
        return torch.zeros((num_segments, state_size), device=batch.valid.device)
    state = batch.state
    if state is None or state.shape != (num_segments, state_size):
        found = None if state is None else tuple(state.shape)
        raise ValueError(f"expected states of shape ({num_segments}, {state_size}), got {found}")
    return state


def finite_where_invalid(observations: Mapping[str, Tensor], valid: Tensor) -> Mapping[str, Tensor]:
    """Observations with zeros at invalid steps, so that what they hold reaches no gradient (rule S5).

    Args:
        observations: [T, S, ...] each.
        valid: [T, S] bool.
    """
    if bool(valid.all()):
        return observations
    return {
        key: array.masked_fill(~valid.view(*valid.shape, *(1,) * (array.dim() - 2)), 0)
        for key, array in observations.items()
    }
