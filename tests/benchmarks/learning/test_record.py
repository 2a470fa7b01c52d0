"""A finished run is kept on disk, and forgotten once its steps or flags are others."""

import dataclasses
import json
from pathlib import Path

import pytest

from attract_benchmarks.learning.plan import plan_runs
from attract_benchmarks.learning.record import Finding, Record, Row

RUN = plan_runs(only="memory", seed=1)[1]
ROW = Row(
    steps=RUN.steps,
    flags=list(RUN.flags),
    agent_steps=100_352,
    wall_seconds=12.5,
    return_mean=0.51,
    return_std=0.5,
    episodes=RUN.episodes,
    steps_per_second=8028.0,
)


def test_a_run_that_was_put_is_there_for_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "results.json"
    record = Record(path)
    assert record.get(RUN) is None
    record.put(RUN, ROW, "2 cores")
    again = Record(path)
    assert again.get(RUN) == ROW
    assert again.machine == "2 cores"
    assert [found.name for found in path.parent.iterdir()] == ["results.json"]


def test_other_steps_or_flags_are_another_run(tmp_path: Path) -> None:
    record = Record(tmp_path / "results.json")
    record.put(RUN, ROW, "2 cores")
    assert record.get(dataclasses.replace(RUN, steps=RUN.steps + 1)) is None
    assert record.get(dataclasses.replace(RUN, flags=())) is None
    assert record.get(dataclasses.replace(RUN, seed=2)) is None
    assert record.get(RUN) == ROW


def test_a_run_judged_by_fewer_episodes_is_judged_again(tmp_path: Path) -> None:
    record = Record(tmp_path / "results.json")
    record.put(RUN, dataclasses.replace(ROW, episodes=RUN.episodes - 1), "2 cores")
    assert record.get(RUN) is None
    record.put(RUN, dataclasses.replace(ROW, episodes=RUN.episodes + 1), "2 cores")
    assert record.get(RUN) is not None


def test_correctness_5_a_mean_has_the_standard_error_of_its_episodes() -> None:
    # Pendulum's, of the referee: a mean over 100 starts scatters by 11.
    assert dataclasses.replace(ROW, return_std=107.2, episodes=100).standard_error == pytest.approx(10.72)
    assert dataclasses.replace(ROW, return_std=107.2, episodes=400).standard_error == pytest.approx(5.36)


def test_what_a_run_said_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    said = dataclasses.replace(ROW, findings=[Finding("reward-constant", 4096, "--preset long-run")])
    Record(path).put(RUN, said, "2 cores")
    assert Record(path).get(RUN) == said


def test_a_record_of_before_findings_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Record(path).put(RUN, ROW, "2 cores")
    data = json.loads(path.read_text())
    del data["rows"][RUN.key]["findings"]
    path.write_text(json.dumps(data))
    assert Record(path).get(RUN) == ROW
