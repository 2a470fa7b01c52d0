"""Measures how far apart the games of a fleet are in their episodes (rule E7)."""

import statistics

from attract.experience.batch import Batch


class EpisodeDesynchronisation:
    """Follows each slot's phase, its steps since the last episode's end, from batch to batch.

    Owned by the learner's main thread. Not saved: after a resume the games are new ones. A slot whose
    segments have a hole is out of sight until its next episode ends.
    """

    def __init__(self) -> None:
        self._phases: dict[int, tuple[int, int]] = {}
        """Slot to its next step and its phase then."""

    def spread(self, *batches: Batch) -> float | None:
        """Standard deviation over slots of their phases after the batches, in steps.

        It is near 0 when all episodes end together, and L / sqrt(12) when episodes of L steps are spread
        evenly. None as long as fewer than two phases are known.

        Args:
            batches: of one update, each with its own slots; columns ordered by slot and first step (rule C8).
        """
        now: dict[int, tuple[int, int]] = {}
        for batch in batches:
            self._follow(batch, now)
        self._phases = now
        phases = [phase for _, phase in now.values()]
        return statistics.pstdev(phases) if len(phases) > 1 else None

    def _follow(self, batch: Batch, now: dict[int, tuple[int, int]]) -> None:
        steps, _ = batch.valid.shape
        # An agent that comes back begins a new episode (E9), so the steps it is away are ends as well.
        ends = (batch.terminated | batch.truncated | ~batch.valid).flip(0)
        since_end = ends.int().argmax(0).tolist()
        columns = zip(
            batch.slot_id.tolist(), batch.first_step.tolist(), ends.any(0).tolist(), since_end, strict=True
        )
        for slot, first_step, has_end, after_end in columns:
            before = now.get(slot) or self._phases.get(slot)
            if has_end:
                now[slot] = (first_step + steps, after_end)
            elif first_step == 0:
                now[slot] = (steps, steps)
            elif before is not None and before[0] == first_step:
                now[slot] = (first_step + steps, before[1] + steps)
            else:
                now.pop(slot, None)
