"""How a run stands, in numbers and yes or no, for probes and metrics."""

from dataclasses import dataclass

from attract.collection.standing import Standing
from attract.schema.api import RunState
from attract.schema.learner import Counters


@dataclass(frozen=True)
class RunHealth:
    """One moment of the active run, or of the one that ended last."""

    run_id: str
    game: str
    state: RunState
    num_workers: int
    """Workers that the run expects."""
    counters: Counters
    """As they stand now, ahead of the last committed update."""
    policy_version: int
    episode_return_mean: float | None
    updates_dropped: int
    """Undone by rule P8."""
    is_described: bool
    """Whether a browser has loaded the game: before that the learner has nothing to do."""
    learner_is_alive: bool
    learner_is_ready: bool
    """Whether it has said that it has its policy, or waits for the first statistics."""
    learner_restarts: int
    disk_refuses: bool
    collection: Standing

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, in whatever way."""
        return self.state in ("finished", "stopped", "failed")
