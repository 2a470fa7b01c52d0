"""The report of `attract difficulty` as one HTML file: a chart and the table."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from attract.playtest.difficulty import DifficultyReport, Estimate, ValueDifficulty

WIDTH, HEIGHT, MARGIN = 720, 320, 48
TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
Row = ValueDifficulty
CURVES: Final[tuple[tuple[str, str, Callable[[Row], Estimate | None]], ...]] = (
    ("difficulty", "#b3261e", lambda row: row.difficulty),
    ("win rate", "#1a6fb3", lambda row: row.win_rate),
)
STYLE: Final = (
    "body{font:15px system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}"
    "th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ddd}"
    "svg{width:100%;height:auto}.outside{background:#fde7e5}"
)


def page_of(report: DifficultyReport) -> str:
    """The whole document; it loads nothing."""
    head = "".join(
        f"<th>{escape(name)}</th>"
        for name in (report.parameter, "difficulty", "win rate", "attempts", "return", "length", "bands")
    )
    body = "".join(map(_row, report.values))
    title = f"{escape(report.game)}: difficulty by {escape(report.parameter)}"
    who = "trained players" if report.learned else "players without training"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
        f"<h1>{title}</h1>{chart(report)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{report.seeds} seeds of each of {len(report.players)} {who} at each value; 95 % intervals. "
        "Relative between settings of this game; not what people will do.</p></html>\n"
    )


def chart(report: DifficultyReport) -> str:
    """SVG of difficulty and win rate over the values, with their intervals as areas."""
    values = [row.value for row in report.values]
    low, span = values[0], values[-1] - values[0]

    def x(value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / span

    def y(share: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="12">']
    for tick in TICKS:
        parts.append(
            f'<path d="M{MARGIN} {y(tick):.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    for value in values:
        parts.append(
            f'<text x="{x(value):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{value:g}</text>'
        )
    parts.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(report.parameter)}</text>'
    )
    for place, (name, color, number) in enumerate(CURVES):
        found = [(row.value, estimate) for row in report.values if (estimate := number(row)) is not None]
        if not found:
            continue
        top = [(x(value), y(_or(estimate.high, estimate.mean))) for value, estimate in found]
        bottom = [(x(value), y(_or(estimate.low, estimate.mean))) for value, estimate in reversed(found)]
        line = [(x(value), y(_or(estimate.mean, 0.0))) for value, estimate in found]
        parts.append(
            f'<polygon points="{_points([*top, *bottom])}" fill="{color}" opacity="0.15"/>'
            f'<polyline points="{_points(line)}" fill="none" stroke="{color}" stroke-width="2"/>'
            f'<text x="{MARGIN + 110 * place}" y="24" fill="{color}">{name}</text>'
        )
    return "".join(parts) + "</svg>"


def _row(row: Row) -> str:
    numbers = (row.difficulty, row.win_rate, row.attempts, row.episode_return, row.length)
    outside = ", ".join(f"{name} {state}" for name, state in row.outside.items())
    mark = ' class="outside"' if any(state != "unsure" for state in row.outside.values()) else ""
    cells = "".join(f"<td>{_ranged(number)}</td>" for number in numbers)
    return f"<tr{mark}><td>{row.value:g}</td>{cells}<td>{outside}</td></tr>"


def _ranged(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    mean, low, high = (
        "?" if number is None else f"{number:.3g}" for number in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} ({low} to {high})"


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _or(number: float | None, other: float | None) -> float:
    return number if number is not None else other or 0.0
