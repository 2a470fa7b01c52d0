"""What `attract train` says while it runs: the plan, waiting for workers, pauses, findings, reports."""

from collections.abc import Callable
from dataclasses import dataclass, field

from attract.commands.train_display import Display, duration, finding_text, lesson_text, log_text
from attract.run.plan_text import plan_lines
from attract.schema.api import Finding, GameReport, LessonView, LogLine, RunView
from attract.schema.base import WireModel
from attract.settings.run import RunSettings

STARTING_SECONDS = 30.0
"""A browser of our own may take so long to start on a busy machine."""
FIRST_LINE_SECONDS = 5.0
"""So long may nothing be said before the first update ..."""
NEXT_LINE_SECONDS = 10.0
"""... and so long between two lines of that."""


@dataclass
class Narrator:
    """Says each thing that happens to a run once; owned by the train command, without I/O or clock."""

    display: Display
    settings: RunSettings
    join_link: Callable[[], str]
    """Makes a link when one is to be shown."""
    has_own: bool
    """Whether a browser was started with the run."""
    due: float
    """Monotonic seconds from which on the way to the first update is told."""
    verbose: bool = False
    _is_plan_said: bool = False
    _pause: str | None = None
    _reported: dict[str, int] = field(default_factory=dict[str, int])
    _had_workers: bool = False
    _waited: float | None = None

    def heard(self, body: WireModel) -> None:
        match body:
            case LessonView():
                self.display.say(lesson_text(body))
            case Finding():
                self.display.say(finding_text(body))
            # A game that fails in every episode is reported at 1, 2, 4, 8, ... failures.
            case GameReport() if body.count >= 2 * self._reported.get(body.fault_id, 0):
                self._reported[body.fault_id] = body.count
                self.display.reported(body)
            case LogLine():
                self.display.say(log_text(body))
            case RunView():
                self._say_pause(body)
            case _:
                pass

    def looked(self, run: RunView, now: float, *, last_left_seconds: float | None, has_workers: bool) -> None:
        """The run as it stands now, several times a second.

        Args:
            run: its view.
            now: monotonic seconds.
            last_left_seconds: since when the fleet has no worker; None: it has some, or never had.
            has_workers: whether it has workers now.
        """
        if not self._is_plan_said and run.description is not None and run.game_reference is not None:
            self._is_plan_said = True
            for line in plan_lines(self.settings, run.description, run.game_reference, verbose=self.verbose):
                self.display.say(line)
        # A run without workers has another line.
        if run.beginning is not None and run.waiting_seconds is None and now >= self.due:
            self.due = now + NEXT_LINE_SECONDS
            self.display.say(run.beginning.text)
        self._had_workers = self._had_workers or last_left_seconds is not None
        self._say_waiting(run.waiting_seconds, has_workers=has_workers)
        self.display.refreshed(run)

    def _say_waiting(self, seconds: float | None, *, has_workers: bool) -> None:
        if seconds is None:
            # A run that is about to end does not wait either.
            if self._waited is not None and has_workers:
                self.display.say(f"workers joined after {duration(self._waited)}")
        elif self._waited is None:
            if self.has_own and not self._had_workers and seconds < STARTING_SECONDS:
                return
            ago = f"the last one left {seconds:.0f} s ago" if self._had_workers else "none has joined yet"
            link = self.join_link()
            self.display.say(f"waiting for workers: {ago}\n  join: {link}\n  or: attract join '{link}'")
        self._waited = seconds

    def _say_pause(self, run: RunView) -> None:
        """Why it is paused, and that it continues; what was said last is not said again."""
        if run.state == "paused":
            now = run.error or "paused: resume it on the dashboard"
        elif run.state in ("running", "evaluating") and self._pause is not None:
            now = None
        else:
            return
        if now != self._pause:
            self.display.say(now or "continuing")
        self._pause = now
