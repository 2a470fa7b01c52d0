"""The replay buffer of one policy: steps in the order they came, each observation once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attract.algorithm.returns import scaled_rewards
from attract.errors import ConfigurationError
from attract.experience.batch import Batch
from attract.experience.layout import StoreLayout

_OVERHEAD_BYTES = 4 + 1 + 1 + 8
"""Reward, two flags and the index of the next row, of each row."""

_OBSERVATION = "observation."


Column = tuple[str, tuple[int, ...], NDArray[np.uint32] | None]
"""An array of the buffer: type and shape of a row, and what its whole numbers stay below."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """N drawn steps with the rewards that followed and the observations that targets bootstrap from."""

    start: Tensor
    """[N] int64, row of the step."""
    rewards: Tensor
    """[N] float32, discounted sum of the scaled rewards on the way."""
    discount: Tensor
    """[N] float32, gamma to the number of rewards; 0 where the episode terminated."""
    end: Tensor
    """[N] int64, row of the observation to bootstrap from; any row where `discount` is 0."""

    def columns(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All four, in their order."""
        return self.start, self.rewards, self.discount, self.end


class ReplayBuffer:
    """A ring of rows on the CPU; owned by one policy's algorithm.

    Each segment takes one row for each step and one for the observation after its last step; each truncated
    episode takes one more for its final observation. A row holds its observation as it came, raw, and the
    index of the row that follows it in its slot, so no observation is stored as a next one. Where the next
    segment of a slot comes, its first row follows the last step of the one before.

    Args:
        max_rows: how many rows are kept at most.
        max_bytes: how much memory they take at most.
        section: of the settings that bound it, for messages.
    """

    def __init__(self, max_rows: int, max_bytes: int, section: str) -> None:
        self._section = section
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._capacity = 0
        self.row_bytes = 0
        """Memory of one row; 0 before the first batch."""
        self._observations: dict[str, Tensor] = {}
        self._actions = self._masks = self._reward = torch.empty(0)
        self._terminated = self._leads = torch.empty(0, dtype=torch.bool)
        self._next = torch.empty(0, dtype=torch.int64)
        self._has_masks = False
        self._written = 0
        self._tails: dict[int, tuple[int, int]] = {}
        """By slot: the step that would come next, and the number of the row before it, counted from 0."""
        self._drawable = torch.empty(0, dtype=torch.int64)

    @property
    def num_steps(self) -> int:
        """How many steps can be drawn."""
        return len(self._drawable)

    @property
    def num_bytes(self) -> int:
        """Memory of the rows that are in use."""
        return min(self._written, self._capacity) * self.row_bytes

    def add(self, batch: Batch) -> None:
        """Append a batch's segments, in its order; the oldest rows give way.

        A step leads nowhere, and is not drawn, where it is invalid, where the step after it is, or where a
        game with masks does not say which actions the observation after it allows.

        Args:
            batch: finite where it is valid; on any device.

        Raises: ConfigurationError: the batch alone takes more than `max_rows` or `max_bytes`.
        """
        horizon, num_segments = batch.valid.shape
        finals = batch.finals
        num_finals = 0 if finals is None else len(finals.step)
        count = num_segments * (horizon + 1) + num_finals
        self._allocate(batch, count)
        base, place = self._written, (self._written + torch.arange(count)) % self._capacity
        steps = torch.arange(num_segments).unsqueeze(0) * (horizon + 1) + torch.arange(horizon).unsqueeze(1)
        """[T, S], number of each step's row within this block."""
        after = steps + 1
        valid, terminated = batch.valid.cpu(), batch.terminated.cpu()
        cut = batch.truncated.cpu() & ~terminated
        follows_valid = torch.cat((valid[1:], torch.ones_like(valid[:1])))
        leads = valid & (terminated | (~cut & follows_valid))
        if self._has_masks:
            leads[-1] &= terminated[-1]
        if finals is not None and num_finals:
            step, column = finals.step.cpu(), finals.column.cpu()
            after[step, column] = num_segments * (horizon + 1) + torch.arange(num_finals)
            if not self._has_masks:
                leads[step, column] = valid[step, column]
        for key, array in batch.observation.items():
            rows = (
                torch.cat((array, batch.bootstrap_observation[key].unsqueeze(0)))
                .transpose(0, 1)
                .flatten(0, 1)
            )
            self._observations[key][place[: len(rows)]] = rows.cpu()
            if finals is not None and num_finals:
                self._observations[key][place[len(rows) :]] = finals.observation[key].cpu()
        at = place[steps.flatten()]
        self._leads[place] = False
        self._actions[at] = batch.action.flatten(0, 1).to("cpu", self._actions.dtype)
        self._reward[at] = batch.reward.flatten().cpu()
        self._terminated[at] = terminated.flatten()
        self._leads[at] = leads.flatten()
        self._next[at] = place[after.flatten()]
        if batch.action_mask is not None:
            self._masks[at] = batch.action_mask.flatten(0, 1).to("cpu", torch.bool)
        self._written += count
        over = (terminated | cut)[-1]
        for column, (slot, first) in enumerate(
            zip(batch.slot_id.tolist(), batch.first_step.tolist(), strict=True)
        ):
            start = base + column * (horizon + 1)
            tail = self._tails.pop(slot, None)
            if tail is not None and tail[0] == first and bool(valid[0, column]):
                self._link(tail[1], start)
            if bool(valid[-1, column]) and not bool(over[column]):
                self._tails[slot] = (first + horizon, start + horizon - 1)
        self._drawable = self._leads[: min(self._written, self._capacity)].nonzero().squeeze(1)

    def draw(
        self, count: int, generator: torch.Generator, *, gamma: float, n_steps: int, divisor: float | None
    ) -> Transitions:
        """Steps drawn evenly, with replacement.

        Args:
            count: N.
            generator: of the CPU.
            gamma: discount per step.
            n_steps: rewards summed at most; fewer where an episode ends or a slot's steps do.
            divisor: rewards are divided by it and then clipped (rule P11); None: they stay as they are.

        Raises: RuntimeError: `num_steps` is 0.
        """
        if self.num_steps == 0:
            raise RuntimeError("expected steps to draw from, the replay buffer has none")
        start = self._drawable[torch.randint(self.num_steps, (count,), generator=generator)]
        return self.transitions(start, gamma=gamma, n_steps=n_steps, divisor=divisor)

    def transitions(self, start: Tensor, *, gamma: float, n_steps: int, divisor: float | None) -> Transitions:
        """The same for given rows, each of which can be drawn: [N] int64."""
        rewards, discount = torch.zeros(len(start)), torch.ones(len(start))
        row, goes_on = start.clone(), torch.ones(len(start), dtype=torch.bool)
        for _ in range(n_steps):
            reward = self._reward[row]
            if divisor is not None:
                reward = scaled_rewards(reward, divisor)
            rewards = torch.where(goes_on, rewards + discount * reward, rewards)
            ends = self._terminated[row]
            discount = torch.where(goes_on, torch.where(ends, 0.0, gamma * discount), discount)
            goes_on &= ~ends
            row = torch.where(goes_on, self._next[row], row)
            goes_on &= self._leads[row]
            if not bool(goes_on.any()):
                break
        return Transitions(start, rewards, discount, row)

    def observations(self, rows: Tensor, device: torch.device) -> dict[str, Tensor]:
        """[N, ...] raw observations of rows, [N] int64."""
        return {key: array.index_select(0, rows).to(device) for key, array in self._observations.items()}

    def actions(self, rows: Tensor, device: torch.device) -> Tensor:
        """[N] or [N, components] int64; float32 as they were drawn, where actions are real numbers."""
        kept = self._actions.index_select(0, rows).to(device)
        return kept if kept.is_floating_point() else kept.to(torch.int64)

    def masks(self, rows: Tensor, device: torch.device) -> Tensor | None:
        """[N, choices] bool; None where the game has no masks."""
        return self._masks.index_select(0, rows).to(device) if self._has_masks else None

    def rows(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The rows in use, by name, and the numbers that belong to them. Not copied."""
        count = min(self._written, self._capacity)
        tensors = {name: array[:count] for name, array in self._arrays().items()}
        return tensors, {"written": self._written, "capacity": self._capacity, "row_bytes": self.row_bytes}

    def restore(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        """Take over what `rows` gave; the next segment of each slot does not follow what is there.

        Raises: KeyError, TypeError, ValueError: it is none, or not within the limits of this buffer; nothing
            was taken over.
        """
        row_bytes = sum(tensor.element_size() * math.prod(tensor.shape[1:]) for tensor in tensors.values())
        written = int(document["written"])
        capacity = min(self._max_rows, self._max_bytes // max(1, row_bytes))
        if capacity != document["capacity"]:
            raise ValueError(f"it has room for {document['capacity']:,} rows, and this run for {capacity:,}")
        count = min(written, capacity)
        following, leads = tensors["next"], tensors["leads"]
        if any(len(tensor) != count for tensor in tensors.values()) or written < 0:
            raise ValueError(f"expected {count:,} rows of everything")
        for name, tensor in tensors.items():
            if not bool(torch.isfinite(tensor).reshape(count, -1).all(1)[leads].all()):
                raise ValueError(f"{name} has numbers that are not finite")
        if count and not 0 <= int(following.min()) <= int(following.max()) < count:
            raise ValueError("a row is followed by one that is not there")
        whole = {
            name: _zeros((capacity, *tensor.shape[1:]), tensor.dtype) for name, tensor in tensors.items()
        }
        for name, tensor in tensors.items():
            whole[name][:count] = tensor
        self._actions, self._reward, self._next = whole["action"], whole["reward"], whole["next"]
        self._terminated, self._leads = whole["terminated"], whole["leads"]
        self._observations = {
            name.removeprefix(_OBSERVATION): tensor
            for name, tensor in whole.items()
            if name.startswith(_OBSERVATION)
        }
        self._has_masks = "mask" in whole
        if self._has_masks:
            self._masks = whole["mask"]
        self._written, self._capacity, self.row_bytes = written, capacity, row_bytes
        self._drawable = self._leads[:count].nonzero().squeeze(1)

    def _arrays(self) -> dict[str, Tensor]:
        """All that a row has, by name."""
        found = {f"{_OBSERVATION}{key}": array for key, array in self._observations.items()}
        found |= {"action": self._actions, "reward": self._reward, "next": self._next}
        found |= {"terminated": self._terminated, "leads": self._leads}
        return found | ({"mask": self._masks} if self._has_masks else {})

    def _link(self, number: int, following: int) -> None:
        """Row `following` comes after row `number`, unless that was overwritten."""
        if number < self._written - self._capacity:
            return
        self._next[number % self._capacity] = following % self._capacity
        self._leads[number % self._capacity] = True

    def _allocate(self, batch: Batch, count: int) -> None:
        """Room for rows like the batch's; it takes memory as it is written."""
        if not self._capacity:
            self._has_masks = batch.action_mask is not None
            self.row_bytes = _row_bytes(batch)
            self._capacity = min(self._max_rows, self._max_bytes // self.row_bytes)
        if count > self._capacity:
            mebibytes = -(-count * self.row_bytes // 2**20)
            by_rows = self._max_rows < count
            raise ConfigurationError(
                f"the replay buffer holds {self._capacity:,} rows, and one update brings {count:,}",
                setting=f"{self._section}.{'buffer_size' if by_rows else 'buffer_mebibytes'}",
                fix=f"the smallest that works is {count if by_rows else mebibytes}",
            )
        if self._observations:
            return
        rows = self._capacity
        self._observations = {
            key: _zeros((rows, *array.shape[2:]), array.dtype) for key, array in batch.observation.items()
        }
        kind = torch.float32 if batch.action.is_floating_point() else torch.int32
        self._actions = _zeros((rows, *batch.action.shape[2:]), kind)
        self._reward = _zeros((rows,), torch.float32)
        self._terminated, self._leads = _zeros((rows,), torch.bool), _zeros((rows,), torch.bool)
        self._next = _zeros((rows,), torch.int64)
        if batch.action_mask is not None:
            self._masks = _zeros((rows, batch.action_mask.shape[2]), torch.bool)


def columns_of(layout: StoreLayout) -> dict[str, Column]:
    """The arrays of a buffer of a game's steps, by their names in `ReplayBuffer.rows`."""
    found: dict[str, Column] = {
        f"{_OBSERVATION}{key}": (layout.field(f"obs.{key}").dtype, layout.field(f"obs.{key}").shape, None)
        for key in layout.observation_keys
    }
    action, is_real = layout.field("action"), not layout.action_choices
    kind = "float32" if is_real else "int32"
    found["action"] = (kind, action.shape, None if is_real else layout.action_limits)
    numbers = {"reward": "float32", "next": "int64", "terminated": "bool", "leads": "bool"}
    found |= {name: (dtype, (), None) for name, dtype in numbers.items()}
    mask = {"mask": layout.field("action_mask")} if layout.has_action_mask else {}
    return found | {name: ("bool", field.shape, None) for name, field in mask.items()}


def _row_bytes(batch: Batch) -> int:
    mask = 0 if batch.action_mask is None else batch.action_mask.shape[2]
    return _OVERHEAD_BYTES + 4 * batch.action[0, 0].numel() + mask + _observation_bytes(batch.observation)


def _observation_bytes(observation: Mapping[str, Tensor]) -> int:
    return sum(array[0, 0].numel() * array.element_size() for array in observation.values())


def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Zeros whose memory the system gives as it is written to, which torch's own are not."""
    like: NDArray[np.generic] = torch.empty(0, dtype=dtype).numpy()
    return torch.from_numpy(np.zeros(shape, like.dtype))  # pyright: ignore[reportUnknownMemberType]
