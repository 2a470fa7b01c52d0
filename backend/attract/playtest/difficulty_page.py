"""The report of `attract difficulty` as one HTML file: a chart and the table."""

from collections.abc import Callable, Sequence
from typing import Final

from attract.playtest.difficulty import DifficultyReport, Estimate, ValueDifficulty
from attract.playtest.templates import html_text, rendered

WIDTH, HEIGHT, MARGIN = 720, 320, 48
CURVES: Final[tuple[tuple[str, str, Callable[[ValueDifficulty], Estimate | None]], ...]] = (
    ("difficulty", "#b3261e", lambda row: row.difficulty),
    ("win rate", "#1a6fb3", lambda row: row.win_rate),
)


def page_of(report: DifficultyReport) -> str:
    """The whole document, which loads nothing: the chart has difficulty and win rate with their intervals."""
    low, span = report.values[0].value, report.values[-1].value - report.values[0].value

    def x(value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / span

    def y(share: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    def points(places: Sequence[tuple[float, float | None]]) -> str:
        return " ".join(f"{x(value):.1f},{y(share or 0.0):.1f}" for value, share in places)

    curves: list[tuple[str, str, str, str]] = []
    for name, color, number in CURVES:
        found = [(row.value, each) for row in report.values if (each := number(row)) is not None]
        highs = [(value, each.mean if each.high is None else each.high) for value, each in found]
        lows = [(value, each.mean if each.low is None else each.low) for value, each in reversed(found)]
        line = [(value, each.mean) for value, each in found]
        curves.append((name, color, points([*highs, *lows]), points(line)))
    return rendered(
        "difficulty.html.j2", html_text,
        report=report, curves=curves, x=x, y=y, width=WIDTH, height=HEIGHT, margin=MARGIN,
    )  # fmt: skip
