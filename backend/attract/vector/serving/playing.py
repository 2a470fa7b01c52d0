"""Leases under central inference, how far they are played, and recurrent states of slots in between."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attract.schema.messages import Lease, RolloutClose
from attract.schema.tensor import from_numpy
from attract.vector.batch import StepBatch


@dataclass(eq=False)
class Playing:
    """One lease of one worker; its segments are begun by all groups in turn, and finished by each."""

    worker_id: int
    instance_ids: Sequence[int]
    lease: Lease
    begun: int = 0
    finished: list[int] = field(default_factory=list[int])
    """Segments finished, per group."""
    num_blocks: int = 0
    started: float | None = None
    inference_seconds: float = 0.0
    game_seconds: float = 0.0
    _bootstrap: dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]] = field(
        default_factory=dict[int, Any]
    )

    def __post_init__(self) -> None:
        self.finished = [0] * len(self.lease.group_sizes)

    @property
    def version(self) -> int:
        return self.lease.seats[0].policy_version

    @property
    def has_next(self) -> bool:
        """Whether there is a segment left to begin."""
        return self.begun < self.lease.num_segments

    @property
    def is_over(self) -> bool:
        """Whether every group has finished every segment."""
        return min(self.finished) >= self.lease.num_segments

    def games_of(self, group: int) -> NDArray[np.int64]:
        """Ids of a group's games, in order."""
        start = sum(self.lease.group_sizes[:group])
        return np.array(self.instance_ids[start : start + self.lease.group_sizes[group]], np.int64)

    def finish(self, group: int, slot_id: NDArray[np.int64], bootstrap: NDArray[np.float32]) -> None:
        """A group has finished a segment with these bootstrap values."""
        self.finished[group] += 1
        self._bootstrap[group] = (slot_id.copy(), bootstrap.copy())

    def restart(self) -> None:
        """Drop unfinished play: the first segment that some group has not finished starts again."""
        self.begun = min(self.finished)
        self.finished = [self.begun] * len(self.finished)

    def close(self, now: float, waited: float) -> RolloutClose:
        """The message that the worker itself would send (rule E4)."""
        groups = [self._bootstrap[group] for group in sorted(self._bootstrap)]
        started = now if self.started is None else self.started
        return RolloutClose(
            run_id=self.lease.run_id,
            lease_id=self.lease.lease_id,
            num_blocks=self.num_blocks,
            slot_id=from_numpy(np.concatenate([slots for slots, _ in groups]).astype(np.int32)),
            bootstrap_value=from_numpy(np.concatenate([values for _, values in groups])),
            play_seconds=now - started,
            inference_seconds=self.inference_seconds,
            game_seconds=self.game_seconds,
            wait_seconds=waited,
        )


class LeaseQueues:
    """Each worker's leases in the order in which it got them; owned by one collector."""

    def __init__(self) -> None:
        self._queues: dict[int, deque[Playing]] = {}
        self._absent: set[int] = set()

    def add(self, worker_id: int, instance_ids: Sequence[int], lease: Lease) -> None:
        """A worker got a lease; the same lease again means that it is back."""
        self._absent.discard(worker_id)
        queue = self._queues.setdefault(worker_id, deque())
        if all(playing.lease.lease_id != lease.lease_id for playing in queue):
            queue.append(Playing(worker_id, instance_ids, lease))

    def remove(self, playing: Playing) -> None:
        self._queues[playing.worker_id].remove(playing)

    def leave(self, worker_id: int) -> None:
        """A worker's socket is gone: its leases wait for it."""
        self._absent.add(worker_id)

    def of(self, worker_id: int) -> Iterator[Playing]:
        return iter(tuple(self._queues.get(worker_id, ())))

    def find(self, lease_id: int) -> Playing | None:
        return next(
            (
                playing
                for queue in self._queues.values()
                for playing in queue
                if playing.lease.lease_id == lease_id
            ),
            None,
        )

    def next_of(self, worker_id: int) -> Playing | None:
        """The worker's first lease with a segment left to begin."""
        if worker_id in self._absent:
            return None
        return next((playing for playing in self.of(worker_id) if playing.has_next), None)

    def versions(self) -> set[int]:
        return {playing.version for queue in self._queues.values() for playing in queue}

    def able(self) -> tuple[int, ...]:
        """Workers that are there and have a segment to begin, sorted."""
        return tuple(sorted(queue for queue in self._queues if self.next_of(queue) is not None))


class StateMemory:
    """States of slots whose worker left, or whose group changes; owned by one collector.

    Whether a lost worker took its last step is only known when it comes back.
    """

    def __init__(self, state_size: int) -> None:
        self.state_size = state_size
        self._slots: dict[int, tuple[int, NDArray[np.float32], NDArray[np.float32]]] = {}

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
