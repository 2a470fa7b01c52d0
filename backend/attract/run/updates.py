"""Updates in the learner's hands: begun, trained, not yet durable (rules D1, P8, T4). Does no I/O."""

from dataclasses import dataclass

from attract.schema.learner import Counters, Published, Train, Trained


@dataclass(frozen=True)
class TrainedUpdate:
    """One that is done: the counters after it, and its metrics."""

    counters: Counters
    values: dict[str, float]


class Updates:
    """Owned by the run core; several are on their way while the disk is slow."""

    def __init__(self) -> None:
        self.num_dropped = 0
        """Updates that were undone (rule P8)."""
        self._in_flight: dict[int, Train] = {}
        """By batch, in their order, until their version is durable."""
        self._trained: dict[int, TrainedUpdate] = {}

    @property
    def is_idle(self) -> bool:
        """Whether none is under way."""
        return not self._in_flight

    def begin(self, train: Train) -> None:
        """The learner is given an update, or given it again."""
        self._in_flight[train.batch_id] = train

    def counters_after(self, outcome: Trained | Published, before: Counters) -> Counters | None:
        """The counters after an update; None: it is none of ours, or counted already.

        `before`: those of the last version that is announced. Rejected rows do not count (T4).
        """
        train = None if outcome.batch_id is None else self._in_flight.get(outcome.batch_id)
        if train is None or train.batch_id in self._trained:
            return None
        if not outcome.rejected:
            return train.counters
        if self._trained:
            before = next(reversed(self._trained.values())).counters
        return train.counters.model_copy(update={"agent_steps": before.agent_steps + outcome.valid_steps})

    def trained(self, batch_id: int, counters: Counters, values: dict[str, float]) -> None:
        """It is done, and counted."""
        self._trained[batch_id] = TrainedUpdate(counters, values)

    def take(self, batch_id: int | None) -> TrainedUpdate | None:
        """Its version is durable; what is known of it, None: it is none of ours."""
        if batch_id is None or self._in_flight.pop(batch_id, None) is None:
            return None
        return self._trained.pop(batch_id)

    def drop(self, batch_id: int) -> Train | None:
        """It was undone (rule P8); the message that began it."""
        self.num_dropped += 1
        return self._in_flight.pop(batch_id, None)

    def forget(self) -> None:
        """What was in the learner's hands is lost."""
        self._in_flight.clear()
        self._trained.clear()
