"""Protocol of whatever runs one trial: a process on this machine, or something else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from attract.schema.game import GameDescription


@dataclass(frozen=True)
class TrialOrder:
    """One training run, as plain data: it may be sent to another machine."""

    run_id: str
    game: str
    settings: Mapping[str, Any]
    """Every setting of the run, nested."""
    evaluated: bool = False
    """Score by an evaluation of the trained policy, instead of by its training."""
    checked: bool = False
    """Look for faults of the game first, as a training does."""
    project_dir: str | None = None
    """Folder from which the user's own module may import; None: the game is bundled."""


@dataclass(frozen=True)
class Progress:
    """Progress of a trial after an update."""

    agent_steps: int
    seconds: float
    score: float | None


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial."""

    score: float | None
    """Mean return, no more than the goal; None: no episode ended."""
    seconds: float
    """From the first lease on."""
    agent_steps: int
    ended_early: bool = False
    description: GameDescription | None = None
    """Description of the game, where the runner knows it."""


class TrialRunner(Protocol):
    """Runs trials, several at once; `attract tune` has the one that starts processes on this machine."""

    async def run(self, order: TrialOrder, goes_on: Callable[[Progress], bool]) -> TrialResult:
        """Train until the end that the settings name.

        Args:
            order: what to train; its run id is new.
            goes_on: called after each update, on the caller's event loop; False ends the trial.

        Raises:
            TrialError: when the run fails or is refused.
            asyncio.CancelledError: once the trial was asked to end and has ended.
        """
        ...
