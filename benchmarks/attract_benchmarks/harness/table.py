"""Figures as text: a table for the terminal, and what got slower since an earlier run."""

from collections.abc import Mapping

from attract_benchmarks.harness.figure import Figure

SLOWER = 0.9
"""A figure below this share of the earlier one is called slower; between it and its inverse, equal."""


def table(figures: Mapping[str, Figure]) -> str:
    """One line per figure: value, spread over the rounds, ratio and what it is against."""
    head = ("figure", "value", "rounds", "ratio", "against")
    rows = [
        (
            name,
            f"{_number(figure.value)} {figure.unit}",
            f"{_number(min(figure.rounds))} to {_number(max(figure.rounds))}",
            "" if figure.ratio is None else f"{figure.ratio:.2f}",
            figure.against,
        )
        for name, figure in figures.items()
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )


def comparison(now: Mapping[str, Figure], earlier: Mapping[str, Figure]) -> tuple[str, list[str]]:
    """A table of this run beside an earlier one, and the names of the figures that got slower.

    Ratios are compared where both runs have them: values hold on one machine only.
    """
    lines: list[str] = []
    slower: list[str] = []
    width = max((len(name) for name in now), default=0)
    for name, figure in now.items():
        before = earlier.get(name)
        if before is None:
            lines.append(f"{name.ljust(width)}  new")
            continue
        by_ratio = figure.ratio is not None and before.ratio is not None
        if by_ratio:
            new, old = figure.ratio or 0.0, before.ratio or 0.0
        else:
            new, old = figure.value, before.value
        higher_is_better = by_ratio or figure.better == "higher"
        change = _change(new, old, higher_is_better=higher_is_better)
        verdict = "slower" if change < SLOWER else "faster" if change > 1 / SLOWER else "equal"
        if verdict == "slower":
            slower.append(name)
        kind = "ratio" if by_ratio else figure.unit
        lines.append(f"{name.ljust(width)}  {_number(old)} -> {_number(new)} {kind}  {verdict}")
    missing = [name for name in earlier if name not in now]
    lines.extend(f"{name.ljust(width)}  not measured this time" for name in missing)
    return "\n".join(lines), slower


def _change(new: float, old: float, *, higher_is_better: bool) -> float:
    best, worst = (new, old) if higher_is_better else (old, new)
    return best / worst if worst > 0 else 1.0


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
