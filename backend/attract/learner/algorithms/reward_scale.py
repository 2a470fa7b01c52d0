"""The divisor of a policy's rewards: the size of its discounted returns so far (rule P11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.algorithm.returns import past_returns, reward_divisor, scaled_rewards
from attract.algorithm.streams import chain_segments
from attract.experience.batch import Batch

RETURNS = "return_statistics"
"""Name of the moments of discounted returns among those of an algorithm."""
MAX_SLOTS = 65_536
"""Slots whose return is remembered from batch to batch; the least recently seen ones are forgotten."""


@dataclass(frozen=True, slots=True)
class SeenReturns:
    """Contribution of one batch: committed only after its update has succeeded (rule P8)."""

    moments: RunningMoments
    """Moments of its valid steps' discounted returns; scalar."""
    returns: Tensor
    """[T, S] float32, the discounted return up to each step; 0 at invalid ones."""
    carried: dict[int, tuple[int, float]]
    """By slot: the step that would come next, and the discounted return up to it."""


@dataclass(slots=True)
class SlotReturns:
    """Discounted return of each slot's running episode so far; part of a policy's state."""

    _carried: dict[int, tuple[int, float]] = field(default_factory=dict[int, tuple[int, float]])

    def see(
        self,
        batch: Batch,
        gamma: float,
        *,
        rewards: Tensor | None = None,
        ended: Tensor | None = None,
    ) -> SeenReturns:
        """The discounted returns of a batch; changes nothing.

        Args:
            batch: one update's segments.
            gamma: discount per step.
            rewards: [T, S] float32; None: the batch's own, raw.
            ended: [T, S] bool, after which steps a return restarts; None: where episodes end.
        """
        rewards = batch.reward if rewards is None else rewards
        horizon = rewards.shape[0]
        slots, firsts = batch.slot_id.tolist(), batch.first_step.tolist()
        entered = [self._entered(slot, first) for slot, first in zip(slots, firsts, strict=True)]
        if ended is None:
            ended = batch.terminated | batch.truncated
        returns = past_returns(
            rewards,
            ended,
            batch.valid,
            torch.tensor(entered, dtype=torch.float32, device=rewards.device),
            chain_segments(batch.slot_id, batch.first_step, horizon),
            gamma,
        )
        left = torch.where(ended[-1] | ~batch.valid[-1], 0.0, returns[-1]).tolist()
        carried: dict[int, tuple[int, float]] = {}
        for slot, first, value in zip(slots, firsts, left, strict=True):
            if slot not in carried or carried[slot][0] < first + horizon:
                carried[slot] = (first + horizon, value)
        return SeenReturns(RunningMoments.of(returns, batch.valid), returns, carried)

    def take_over(self, seen: SeenReturns) -> None:
        """Continue the returns of the slots after this batch, which was learned from."""
        for slot, after in seen.carried.items():
            self._carried.pop(slot, None)
            self._carried[slot] = after
        for slot in list(islice(self._carried, max(0, len(self._carried) - MAX_SLOTS))):
            del self._carried[slot]

    def tensors(self) -> dict[str, Tensor]:
        """As a checkpoint keeps it: [n] int64 `slot` and `next_step`, [n] float64 `carried`."""
        steps = [step for step, _ in self._carried.values()]
        return {
            "slot": torch.tensor(list(self._carried), dtype=torch.int64),
            "next_step": torch.tensor(steps, dtype=torch.int64),
            "carried": torch.tensor([value for _, value in self._carried.values()], dtype=torch.float64),
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave. Raises: KeyError, ValueError: when something of it is missing."""
        slots, steps, values = (tensors[name].tolist() for name in ("slot", "next_step", "carried"))
        self._carried = {slot: (step, value) for slot, step, value in zip(slots, steps, values, strict=True)}

    def _entered(self, slot: int, first_step: int) -> float:
        """Return carried over from the slot's last segment; 0 where a segment between is missing."""
        step, value = self._carried.get(slot, (first_step, 0.0))
        return value if step == first_step else 0.0


def scaled(rewards: Tensor, so_far: RunningMoments, seen: SeenReturns) -> tuple[Tensor, float]:
    """[T, S] rewards as an update takes them, and what they were divided by: this batch counts already.

    Args:
        rewards: [T, S] float32, raw.
        so_far: of the batches before.
        seen: of this one.
    """
    divisor = reward_divisor(so_far.merge(seen.moments))
    return scaled_rewards(rewards, divisor), divisor
