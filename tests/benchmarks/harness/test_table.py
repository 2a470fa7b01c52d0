"""What the benchmark prints, and what it calls slower."""

from pathlib import Path

import pytest

from attract.errors import AttractError, ConfigurationError
from attract_benchmarks.bench import read_figures
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import Measure, choose
from attract_benchmarks.harness.table import comparison, table


def figure(value: float, ratio: float | None = None, *, better: str = "higher") -> Figure:
    return Figure(value=value, unit="ms", rounds=(value,), ratio=ratio, better=better)  # pyright: ignore[reportArgumentType]


def test_a_figure_is_the_median_of_its_rounds_and_of_its_ratios() -> None:
    made = Figure.of([3.0, 1.0, 2.0], "ms", ratios=[0.5, 0.9, 0.6])
    assert (made.value, made.ratio, made.rounds) == (2.0, 0.6, (3.0, 1.0, 2.0))


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = table({"a/b": figure(12345.6, 0.5), "c": figure(0.01234)}).splitlines()
    assert lines[1].split() == ["a/b", "12,346", "ms", "12,346", "to", "12,346", "0.50"]
    assert lines[2].split() == ["c", "0.0123", "ms", "0.0123", "to", "0.0123"]


@pytest.mark.parametrize(
    ("now", "earlier", "slower"),
    [
        (figure(1.0, 0.5), figure(1.0, 0.8), True),
        (figure(0.1, 0.8), figure(1.0, 0.8), False),
        (figure(10.0), figure(5.0), False),
        (figure(10.0, better="lower"), figure(5.0, better="lower"), True),
        (figure(1.0), figure(1.02), False),
    ],
)
def test_slower_means_a_worse_ratio_or_without_one_a_worse_value(
    now: Figure, earlier: Figure, slower: bool
) -> None:
    assert comparison({"x": now}, {"x": earlier})[1] == (["x"] if slower else [])


def test_what_was_not_measured_this_time_is_named() -> None:
    text, slower = comparison({"new": figure(1.0)}, {"old": figure(1.0)})
    assert [line.split(maxsplit=1) for line in text.splitlines()] == [
        ["new", "new"],
        ["old", "not measured this time"],
    ]
    assert slower == []


def measure(*names: str, by_default: bool = True, needs: tuple[str, ...] = ()) -> Measure:
    return Measure(names, "", lambda _options: {}, needs=needs, by_default=by_default)


def test_measures_are_chosen_by_figure_by_part_and_by_default() -> None:
    every = [
        measure("publish/p50_ms", "publish/p99_ms"),
        measure("solve/x", by_default=False, needs=("sb3",)),
    ]
    assert choose(every, only=[], peers=False) == every[:1]
    assert choose(every, only=[], peers=True) == every
    assert choose(every, only=["publish/p99_ms"], peers=False) == every[:1]
    assert choose(every, only=["solve"], peers=False) == every[1:]


def test_an_unknown_figure_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'publish'"):
        choose([measure("publish/p50_ms")], only=["publsh"], peers=False)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        ("", "is empty"),
        ("[]", "must hold a JSON object"),
        ('{"figures": {"a": 1}}', "not a result of `attract bench`"),
        ('{"figures": {"a": {"value": "x"}}}', "not a result of `attract bench`"),
    ],
)
def test_a_file_that_is_no_earlier_result_is_refused(tmp_path: Path, content: str, refusal: str) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(content)
    with pytest.raises(AttractError, match=refusal):
        read_figures(path)
