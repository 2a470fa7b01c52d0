"""What runs have measured and said, the active one as past ones: read from their folders."""

from collections.abc import Sequence

from attract.run.archive import RunArchive, known_run
from attract.runs.log_entries import read_entries
from attract.runs.metrics import Event
from attract.schema.api import LogEntry
from attract.schema.metrics import MetricsView


class RunHistory:
    """Reads metrics and events of any run. Each method raises UnknownRunError where there is no such run."""

    def __init__(self, archive: RunArchive) -> None:
        self._archive = archive

    def metrics(
        self,
        run_id: str,
        names: Sequence[str] | None,
        *,
        from_steps: float | None = None,
        to_steps: float | None = None,
        max_points: int = 500,
    ) -> MetricsView:
        """A run's metrics, downsampled. Raises: UnknownRunError."""
        with known_run(run_id):
            return self._archive.metrics(
                run_id, names, from_steps=from_steps, to_steps=to_steps, max_points=max_points
            )

    def events_after(self, run_id: str, event_id: int) -> list[Event]:
        """A run's kept events after `event_id`. Raises: UnknownRunError."""
        with known_run(run_id):
            return self._archive.events_after(run_id, event_id)

    def last_event_id(self, run_id: str) -> int:
        """Id of a run's newest kept event. Raises: UnknownRunError."""
        with known_run(run_id):
            return self._archive.last_event_id(run_id)

    def log_entries(self, run_id: str, *, whole: bool = True) -> list[LogEntry]:
        """The end of a run's log files; without `whole` only the game's console. Raises: UnknownRunError."""
        with known_run(run_id):
            logs = self._archive.directory(run_id).logs
        return read_entries(logs) if whole else read_entries(logs, ("game",))
