"""Reports of a game that broke: in its author's own places, the same one counted and not repeated."""

from collections.abc import Callable

from attract.schema.api import GameReport
from attract.schema.game_messages import MethodSource

MAX_REPORTS = 50

OwnStack = Callable[[str | None, MethodSource | None], str | None]
"""Reduces a stack, and the failed method's place, to the author's own files; None: nothing lies there."""


class GameReports:
    """Owned by the active run."""

    def __init__(self, own_stack: OwnStack) -> None:
        self._own_stack = own_stack
        self._reports: list[GameReport] = []

    def add(self, report: GameReport, method: MethodSource | None = None) -> GameReport:
        """Take a report; the one to show: mapped, with how often it came. Past 50 kinds the oldest goes."""
        own = None if report.kind == "check" else self._own_stack(report.stack, method)
        # What a check found is mapped already; a crash without a frame of the game's is ours to mend.
        if own is not None or report.kind not in ("check", "crash"):
            report = report.model_copy(update={"stack": own})
        for index, known in enumerate(self._reports):
            if (known.kind, known.name, known.text) == (report.kind, report.name, report.text):
                self._reports[index] = known.model_copy(update={"count": known.count + report.count})
                return self._reports[index]
        self._reports.append(report)
        del self._reports[:-MAX_REPORTS]
        return report

    def all(self) -> list[GameReport]:
        """Every report, oldest first."""
        return list(self._reports)
