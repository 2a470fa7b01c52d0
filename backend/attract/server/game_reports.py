"""Reports of a game that broke: source-mapped, the same one counted and not repeated."""

from collections.abc import Callable

from attract.schema.api import GameReport

MAX_REPORTS = 50


class GameReports:
    """Owned by the active run; `map_stack` turns bundle positions into the author's."""

    def __init__(self, map_stack: Callable[[str], str]) -> None:
        self._map_stack = map_stack
        self._reports: list[GameReport] = []

    def add(self, report: GameReport) -> GameReport:
        """Take a report; the one to show: mapped, with how often it came. Past 50 kinds the oldest goes."""
        if report.stack is not None:
            report = report.model_copy(update={"stack": self._map_stack(report.stack)})
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
