"""Reports of a game that broke: in its author's own places, all of one fault counted as one."""

import hashlib
import re
from collections.abc import Callable
from typing import Final

from attract.games.places import first_place
from attract.schema.api import GameReport
from attract.schema.game_messages import MethodSource

MAX_REPORTS = 50

NAMES_VISITOR: Final = frozenset({"audit", "bounds", "quarantine", "conduct"})
"""Kinds whose text names who it is about: two of them that differ are two."""
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

        Two are the same fault where they differ in numbers alone, or where one is what a check says of it.
        """
        own = None if report.kind == "check" else self._own_stack(report.stack, method)
        # What a check found is mapped already; a crash without a frame of the game's is ours to mend.
        if own is not None or report.kind not in ("check", "crash"):
            report = report.model_copy(update={"stack": own})
        place = first_place(report.stack)
        report = report.model_copy(update={"place": None if place is None else str(place)})
        worker = set() if report.worker_index is None else {(report.host_id, report.worker_index)}
        for index, known in enumerate(self._reports):
            if _is_same(known, report):
                self._workers[index] |= worker
                joined = _joined(known, report, num_workers=len(self._workers[index]))
                self._reports[index] = joined
                return joined
        fault_id = hashlib.sha256(repr(_key(report)).encode()).hexdigest()[:16]
        report = report.model_copy(update={"num_workers": len(worker), "fault_id": fault_id})
        self._reports.append(report)
        self._workers.append(worker)
        del self._reports[:-MAX_REPORTS], self._workers[:-MAX_REPORTS]
        return report

    def with_episode(self, report: GameReport, episode_id: str) -> GameReport | None:
        """The report as it stands now, with the episode that failed; None: it is shown no more."""
        for index, known in enumerate(self._reports):
            if known.fault_id == report.fault_id:
                self._reports[index] = known.model_copy(update={"episode_id": episode_id})
                return self._reports[index]
        return None

    def all(self) -> list[GameReport]:
        """Every report, oldest first."""
        return list(self._reports)


def _is_same(one: GameReport, other: GameReport) -> bool:
    if (one.kind == "check") is (other.kind == "check"):
        return _key(one) == _key(other)
    if None not in (one.place, other.place) and one.place != other.place:
        return False
    short, long = sorted((_without_numbers(one.text), _without_numbers(other.text)), key=len)
    return short in long


def _joined(known: GameReport, report: GameReport, *, num_workers: int) -> GameReport:
    """One report of what was known and came again; what a game threw says more than the check of it."""
    first, is_counted = known, report.kind != "check" and report.repeated == 0
    count = known.count + report.count * is_counted
    if known.kind == "check" and report.kind != "check":
        first, count = report, report.count
    update = {
        "count": count,
        "num_workers": num_workers,
        "fault_id": known.fault_id,
        "fix": known.fix or report.fix,
        "worker_lost": known.worker_lost or report.worker_lost,
        "run_error": report.run_error or known.run_error,
    }
    return first.model_copy(update=update)


def _key(report: GameReport) -> tuple[str | None, ...]:
    text = report.text if report.kind in NAMES_VISITOR else _without_numbers(report.text)
    return (report.kind, report.name, report.place, text)


def _without_numbers(text: str) -> str:
    return NUMBER.sub("#", text)
