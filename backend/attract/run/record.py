"""The record that an active run leaves: its view, its metrics, its events, its policies."""

import asyncio
import contextlib
import functools
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attract import __version__
from attract.errors import CheckpointError
from attract.run.disk_watch import DiskWatch
from attract.run.effects import Kind
from attract.run.events import EventHub
from attract.runs.archive import VIEW
from attract.runs.background_trackers import open_trackers
from attract.runs.checkpoint_document import counters_of, read_document
from attract.runs.directory import RunDirectory
from attract.runs.disk import refusal
from attract.runs.log_files import GameConsole, RunLog
from attract.runs.log_lines import LogFormat, LogLevel
from attract.runs.metrics import CLOCK, Event, MetricsStore, UpdateRow
from attract.schema.api import LogLine, RunView
from attract.schema.base import WireModel
from attract.schema.learner import Counters

PRUNE_EVERY_UPDATES = 20
COPY_SECONDS = 0.1
"""A version is out by then."""
log = logging.getLogger(__name__)


class RunRecord:
    """Writes what one active run leaves behind; owned by the active run, used on the event loop alone.

    Rows are committed on a thread of its own: a slow disk holds up the announcement, never the sockets. While
    the disk refuses, what must be kept waits for room; what only describes the moment is dropped.
    """

    def __init__(
        self,
        directory: RunDirectory,
        events: EventHub,
        *,
        track: bool = True,
        trackers: Sequence[str] = (),
        log_format: LogFormat = "text",
        log_level: LogLevel = "info",
        is_resumed: bool = False,
    ) -> None:
        """`track`: copy the metrics for other tools, and keep a log; not for a run that is only looked at.

        `trackers`: names of `SINKS`, tools besides TensorBoard that get a copy.
        `is_resumed`: nothing in the folder changes before `accept`.
        """
        self.directory = directory
        self.disk = DiskWatch()
        self._events = events
        self._store = MetricsStore(directory.metrics_path)
        self._has_clock = False
        self._trackers = open_trackers(trackers, directory) if track else []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="run-record")
        self._uncopied: deque[UpdateRow] = deque()
        """Committed rows that the trackers have not seen."""
        self._is_accepted = not is_resumed
        self._log = RunLog(directory.logs, log_format, log_level, run=directory.run_id) if track else None
        if self._log is not None and is_resumed:
            self._log.hold()
        self._console = GameConsole(directory.logs, log_format) if track else None
        log.info("run %s begins, Attract %s", directory.run_id, __version__)

    async def accept(self, keep_start: Callable[[], None]) -> None:
        """The run continues from its checkpoint: `keep_start` writes its start; once, for a resumed run."""
        if not self._is_accepted:
            await self._keep("what the run is resumed with", keep_start)
            self._is_accepted = True
            if self._log is not None:
                self._log.write_held()

    async def commit_update(
        self, row: UpdateRow, view: RunView, bodies: Sequence[tuple[Kind, WireModel]] = ()
    ) -> list[Event]:
        """Commit the row of a durable version with the events that tell of it, and point `latest` at it (D1).

        Returns: the events, kept and not yet shown; `Notifications.publish_kept` shows them later.
        """
        texts = [(kind, body.model_dump_json()) for kind, body in bodies]
        attempts, facts = itertools.count(), dict[str, Any]({VIEW: _plain(view)})

        def commit() -> list[Event]:
            if next(attempts):
                # SQLite may report a refusal after the row went in.
                self._store.rewind(row.update - 1)
            if not self._has_clock:
                facts[CLOCK] = self._store.clock_with(row.seconds, time.time())
            events = self._store.commit_update(row, facts, texts)
            self._has_clock = True
            # In the same turn of the thread: workers wait for both.
            self.directory.mark("latest", row.policy_version)
            return events

        events: list[Event] = await self._keep(f"the row of update {row.update}", commit)
        # These can wait: now the version is to go out and needs the interpreter.
        self._uncopied.append(row)
        asyncio.get_running_loop().call_later(COPY_SECONDS, self._copy_next)
        return events

    def _copy_next(self) -> None:
        if self._uncopied:
            self._thread.submit(self._copy, self._uncopied.popleft()).add_done_callback(_log_failure)

    def _copy(self, row: UpdateRow) -> None:
        for tracker in self._trackers:
            tracker.write(row.agent_steps, row.values)
        if row.update and row.update % PRUNE_EVERY_UPDATES == 0:
            self.directory.prune()
            self._store.thin(frozenset(self.directory.versions()))

    async def rewind(self, update: int) -> None:
        """Forget updates after `update`, which a resumed run repeats."""
        await self._keep("the run's rows", self._store.rewind, update)
        while self._uncopied:
            self._copy_next()
        with _unless_refused("a copy of the metrics"):
            await self._run(self._restart_trackers)

    def _restart_trackers(self) -> None:
        newest = {
            name: (agent_steps, value)
            for _, agent_steps, values in self._store.rows()
            for name, value in values.items()
        }
        for tracker in self._trackers:
            tracker.restart(newest)

    async def newest_row(self) -> tuple[float, int | None]:
        """The run's seconds until the newest row, and that row's version, None without any."""
        return await self._run(self._store.last_seconds), await self._run(self._store.last_version)

    async def lost_rows(self, version: int) -> list[tuple[UpdateRow, Counters]]:
        """Rows that durable versions up to `version` should have and have not, oldest first.

        Each comes from its version's checkpoint, with the counters after it. Several are missing when the
        process was killed while the learner was ahead of the rows.
        """
        return await self._run(self._lost_rows, version)

    def _lost_rows(self, version: int) -> list[tuple[UpdateRow, Counters]]:
        last = self._store.last_version()
        found: list[tuple[UpdateRow, Counters]] = []
        for number in self.directory.versions():
            if number <= version and (last is None or number > last):
                try:
                    found.append(_row_of(self.directory.checkpoints / str(number)))
                except CheckpointError as error:
                    log.warning("the row of version %d is lost: %s", number, error)
        return found

    async def rows(self) -> list[tuple[int, int, dict[str, float]]]:
        """Every row that is there, as `MetricsStore.rows`."""
        return await self._run(self._store.rows)

    async def keep_view(self, view: RunView) -> None:
        """Keep how the run stands, for when it is no longer active."""
        if not self._is_accepted:
            return
        with _unless_refused("how the run stands"):
            await self._run(self._store.put_fact, VIEW, _plain(view))

    async def kept_view(self) -> RunView | None:
        """How the run stood last; None: nothing is kept that can be read."""
        view = await self._run(self._store.fact, VIEW)
        with contextlib.suppress(ValidationError):
            return None if view is None else RunView.model_validate(view)

    async def add_evaluation(self, update: int, agent_steps: int, values: dict[str, float]) -> None:
        """Add an evaluation's metrics to the update it judged."""
        await self._keep("an evaluation", self._store.add_metrics, update, values)
        for tracker in self._trackers:
            with _unless_refused("a copy of the metrics"):
                await self._run(functools.partial(tracker.write, agent_steps, values, always=True))

    async def mark_best(self, version: int) -> None:
        """Point `best` at a version."""
        await self._keep("the best version's mark", self.directory.mark, "best", version)

    async def keep_model(self, onnx: bytes) -> None:
        """Keep the model from which those of all versions are made."""
        await self._keep("the run's model", self.directory.keep_model, onnx)

    async def keep_version(self, version: int) -> None:
        """Never remove a version's checkpoint."""
        await self._keep("a kept version's mark", self.directory.keep, version)

    async def keep_opponents(self, versions: Sequence[int]) -> None:
        """Keep these versions' checkpoints as long as the policy plays against them."""
        await self._keep("the opponents", self.directory.keep_opponents, versions)

    def publish(self, kind: Kind, body: WireModel, *, keep: bool = True) -> None:
        """An event for every page that listens; kept, it can be asked for again."""
        data = body.model_dump_json()
        event = Event(0, kind, data)
        if keep and self._is_accepted:
            with _unless_refused("an event"):
                event = self._store.add_event(kind, data)
        self.publish_kept(event)

    def keep_line(self, line: LogLine) -> None:
        """Keep what the game wrote to its console."""
        if self._console is not None and self._is_accepted:
            self._console.keep(line)

    def publish_kept(self, event: Event) -> None:
        """Give an event that is kept already to every page that listens."""
        self._events.publish(self.directory.run_id, event)

    async def close(self, *, is_refused: bool = False) -> None:
        """Write everything out and give the run's lock back; of a refused resume nothing is left."""
        if self._log is not None and not is_refused:
            self._log.write_held()
        while self._uncopied:
            self._copy_next()
        # The copies are made on the same thread, so they are made by then.
        await self._run(self._store.close)
        # Side by side: each may wait long for its tool.
        await asyncio.gather(*(asyncio.to_thread(tracker.close) for tracker in self._trackers))
        self._thread.shutdown()
        for kept in (self._log, self._console):
            if kept is not None:
                kept.close()
        self.directory.close()

    async def _keep(self, what: str, call: Any, *arguments: Any) -> Any:
        """Have something done that must not be lost, as soon as the disk lets it."""
        return await self.disk.retry_while_full(what, functools.partial(self._run, call, *arguments))

    async def _run(self, call: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


@contextlib.contextmanager
def _unless_refused(what: str) -> Generator[None]:
    """Let go what the disk refuses, and say so."""
    try:
        yield
    except Exception as error:
        reason = refusal(error)
        if reason is None:
            raise
        log.warning("%s was not kept: %s", what, reason)


def _row_of(folder: Path) -> tuple[UpdateRow, Counters]:
    """The row of a version as its checkpoint tells it. Raises: CheckpointError."""
    document = read_document(folder)
    counters, values = counters_of(folder, document), document.get("metrics", {})
    if not all(isinstance(value, int | float) for value in values.values()):
        raise CheckpointError(str(folder), "its metrics are not numbers")
    row = UpdateRow(
        update=counters.updates,
        agent_steps=counters.agent_steps,
        collected_steps=counters.collected_steps,
        seconds=values.get("time/time_elapsed", 0.0),
        policy_version=int(folder.name),
        checkpoint=f"checkpoints/{folder.name}",
        weights_sha256=str(document.get("weights_sha256")),
        values=values,
    )
    return row, counters


def _plain(view: RunView) -> dict[str, Any]:
    # Game and description have a file of their own.
    return view.model_dump(mode="json", exclude={"description", "game_reference"})


def _log_failure(done: "Future[None]") -> None:
    error = done.exception()
    if error is not None:
        log.error("a run's metrics could not be copied, or its old checkpoints not removed", exc_info=error)
