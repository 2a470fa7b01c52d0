"""`attract results`: which runs are done, what of them is kept, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract.errors import AttractError, ConfigurationError
from attract_benchmarks import results
from attract_benchmarks.results import ResultsOptions, make_results

TRAINED = {"agent_steps": 1000, "wall_seconds": 2.0, "steps_per_second": 500.0, "export": None}


class Machine:
    """Stands in for the processes that train and play; what they were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.failing: str | None = None
        monkeypatch.setattr(results, "attract", self.attract)
        monkeypatch.setattr(results, "json_of", self.json_of)

    def attract(self, *arguments: str, runs_dir: Path, accepted: Any = (0,)) -> dict[str, Any]:
        self.asked.append(arguments)
        if self.failing is not None and self.failing in arguments:
            raise AttractError("it broke")
        if arguments[0] == "train":
            return dict(TRAINED)
        return {"return_mean": 20.0, "return_std": 4.0, "episodes": 500}

    def json_of(self, command: Any, given: str | None = None) -> dict[str, Any]:
        self.asked.append(("baseline", str(json.loads(given or "{}")["seed"])))
        return {
            "agent_steps": 1000,
            "wall_seconds": 4.0,
            "steps_per_second": 250.0,
            "return_mean": 19.0,
            "return_std": 1.0,
            "episodes": 500,
        }


def options(tmp_path: Path, **changes: Any) -> ResultsOptions:
    values: dict[str, Any] = {
        "out": tmp_path / "results.md",
        "runs_dir": tmp_path / "runs",
        "only": "cartpole",
        "seed": 1,
        "scale": 0.01,
    }
    return ResultsOptions(**values | changes)


def test_each_run_is_done_once_and_what_is_recorded_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    machine = Machine(monkeypatch)
    said: list[str] = []
    assert make_results(options(tmp_path), said.append) == 0
    trained = [words for words in machine.asked if words[0] == "train"]
    assert len(trained) >= 1
    assert all("--seed" in words and words[words.index("--seed") + 1] == "1" for words in trained)
    page = (tmp_path / "results.md").read_text().splitlines()
    (row,) = [line for line in page if line.startswith("| CartPole |")]
    # The seed that was run, of three.
    assert "20.0" in row
    assert row.count("not run") == 4
    assert "cartpole" in (tmp_path / "results.json").read_text()
    assert said[-1] == f"wrote {tmp_path / 'results.md'}"
    count = len(machine.asked)
    assert make_results(options(tmp_path), said.append) == 0
    assert len(machine.asked) == count


def test_those_before_a_run_that_fails_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    machine = Machine(monkeypatch)
    machine.failing = "eval"
    with pytest.raises(AttractError, match="it broke"):
        make_results(options(tmp_path), lambda _line: None)
    machine.failing = None
    before = len(machine.asked)
    make_results(options(tmp_path), lambda _line: None)
    assert len(machine.asked) > before


def test_a_task_there_is_not_and_a_factor_for_bundled_games_are_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError):
        make_results(options(tmp_path, only="no-such-task"), lambda _line: None)
    with pytest.raises(ConfigurationError, match="their own rewards"):
        make_results(options(tmp_path, reward_scale=10.0), lambda _line: None)


def test_packages_of_the_baseline_that_are_missing_are_named_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    machine = Machine(monkeypatch)
    monkeypatch.setattr(results, "BASELINE_PACKAGES", ("stable_baselines3", "no_such_package"))
    with pytest.raises(ConfigurationError, match="not installed: no_such_package") as refused:
        make_results(options(tmp_path), lambda _line: None)
    assert "attract-rl[results]" in str(refused.value)
    assert machine.asked == []
