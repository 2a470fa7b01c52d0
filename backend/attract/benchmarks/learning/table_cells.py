"""Cells that the tables of results have in common."""

from collections.abc import Sequence
from statistics import mean

from attract.benchmarks.learning.plan import Variant
from attract.benchmarks.learning.record import Row

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
        row.return_mean < variant.bar if variant.bar_is == "at least" else row.return_mean > variant.bar
        for row in rows
        if row is not None
    ]
    if any(misses):
        return "no"
    return "yes" if len(misses) == len(rows) else "open"
