"""What `attract bench` and `attract results` are called with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract_benchmarks import results
from attract_benchmarks.results import ResultsOptions


def test_bench_lists_its_figures_and_measures_none(
    attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert attract("bench", "--list") == 0
    output = capsys.readouterr()
    assert "learner/" in output.out and output.err == ""


def test_results_are_told_where_runs_and_the_table_are(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    orders: list[ResultsOptions] = []

    def make_results(order: ResultsOptions, say: Callable[[str], None]) -> int:
        orders.append(order)
        return 0

    monkeypatch.setattr(results, "make_results", make_results)
    words = ("--suite", "defaults", "--only", "snake", "--seed", "2", "--scale", "0.5")
    assert attract("results", *words, "--runs-dir", str(tmp_path)) == 0
    assert orders == [
        ResultsOptions(Path("docs/notebook/results.md"), tmp_path, "defaults", "snake", 2, 0.5, None)
    ]
