"""Copies of the metrics for W&B and trackio, written on a thread of their own: the run waits for neither."""

import importlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from attract.runs.directory import RunDirectory
from attract.runs.trackers import TensorBoardTracker, Tracker

log = logging.getLogger(__name__)

PROJECT: Final = "attract"
"""Project of the runs where the tool's own variable (`WANDB_PROJECT`, `TRACKIO_PROJECT`) names none."""
STEPS: Final = "agent_steps"
MAX_WAITING: Final = 10_000
"""Rows that wait for a slow tool; those that come after them are lost."""
CLOSE_SECONDS: Final = 30.0
"""How long the end of a run waits for a tool to write what it has."""
BROKEN: Final = (Exception, SystemExit)
"""What a tool may raise: W&B ends the thread where it cannot be set up."""


class Sink(Protocol):
    """One run in a tool; made, used and closed on the tracker's thread."""

    def log(self, agent_steps: int, values: dict[str, float]) -> None:
        """Add one row; x-axis `agent_steps`. Raises: whatever the tool says."""
        ...

    def close(self) -> None:
        """Write out what is buffered. Raises: whatever the tool says."""
        ...


@dataclass(frozen=True)
class RunFacts:
    """What a tool shows of a run besides its metrics."""

    run_id: str
    folder: str
    """Where the tool may write, if it writes into a run's folder."""
    settings: Mapping[str, Any]


class BackgroundTracker:
    """A `Tracker` that hands rows to a tool's thread; owned by the run's record.

    A tool that fails, hangs or cannot be opened is named once in the log and gets nothing more. Nothing is
    raised and nothing waits, except that `close` gives it 30 seconds.
    """

    def __init__(self, name: str, opened: Callable[[], Sink]) -> None:
        """`opened` is called on the tool's thread."""
        self._name = name
        self._opened = opened
        self._rows: queue.Queue[tuple[int, dict[str, float]] | None] = queue.Queue(MAX_WAITING)
        self._num_lost = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name=f"tracker-{name}", daemon=True)
        self._thread.start()

    def write(self, agent_steps: int, values: dict[str, float], *, always: bool = False) -> None:
        """Hand over one row; one that finds the queue full is lost, also with `always`."""
        if self._is_over:
            return
        try:
            self._rows.put_nowait((agent_steps, dict(values)))
        except queue.Full:
            self._num_lost += 1

    def restart(self, newest: Mapping[str, tuple[int, float]]) -> None:
        """Nothing: neither tool can forget rows. Repeated updates are drawn beside the first ones."""

    def close(self) -> None:
        """Have the tool write what it has, for at most 30 seconds; may be called again."""
        if not self._is_over:
            self._is_over = True
            threading.Thread(target=self._rows.put, args=(None,), daemon=True).start()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            log.warning("%s did not finish within %.0f s: its copy may lack rows", self._name, CLOSE_SECONDS)
        if self._num_lost:
            log.warning("%s was too slow: %d rows are not in its copy", self._name, self._num_lost)
            self._num_lost = 0

    def _work(self) -> None:
        try:
            sink = self._opened()
            while (row := self._rows.get()) is not None:
                sink.log(*row)
            sink.close()
        except BROKEN as error:
            self._is_over = True
            reason = f"{type(error).__name__}: {error}"[:500]
            log.warning("%s gets no more metrics of this run: %s", self._name, reason)


class WandbSink:
    """A run of Weights & Biases (https://docs.wandb.ai/ref/python), in the run's folder and, online, there.

    Without an API key it is offline, whatever terminal there is: W&B would ask for one. A resumed run
    continues under its id. `WANDB_*` variables are the user's.
    """

    def __init__(self, run: RunFacts) -> None:
        wandb: Any = importlib.import_module("wandb")
        mode = os.environ.get("WANDB_MODE") or (None if wandb.api.api_key else "offline")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            id=run.run_id,
            name=run.run_id,
            dir=run.folder,
            config=dict(run.settings),
            mode=mode,
            resume="allow" if mode is None or mode == "online" else None,
            # It would copy what the server prints, its login link too, and look for a Git repository.
            settings=wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
        )
        self._run.define_metric(STEPS, hidden=True)
        self._run.define_metric("*", step_metric=STEPS)

    def log(self, agent_steps: int, values: dict[str, float]) -> None:
        """One row, at `agent_steps` on every chart."""
        self._run.log({**values, STEPS: agent_steps})

    def close(self) -> None:
        """Finish the run; online it waits for the upload."""
        self._run.finish()


class TrackioSink:
    """A run of trackio (https://huggingface.co/docs/trackio), in its own folder; `trackio show` draws it."""

    def __init__(self, run: RunFacts) -> None:
        trackio: Any = importlib.import_module("trackio")
        self._run = trackio.init(
            project=os.environ.get("TRACKIO_PROJECT") or PROJECT,
            name=run.run_id,
            config=dict(run.settings),
            resume="allow",
            embed=False,
        )

    def log(self, agent_steps: int, values: dict[str, float]) -> None:
        """One row, at step `agent_steps`."""
        self._run.log(dict(values), step=agent_steps)

    def close(self) -> None:
        self._run.finish()


SINKS: Final[Mapping[str, Callable[[RunFacts], Sink]]] = {"wandb": WandbSink, "trackio": TrackioSink}
"""By the name of the tool, which is that of its package and of the extra that installs it."""


def open_trackers(names: Sequence[str], directory: RunDirectory) -> list[Tracker]:
    """TensorBoard's tracker, and one of each of these tools, for the run in `directory`.

    Those that never raise come first: they get the row that the disk refuses to TensorBoard.
    Raises: as `RunDirectory.read_config`, if there are names.
    """
    trackers: list[Tracker] = []
    if names:
        facts = RunFacts(directory.run_id, str(directory.path), directory.read_config()["settings"])
        trackers += [open_tracker(name, facts) for name in names]
    return [*trackers, TensorBoardTracker(directory.path)]


def open_tracker(name: str, run: RunFacts) -> BackgroundTracker:
    """A tracker of the tool `name`, one of `SINKS`."""
    sink = SINKS[name]
    return BackgroundTracker(name, lambda: sink(run))
