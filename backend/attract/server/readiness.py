"""Whether the server can do its work now, part by part: what `/readyz` answers."""

import asyncio
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from attract.run.health import RunHealth
from attract.runs.disk import refusal
from attract.schema.api import PartName, ReadyPart, ReadyView

PROBE_SECONDS = 5.0
"""The shortest time between two test writes to the disk: the endpoint is public."""
PROBE_BYTES = 4096


class Readiness:
    """Answers `/readyz`; owned by the app, used on its event loop.

    Nothing that it says names a run, a path or a person: everybody may read it.
    """

    def __init__(
        self,
        runs_dir: Path,
        health: Callable[[], RunHealth | None],
        is_starting: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        """`clock` is monotonic seconds."""
        self._runs_dir = runs_dir
        self._health = health
        self._is_starting = is_starting
        self._clock = clock
        self._probe: asyncio.Task[str | None] | None = None
        self._probed_at = 0.0

    async def view(self) -> ReadyView:
        """Every part as it stands; the disk by a write that is at most 5 s old."""
        health = self._health()
        refused = await self._write_refused()
        parts: dict[PartName, ReadyPart] = {
            "game": _part(_game_problem(health, is_starting=self._is_starting())),
            "learner": _part(_learner_problem(health)),
            "disk": _part(_disk_problem(health, refused)),
            "run": _part("the run failed: see the dashboard or its log" if _failed(health) else None),
        }
        return ReadyView(ready=all(part.ready for part in parts.values()), parts=parts)

    async def _write_refused(self) -> str | None:
        now = self._clock()
        is_old = now - self._probed_at >= PROBE_SECONDS
        if self._probe is None or (is_old and self._probe.done()):
            self._probed_at = now
            self._probe = asyncio.create_task(asyncio.to_thread(try_write, self._runs_dir))
        # One write for all who ask meanwhile; that one of them goes away cancels nothing.
        return await asyncio.shield(self._probe)


def try_write(runs_dir: Path) -> str | None:
    """Write 4 KiB where runs are kept, in a file without a name; why that was refused, None when it was not.

    A folder that is not there yet is judged by the nearest one above it.
    """
    folder = next((parent for parent in (runs_dir, *runs_dir.absolute().parents) if parent.is_dir()), Path())
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            if file.write(bytes(PROBE_BYTES)) != PROBE_BYTES:
                return os.strerror(errno.ENOSPC)
    except OSError as error:
        return refusal(error) or error.strerror or "no reason given"
    return None


def _failed(health: RunHealth | None) -> bool:
    return health is not None and health.state == "failed"


def _game_problem(health: RunHealth | None, *, is_starting: bool) -> str | None:
    if is_starting and (health is None or health.is_over):
        return "a run is being started: its game is not bundled yet"
    return None


def _learner_problem(health: RunHealth | None) -> str | None:
    if health is None or health.is_over:
        return None
    if not health.learner_is_alive:
        return "there is no learner: it died, or is being started"
    # A run that waits for its first browser is ready to be joined: only that gives the learner work.
    if health.is_described and not health.learner_is_ready:
        return "the learner does not have its policy yet"
    return None


def _disk_problem(health: RunHealth | None, refused: str | None) -> str | None:
    if refused is not None:
        return f"the runs folder is not writable: {refused}"
    if health is not None and not health.is_over and health.disk_refuses:
        return "the run waits for the disk to take writes"
    return None


def _part(problem: str | None) -> ReadyPart:
    return ReadyPart(ready=problem is None, problem=problem)
