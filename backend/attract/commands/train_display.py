"""Output of `attract train`: a live panel on a terminal, a plain line every few seconds anywhere else."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from attract.commands.output import say
from attract.runs.plain_text import without_commands
from attract.schema.api import CheckFinding, Finding, GameReport, LessonView, LogLine, RunView

PHASES = (
    ("game", "fleet/game_fraction"),
    ("policy", "fleet/inference_fraction"),
    ("waiting", "fleet/wait_fraction"),
)
"""Where the workers' time goes; the learner's share is printed beside it."""


NO_EPISODE = "no episode has ended yet"
LINE_SECONDS = 5.0
LINE_SHARE = 1 / 60
WIDE_COLUMNS = 76
"""A terminal so wide has room for four figures in a row of the panel, a narrower one for two."""
OTHER_REPORTS = {
    "crash": "a worker crashed",
    "update": "an update was reverted",
    "verification": "experience was rejected",
    "check": "check",
    "audit": "what guests play",
    "bounds": "what guests play",
    "quarantine": "a worker is banned",
    "conduct": "a worker plays again",
    "strangers": "no trusted worker has joined",
    "federated": "averaging",
    "outside": "a program that plays",
}
"""Titles of reports that are not about the game, by kind; all other kinds are."""


GENERAL_NAMES = ("Error", "GameError")
"""Error classes without information: those of our own checks, and the generic one."""
WITH_STACK = ("contract", "load", "parameter", "draw-throws")
"""Findings of exceptions; for the others one source line is enough."""
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control and bidirectional characters, which games could use to manipulate a terminal."""


class Display(ABC):
    """Output of the train command while it runs; a context manager."""

    def __init__(self) -> None:
        self._stacks_shown: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        return None

    @abstractmethod
    def updated(self, run: RunView, values: Mapping[str, float]) -> None:
        """One update was committed; `values` are its metrics by name."""

    @abstractmethod
    def refreshed(self, run: RunView) -> None:
        """Nothing new but time: called about four times a second."""

    @abstractmethod
    def say(self, text: str) -> None:
        """One line that stays."""

    @abstractmethod
    def reported(self, report: GameReport) -> None:
        """A game broke, or something else went wrong that the run survived."""

    def _text_of(self, report: GameReport) -> str:
        """Print the report, with its stack unless it was printed before."""
        if report.stack is None or report.stack not in self._stacks_shown:
            self._stacks_shown.add(report.stack or "")
            return report_text(report)
        return report_text(report, again=True)


class PlainDisplay(Display):
    """Lines for logs and pipes: the first update, the first with a return, the last, and some between.

    Between two lines pass at least `LINE_SECONDS` of the run, and `LINE_SHARE` of the time it has taken.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._printed: RunView | None = None
        self._pending: tuple[RunView, Mapping[str, float]] | None = None

    @override
    def __exit__(self, *_exception: object) -> None:
        if self._pending is not None:
            self._print_update(*self._pending)

    @override
    def updated(self, run: RunView, values: Mapping[str, float]) -> None:
        self._pending = run, values
        if self._printed is None or self._is_due(run, self._printed):
            self._print_update(run, values)

    def _is_due(self, run: RunView, printed: RunView) -> bool:
        if run.episode_return_mean is not None and printed.episode_return_mean is None:
            return True
        pause = max(LINE_SECONDS, LINE_SHARE * run.elapsed_seconds)
        return run.elapsed_seconds - printed.elapsed_seconds >= pause

    def _print_update(self, run: RunView, values: Mapping[str, float]) -> None:
        self._printed, self._pending = run, None
        parts = [
            f"update {run.updates}",
            f"{run.agent_steps} steps",
            # The run's own figure is 0 once it has ended, which the last update brings about.
            f"{values.get('fleet/steps_per_second', run.steps_per_second):.0f} steps/s",
            f"{run.elapsed_seconds:.1f} s",
            _return(run),
        ]
        if (left := run.remaining_seconds) is not None:
            parts.append(f"{left:.0f} s left")
        update_seconds = values.get("time/update_seconds")
        if update_seconds is not None:
            parts.append(f"learner {1000 * update_seconds:.0f} ms")
        self._line("  ".join(parts))

    @override
    def refreshed(self, run: RunView) -> None:
        pass

    @override
    def say(self, text: str) -> None:
        self._line(text)

    @override
    def reported(self, report: GameReport) -> None:
        self._line(self._text_of(report))

    def _line(self, text: str) -> None:
        say(self._console, text)


class LiveDisplay(Display):
    """A panel that redraws itself in place."""

    def __init__(self, console: Console, address: str) -> None:
        super().__init__()
        self._console = console
        self._address = address
        self._live = Live(console=console, refresh_per_second=6, transient=False)
        self._values: Mapping[str, float] = {}

    @override
    def __enter__(self) -> Self:
        self._live.start()
        return self

    @override
    def __exit__(self, *_exception: object) -> None:
        self._live.stop()

    @override
    def updated(self, run: RunView, values: Mapping[str, float]) -> None:
        self._values = values
        self.refreshed(run)

    @override
    def refreshed(self, run: RunView) -> None:
        self._live.update(self._panel(run))

    @override
    def say(self, text: str) -> None:
        # The terminal wraps it, so that a long link stays one link. `soft_wrap` would unwrap the panel too,
        # and without the group `print` wraps the text itself.
        self._console.print(Group(Text(text, no_wrap=True, overflow="ignore")), crop=False)

    @override
    def reported(self, report: GameReport) -> None:
        title = report_title(report)
        style = "yellow" if report.kind == "check" else "red"
        self._console.print(Panel(escape(self._text_of(report)), title=escape(title), border_style=style))

    def _panel(self, run: RunView) -> Panel:
        left = run.remaining_seconds
        goal = "" if run.goal is None else f" of {run.goal:g}"
        ended = run.episode_return_mean is not None
        cells = [
            _labelled("return", f"{number(run.episode_return_mean)}{goal}" if ended else NO_EPISODE),
            _labelled("steps/s", f"{run.steps_per_second:,.0f}"),
            _labelled("elapsed", duration(run.elapsed_seconds)),
            Text() if left is None else _labelled("remaining", duration(left)),
            _labelled("steps", f"{run.agent_steps:,}"),
            _labelled("updates", f"{run.updates:,}"),
            _labelled("episodes", f"{run.episodes:,}"),
            _labelled("policy", f"v{run.policy_version}"),
        ]
        num_columns = 4 if self._console.width >= WIDE_COLUMNS else 2
        table = Table.grid(padding=(0, 3))
        for first in range(0, len(cells), num_columns):
            table.add_row(*cells[first : first + num_columns])
        rows = Table.grid()
        rows.add_row(table)
        share = run.progress_share
        if share is not None:
            rows.add_row(ProgressBar(total=1.0, completed=share, width=60))
        rows.add_row(self._time_line())
        waits = run.waiting_seconds
        state = run.state if waits is None else f"waiting for workers ({duration(waits)})"
        title = f"[bold]{escape(run.run_id)}[/] · {state}"
        return Panel(rows, title=title, subtitle=escape(self._address), border_style="cyan")

    def _time_line(self) -> Text:
        shares = [
            f"{label} {100 * self._values[name]:.0f} %" for label, name in PHASES if name in self._values
        ]
        update_seconds = self._values.get("time/update_seconds")
        if update_seconds is not None:
            shares.append(f"learner {1000 * update_seconds:.0f} ms an update")
        return Text("time: " + (", ".join(shares) if shares else "waiting for the first update"), style="dim")


def create_display(console: Console, address: str) -> Display:
    """The live panel when `console` is a terminal, else plain lines."""
    return LiveDisplay(console, address) if console.is_terminal else PlainDisplay(console)


def duration(seconds: float) -> str:
    """Text such as `1:02:03` or `0:42`."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def report_title(report: GameReport) -> str:
    """Short title of a report; it names the game only if the game is at fault."""
    return OTHER_REPORTS.get(report.kind, f"the game failed ({report.kind})")


