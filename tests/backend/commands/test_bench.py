"""`attract bench` as a whole: what is kept and said when a part of it fails."""

import json
from pathlib import Path

import pytest

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.commands import bench as command
from attract.commands.bench import EXIT_FAILED, BenchCommandOptions, read_figures, run_bench


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
