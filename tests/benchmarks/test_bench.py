"""`attract bench` as a whole: what is kept and said when a part of it fails."""

import json
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks import bench as command
from attract_benchmarks.bench import EXIT_FAILED, BenchCommandOptions, read_figures, run_bench
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure


def _broken(options: BenchOptions) -> dict[str, Figure]:
    raise TimeoutError("no worker came")


def _whole(options: BenchOptions) -> dict[str, Figure]:
    return {"parts/whole": Figure.of([2.0, 3.0, 4.0], "steps/s")}


def test_a_measure_that_fails_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Named, with why; the others are measured and kept; the exit code tells a script."""
    measures = (Measure(("parts/broken",), "breaks", _broken), Measure(("parts/whole",), "is whole", _whole))
    monkeypatch.setattr(command, "MEASURES", measures)
    said: list[str] = []
    printed: list[str] = []
    order = BenchCommandOptions(BenchOptions(), json_output=True, out=tmp_path / "kept" / "now.json")

    code = run_bench(order, said.append, printed.append)

    assert code == EXIT_FAILED
    assert said[-1] == "parts/broken failed: TimeoutError: no worker came"
    assert list(json.loads(printed[0])["figures"]) == ["parts/whole"]
    assert read_figures(tmp_path / "kept" / "now.json")["parts/whole"].value == 3.0


def measured(monkeypatch: pytest.MonkeyPatch, *measures: Measure) -> tuple[int, list[str], dict[str, object]]:
    """What a benchmark of these ends with, says and prints."""
    monkeypatch.setattr(command, "MEASURES", measures)
    said: list[str] = []
    printed: list[str] = []
    code = run_bench(
        BenchCommandOptions(BenchOptions(), peers=True, json_output=True), said.append, printed.append
    )
    return code, said, json.loads(printed[0])["figures"]


def test_a_baseline_that_is_hard_to_build_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hard = Measure(
        ("parts/hard",),
        "is hard",
        _broken,
        needs=("no_such_package",),
        by_default=False,
        reason_left_out="it is not built",
    )
    whole = Measure(("parts/whole",), "is whole", _whole)
    code, said, figures = measured(monkeypatch, hard, whole)
    assert code == 0
    assert list(figures) == ["parts/whole"]
    assert said[0] == "parts/hard is left out: it is not built"


def test_a_package_that_pip_installs_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    needy = Measure(("parts/needy",), "needs", _whole, needs=("no_such_package",), by_default=False)
    with pytest.raises(ConfigurationError, match="no_such_package"):
        measured(monkeypatch, needy)


def test_a_benchmark_of_nothing_but_what_is_left_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = Measure(
        ("parts/hard",), "is hard", _broken, needs=("no_such_package",), reason_left_out="it is hard"
    )
    with pytest.raises(ConfigurationError, match="nothing is left to measure"):
        measured(monkeypatch, hard)
