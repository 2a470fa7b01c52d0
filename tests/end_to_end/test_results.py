"""`attract results` really trains, beside a really trained rival, and does nothing twice."""

import json
from pathlib import Path

from attract_command import run_attract


def test_a_task_is_trained_with_its_rival_once(tmp_path: Path) -> None:
    out = tmp_path / "docs" / "results.md"
    command = ("results", "--only", "pendulum", "--seed", "1", "--scale", "0.01", "--out", str(out))
    first = run_attract(*command, runs_dir=tmp_path / "runs")
    assert first.code == 0, first.stderr
    rows = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert rows.keys() == {"pendulum-mlp-1", "pendulum-sb3-1"}
    for row in rows.values():
        assert row["steps"] == 3000
        assert row["agent_steps"] >= 3000
        assert row["episodes"] == 100
        # What Pendulum pays in 200 steps, whatever one does.
        assert -16.3 * 200 < row["return_mean"] < 0
        assert row["return_std"] > 0
    line = next(line for line in out.read_text().splitlines() if line.startswith("| Pendulum"))
    for row in rows.values():
        assert f"{row['return_mean']:.1f} +- {row['return_std']:.1f}" in line
    out.unlink()
    second = run_attract(*command, runs_dir=tmp_path / "none")
    assert second.code == 0, second.stderr
    assert line in out.read_text()
    assert not (tmp_path / "none").exists(), "the second call runs nothing"


def test_an_unknown_task_is_wrong_use(tmp_path: Path) -> None:
    refused = run_attract("results", "--only", "pong", runs_dir=tmp_path)
    assert refused.code == 2
    assert "pong" in refused.stderr