def report_text(report: GameReport, *, again: bool = False) -> str:
    """A report as lines one can act on: what, where, and the stack where there is one.

    `again`: what has been told of it before, or of another with the same stack, is left out.
    """
    where = ", ".join(
        f"{label} {value}"
        for label, value in (
            ("worker", report.worker_index),
            ("slot", report.slot_id),
            ("episode", report.episode),
            ("tick", report.tick),
            ("seed", report.seed),
        )
        if value is not None
    )
    is_named = report.kind in OTHER_REPORTS or report.name in (*report.text.split(": "), *GENERAL_NAMES)
    what = report.text if is_named else f"{report.name}: {report.text}"
    times = f" ({report.count} times so far)" if report.count > 1 else ""
    suffix = f" [{report.name}]" if report.kind == "check" else ""
    lines = [f"{report_title(report)}: {what}{times}{suffix}"]
    if again or report.count > 1:
        return printable(lines[0])
    if where:
        lines.append(f"  {where}")
    if report.step_values:
        lines.append(f"  {report.step_values}")
    if report.fix:
        lines.append(f"  {report.fix}")
    if report.stack:
        lines.append(report.stack)
    elif report.kind == "hang":
        lines.append("no stack: the game's call never returned")
    return printable("\n".join(lines))


def check_text(finding: CheckFinding) -> str:
    """A finding as compilers print theirs: place, severity, what is wrong, its id, and below what to do."""
    place = "" if finding.file is None else f"{finding.file}:{finding.line}:{finding.column}: "
    lines = [f"{place}{finding.severity}: {finding.text} [{finding.id}]", f"  {finding.fix}"]
    if finding.stack is not None and finding.id in WITH_STACK:
        lines.append(finding.stack)
    return printable("\n".join(lines))


def log_text(line: LogLine) -> str:
    """A line that a game wrote to its console, marked as such."""
    level = "" if line.level in ("log", "info") else f" ({line.level})"
    dropped = f"game: ({line.dropped} lines left out)\n" if line.dropped else ""
    text = line.text.replace("\n", "\n      ")
    return printable(f"{dropped}game{level}: {text}")


def printable(text: str) -> str:
    """`text` with every character that a terminal would obey written out, but line ends and tabs."""
    return without_commands(UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text))


def finding_text(finding: Finding) -> str:
    """The lines about a finding, or that it is resolved."""
    if finding.withdrawn:
        return f"resolved: {finding.text} ({finding.finding_id})"
    look = "not learning?" if finding.kind == "learning" else "slow?"
    return f"{look} {finding.text} ({finding.finding_id}).\n  {finding.advice}."


def lesson_text(lesson: LessonView) -> str:
    """The line about a change of lesson."""
    why = "" if lesson.reason is None else f": {lesson.reason}"
    return (
        f"lesson {lesson.number} of {lesson.num_lessons}, {lesson.name}, "
        f"after episode {lesson.global_episode_index} and {lesson.agent_steps} steps{why}"
    )


def _labelled(label: str, value: str) -> Text:
    return Text.assemble((f"{label} ", "dim"), (value, "bold"))


def _return(run: RunView) -> str:
    mean = run.episode_return_mean
    return NO_EPISODE if mean is None else f"return {number(mean)}"


def number(value: float | None) -> str:
    """Four digits; `-` for None."""
    return "-" if value is None else f"{value:.4g}"
