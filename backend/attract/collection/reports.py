"""Reports of games that fail, and the point from which so many do that the run cannot go on."""

from typing import Final

from attract.schema.api import GameReport
from attract.schema.messages import GameFailed

WORKERS_PER_SEAT: Final = 3
"""So many workers may end through the game, for each one expected ..."""
STEPS_BETWEEN: Final = 1_000_000
"""... before the run is given up, unless so many agent steps were trained since the last one ended."""


def report_of(message: GameFailed, host_id: str, worker_index: int | None) -> GameReport:
    """The report a person reads."""
    seed = message.seed
    return GameReport(
        kind=message.kind,
        name=message.name,
        text=message.text,
        stack=message.stack,
        host_id=host_id,
        worker_index=worker_index,
        slot_id=message.slot_id,
        instance_id=message.instance_id,
        episode=message.episode,
        tick=message.tick,
        step_values=message.step_values,
        seed=None if seed is None else f"{seed.high:08x}{seed.low:08x}",
    )


class FailureCount:
    """Counts the workers that the game brought down."""

    def __init__(self, num_workers: int) -> None:
        self._limit = WORKERS_PER_SEAT * num_workers
        self._count = 0
        self._steps_at_last = 0

    def add(self, agent_steps: int) -> bool:
        """One more worker ended through the game, after so many steps; True when that is one too many."""
        if agent_steps - self._steps_at_last >= STEPS_BETWEEN:
            self._count = 0
        self._count += 1
        self._steps_at_last = agent_steps
        return self._count >= self._limit
