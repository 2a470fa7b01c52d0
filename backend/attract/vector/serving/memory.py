"""Recurrent states of slots that are between two environments: a worker left, or the membership changes."""

import numpy as np
from numpy.typing import NDArray

from attract.vector.batch import StepBatch

Remembered = tuple[int, NDArray[np.float32], NDArray[np.float32]]


class StateMemory:
    """Owned by one collector. Whether a lost worker took its last step is only known when it comes back."""

    def __init__(self, state_size: int) -> None:
        self.state_size = state_size
        self._slots: dict[int, Remembered] = {}

    def keep(
        self,
        slot_id: NDArray[np.int64],
        slot_step: NDArray[np.int64],
        before: NDArray[np.float32],
        after: NDArray[np.float32],
    ) -> None:
        """States of [k] slots: `before` the decision at their step `slot_step`, and `after` it."""
        if self.state_size:
            for place, slot in enumerate(slot_id.tolist()):
                self._slots[slot] = (int(slot_step[place]), before[place].copy(), after[place].copy())

    def recall(self, batch: StepBatch) -> NDArray[np.float32]:
        """[k, state_size]: the states with which the slots see what they see now.

        Zero for a slot that is new, whose episode has just begun (rule S4), or that is not active (rule E9).
        """
        state = np.zeros((len(batch.slot_id), self.state_size), np.float32)
        if not self.state_size:
            return state
        steps = batch.slot_step.tolist()
        for place, slot in enumerate(batch.slot_id.tolist()):
            step, before, after = self._slots.pop(slot, (-2, state[place], state[place]))
            if steps[place] == step:
                state[place] = before
            elif steps[place] == step + 1:
                state[place] = after
        state[(batch.episode_step == 0) | ~batch.active] = 0.0
        return state
