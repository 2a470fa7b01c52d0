"""Notifications of an active run to its subscribers: its view, its events, its reports."""

import logging
from collections.abc import Callable

from attract.collection.effects import GameLogged, Note
from attract.run.effects import Kind
from attract.run.game_reports import GameReports, OwnStack
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.metrics import Event
from attract.schema.api import BeginningView, FleetView, GameReport, RunView
from attract.schema.base import WireModel
from attract.schema.game_messages import MethodSource
from attract.schema.recorded_episode import EpisodeEntry

SHOWN_NOTES = (
    "verification",
    "audit",
    "quarantine",
    "conduct",
    "strangers",
    "bounds",
    "federated",
    "outside",
)
"""Kinds of the core's notes that pages show as reports; the others are told in other ways."""
HANDOVER_SECONDS = 5.0
"""A worker that was quiet for so long may be gone: another's lines are taken then."""
log = logging.getLogger(__name__)

Listener = Callable[[Kind, WireModel], None]


class GameLogFilter:
    """Takes console lines of a game from one worker at a time: the lines of two would mix.

    Owned by `Notifications`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._worker_id: int | None = None
        self._last_line_at = 0.0

    def accepts(self, worker_id: int) -> bool:
        """Whether a line that this worker sent now is taken."""
        now = self._clock()
        if self._worker_id not in (None, worker_id) and now - self._last_line_at < HANDOVER_SECONDS:
            return False
        self._worker_id, self._last_line_at = worker_id, now
        return True


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
        self._log_filter = GameLogFilter(clock)
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
        """The game wrote a line: it is kept in the run's log and sent to those who listen."""
        if self._log_filter.accepts(logged.worker_id):
            self._record.keep_line(logged.line)
            self.publish("log", logged.line, keep=False)

    def note(self, note: Note) -> None:
        """Something the core wants a person to see."""
        log.info("%s: %s", note.kind, note.text)
        if note.kind in SHOWN_NOTES:
            name, text = note.kind.capitalize(), note.text
            self.report(
                GameReport(kind=note.kind, name=name, text=text, stack=None, rollback_to=note.rollback_to)
            )
