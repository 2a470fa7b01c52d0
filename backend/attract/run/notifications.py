"""Notifications of an active run to its subscribers: its view, its events, its reports."""

import logging
from collections import deque
from collections.abc import Callable

from attract.collection.effects import GameLogged, Note
from attract.run.effects import Kind
from attract.run.game_reports import GameReports, OwnStack
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.metrics import Event
from attract.schema.api import BeginningView, FleetView, GameReport, LogLine, RunView
from attract.schema.base import WireModel
from attract.schema.game_messages import MethodSource
from attract.schema.recorded_episode import EpisodeEntry

SHOWN_NOTES = (
    "verification",
    "policy",
    "audit",
    "quarantine",
    "conduct",
    "strangers",
    "bounds",
    "federated",
)
"""Kinds of the core's notes that pages show as reports; the others are told in other ways."""
MAX_LINES = 200
HANDOVER_SECONDS = 5.0
"""A worker that was quiet for so long may be gone: another's lines are taken then."""
log = logging.getLogger(__name__)

Listener = Callable[[Kind, WireModel], None]


class GameLogKeeper:
    """The newest console lines of a game, from one worker at a time: the lines of two would mix.

    Owned by `Notifications`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._worker_id: int | None = None
        self._last_line_at = 0.0

    def take(self, worker_id: int, line: LogLine) -> bool:
        """Keep a line; False when it is not of the worker that is listened to."""
        now = self._clock()
        if self._worker_id not in (None, worker_id) and now - self._last_line_at < HANDOVER_SECONDS:
            return False
        self._worker_id, self._last_line_at = worker_id, now
        self._lines.append(line)
        return True

    def lines(self) -> list[LogLine]:
        """The newest lines, oldest first."""
        return list(self._lines)


class Notifications:
    """Owned by the active run, used on its event loop.

    `fleet()` gives hosts and workers as they stand, `clock()` monotonic seconds. Without `keep` (a past run
    that is only looked at) its view is not written.
    """

    def __init__(
        self,
        progress: RunProgress,
        record: RunRecord,
        own_stack: OwnStack,
        fleet: Callable[[], FleetView],
        listener: Listener,
        clock: Callable[[], float],
        *,
        keep: bool,
        beginning: Callable[[], BeginningView | None] = lambda: None,
    ) -> None:
        """`beginning`: what is done before the first update, as the collection has it."""
        self._progress = progress
        self._record = record
        self._reports = GameReports(own_stack)
        self._log_keeper = GameLogKeeper(clock)
        self.fleet = fleet
        self._listener = listener
        self._clock = clock
        self._keep = keep
        self._beginning = beginning

    def view(self) -> RunView:
        """The run as it stands."""
        return self._progress.view(self._clock(), self.fleet(), self._reports.all(), self._beginning())

    async def changed(self, view: RunView) -> None:
        """The run's state changed to this: keep it and tell everyone."""
        await self.keep(view)
        self.publish("status", view)

    async def keep(self, view: RunView) -> None:
        """Keep this for when the run is no longer active."""
        if self._keep:
            await self._record.keep_view(view)

    def publish(self, kind: Kind, body: WireModel, *, keep: bool = True) -> None:
        """An event for every page that listens, and for the command line."""
        self._record.publish(kind, body, keep=keep)
        self._listener(kind, body)

    def publish_kept(self, event: Event, kind: Kind, body: WireModel) -> None:
        """An event that is kept already."""
        self._record.publish_kept(event)
        self._listener(kind, body)

    def report(self, report: GameReport, method: MethodSource | None = None) -> GameReport:
        """Something broke, in this method where it is known; what was told of it."""
        shown = self._reports.add(report, method)
        self.publish("report", shown)
        return shown

    def episode_kept(self, entry: EpisodeEntry, report: GameReport | None = None) -> None:
        """An episode is kept: of this failure, if it is one."""
        self.publish("episode", entry)
        shown = None if report is None else self._reports.with_episode(report, entry.id)
        if shown is not None:
            # The command line has printed it.
            self._record.publish("report", shown)

    def logged(self, logged: GameLogged) -> None:
        """The game wrote a line: told to those who listen, the newest are kept for those who come."""
        if self._log_keeper.take(logged.worker_id, logged.line):
            self._record.keep_line(logged.line)
            self.publish("log", logged.line, keep=False)

    def log_lines(self) -> list[LogLine]:
        """The newest lines, oldest first."""
        return self._log_keeper.lines()

    def note(self, note: Note) -> None:
        """Something the core wants a person to see."""
        log.info("%s: %s", note.kind, note.text)
        if note.kind in SHOWN_NOTES:
            name, text = note.kind.capitalize(), note.text
            self.report(
                GameReport(kind=note.kind, name=name, text=text, stack=None, rollback_to=note.rollback_to)
            )
