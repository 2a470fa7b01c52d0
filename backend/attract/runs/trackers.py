"""Copies of the metrics for other tools: TensorBoard event files under SB3's names."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from types import ModuleType

    from tensorboardX import SummaryWriter


class Tracker(Protocol):
    """Takes each committed update's metrics; owned by the run service, called from one thread."""

    def write(self, agent_steps: int, values: dict[str, float]) -> None:
        """Take one row; x-axis `agent_steps`."""
        ...

    def close(self) -> None:
        """Write out what is buffered."""
        ...


class TensorBoardTracker:
    """Writes `events.out.tfevents.*` into the run directory; `tensorboard --logdir runs` shows it."""

    def __init__(self, run_dir: Path) -> None:
        self._writer = _summary_writer(run_dir)

    def write(self, agent_steps: int, values: dict[str, float]) -> None:
        """One scalar per name, at x = `agent_steps`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, agent_steps)

    def close(self) -> None:
        """Flush and close the file; may be called again."""
        self._writer.close()


def _summary_writer(run_dir: Path) -> "SummaryWriter":
    """A writer without torch, which tensorboardX imports where it finds it: seconds and hundreds of MB."""
    is_loaded = "torch" in sys.modules
    if not is_loaded:
        # An entry of None makes the import fail, which tensorboardX takes for "not installed".
        sys.modules["torch"] = cast("ModuleType", None)
    try:
        from tensorboardX import SummaryWriter
    finally:
        if not is_loaded:
            del sys.modules["torch"]
    return SummaryWriter(logdir=str(run_dir), flush_secs=10)
