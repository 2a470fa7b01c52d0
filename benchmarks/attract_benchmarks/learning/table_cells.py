"""Cells that the tables of results have in common."""

from collections import Counter
from collections.abc import Sequence
from statistics import mean

from attract_benchmarks.learning.plan import Run, Variant
from attract_benchmarks.learning.record import Record, Row

MISSING = "not run"


def returns(rows: Sequence[Row | None]) -> str:
    """Mean and standard error of each."""
    digits = 2 if mean([abs(row.return_mean) for row in rows if row is not None] or [10.0]) < 2 else 1
    return ", ".join(
        MISSING if row is None else f"{row.return_mean:.{digits}f} +- {row.standard_error:.{digits}f}"
        for row in rows
    )


def verdict(variant: Variant, rows: Sequence[Row | None]) -> str:
    """`yes` or `no` over all seeds; open while one that could still fail is missing."""
    misses = [
        row.return_mean < variant.target
        if variant.target_is == "at least"
        else row.return_mean > variant.target
        for row in rows
        if row is not None
    ]
    if any(misses):
        return "no"
    return "yes" if len(misses) == len(rows) else "open"


def states(record: Record, runs: Sequence[Run]) -> str:
    """Which states of the code our rows were made by, with how many each; empty where none is done."""
    rows = [record.get(run) for run in runs if run.baseline is None]
    counts = Counter(row.code or "an older state, not kept" for row in rows if row is not None)
    if not counts:
        return ""
    said = ", ".join(f"{code} ({count})" for code, count in counts.most_common())
    return f"Our rows by the state of the code: {said}."
