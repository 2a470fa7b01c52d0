"""The list of all runs, without opening the database of each again and again."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from attract.errors import ConfigurationError, DamagedRunError
from attract.files import parse_model
from attract.run.record import RunArchive, damage_named, state_now
from attract.runs.directory import RunDirectory
from attract.schema.api import RunSummary, RunView

log = logging.getLogger(__name__)
Run = TypeVar("Run", bound=RunSummary)


class _Known(NamedTuple):
    stamp: tuple[int, ...]
    summary: RunSummary | None
    """None: it cannot be read as it is."""


class RunIndex:
    """What is listed of each run, read again only when its files have changed; owned by the run service.

    May be called from several threads at once.
    """

    def __init__(self, archive: RunArchive, title_of: Callable[[str], str]) -> None:
        """`title_of`: what a game is called on screen, for runs that were kept before they had titles."""
        self._archive = archive
        self._title_of = title_of
        self._known: dict[str, _Known] = {}

    def titled(self, run: Run) -> Run:
        """The run with its game's title."""
        return run if run.title else run.model_copy(update={"title": self._title_of(run.game)})

    def summaries(self, active: RunView | None = None) -> list[RunSummary]:
        """All runs that can be read, newest first; `active` as it stands now."""
        before = self._known
        known = {run_id: self._look_at(run_id, before.get(run_id)) for run_id in self._archive.run_ids()}
        self._known = known
        found: list[RunSummary] = []
        for run_id, entry in known.items():
            if entry.summary is not None:
                state = state_now(self._directory(run_id), entry.summary.state)
                found.append(self.titled(entry.summary.model_copy(update={"state": state})))
        if active is None:
            return found
        now = RunSummary.model_validate(active.model_dump(include=set(RunSummary.model_fields)))
        return [now if summary.run_id == now.run_id else summary for summary in found]

    def _look_at(self, run_id: str, before: _Known | None) -> _Known:
        directory = self._directory(run_id)
        path = directory.path / "metrics.db"
        # Taken before the reading: what is written meanwhile changes it.
        stamp = (*_stamp(path), *_stamp(path.with_name(f"{path.name}-wal")))
        if before is not None and before.stamp == stamp:
            return before
        try:
            with damage_named(run_id):
                data = self._archive.kept_view(directory)
                names = RunSummary.model_fields
                known = {name: data[name] for name in names if name in data}
                summary = parse_model(known, RunSummary, directory.metrics_path)
        except DamagedRunError as error:
            # Looked at again each time: another process may only have held it up.
            return _Known((), _damaged(run_id, error, stamp[0]))
        except ConfigurationError as error:
            log.debug("run %s cannot be read: %s", run_id, error)
            summary = None
        return _Known(stamp, summary)

    def _directory(self, run_id: str) -> RunDirectory:
        # Not looked up: a run may be moved away while the list is made.
        return RunDirectory(self._archive.runs_dir / run_id, None)


def _damaged(run_id: str, error: DamagedRunError, changed_ns: int) -> RunSummary:
    """A row of the list for a run whose folder's name alone is known."""
    created = datetime.fromtimestamp(changed_ns / 1e9, UTC).isoformat(timespec="seconds")
    return RunSummary(
        run_id=run_id,
        game="unknown",
        title=run_id,
        state="damaged",
        created=created,
        seed=0,
        policy_version=0,
        agent_steps=0,
        collected_steps=0,
        updates=0,
        episodes=0,
        elapsed_seconds=0.0,
        steps_per_second=0.0,
        episode_return_mean=None,
        goal=None,
        total_steps=None,
        error=error.reason,
    )


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
