"""Reports of a game that broke: in its author's own places, the same one counted and not repeated."""

import re
from collections.abc import Callable
from typing import Final

from attract.schema.api import GameReport
from attract.schema.game_messages import MethodSource

MAX_REPORTS = 50

NAMES_VISITOR: Final = frozenset({"audit", "bounds", "quarantine", "conduct"})
"""Kinds whose text names who it is about: two of them that differ are two."""
REPEATED = re.compile(r"^the game failed \d+ times \(\w+\), the last time with: ")
"""What a worker that gives up puts before the words of the failure."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?(?!\w)")

OwnStack = Callable[[str | None, MethodSource | None], str | None]
"""Reduces a stack, and the failed method's place, to the author's own files; None: nothing lies there."""


class GameReports:
    """Faults of a run's game, one entry per fault; owned by the active run."""

    def __init__(self, own_stack: OwnStack) -> None:
        self._own_stack = own_stack
        self._reports: list[GameReport] = []
        self._workers: list[set[tuple[str | None, int]]] = []
        """Per report, the workers that it came from."""

    def add(self, report: GameReport, method: MethodSource | None = None) -> GameReport:
        """Take a report; the one to show: mapped, with how often it came. Past 50 kinds the oldest goes.

        Two are the same fault where their texts differ in numbers alone.
        """
        own = None if report.kind == "check" else self._own_stack(report.stack, method)
        # What a check found is mapped already; a crash without a frame of the game's is ours to mend.
        if own is not None or report.kind not in ("check", "crash"):
            report = report.model_copy(update={"stack": own})
        worker = None if report.worker_index is None else (report.host_id, report.worker_index)
        for index, known in enumerate(self._reports):
            if _is_same(known, report):
                self._workers[index] |= set() if worker is None else {worker}
                update = {"count": known.count + report.count, "num_workers": len(self._workers[index])}
                self._reports[index] = known.model_copy(update=update)
                return self._reports[index]
        report = report.model_copy(update={"num_workers": int(worker is not None)})
        self._reports.append(report)
        self._workers.append(set() if worker is None else {worker})
        del self._reports[:-MAX_REPORTS], self._workers[:-MAX_REPORTS]
        return report

    def with_episode(self, report: GameReport, episode_id: str) -> GameReport | None:
        """The report as it stands now, with the episode that failed; None: it is shown no more."""
        for index, known in enumerate(self._reports):
            if _is_same(known, report):
                self._reports[index] = known.model_copy(update={"episode_id": episode_id})
                return self._reports[index]
        return None

    def all(self) -> list[GameReport]:
        """Every report, oldest first."""
        return list(self._reports)


def _is_same(one: GameReport, other: GameReport) -> bool:
    if (one.kind, one.name) != (other.kind, other.name) or _place(one) != _place(other):
        return False
    return one.text == other.text or (
        one.kind not in NAMES_VISITOR and _without_numbers(one.text) == _without_numbers(other.text)
    )


def _without_numbers(text: str) -> str:
    return NUMBER.sub("#", REPEATED.sub("", text))


def _place(report: GameReport) -> str | None:
    """The line that threw."""
    return None if report.stack is None else report.stack.strip().splitlines()[0]
