"""`attract results` really trains, beside a really trained baseline, and does nothing twice."""

import json
from pathlib import Path

import pytest

from attract_command import run_attract


@pytest.mark.long
def test_a_task_is_trained_with_its_baseline_once(tmp_path: Path) -> None:
    out = tmp_path / "docs" / "results.md"
    command = ("results", "--only", "pendulum", "--seed", "1", "--scale", "0.01", "--out", str(out))
    first = run_attract(*command, runs_dir=tmp_path / "runs")
    assert first.code == 0, first.stderr
    rows = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert rows.keys() == {"pendulum-mlp-1", "pendulum-sb3-1"}
    for row in rows.values():
        assert row["steps"] == 3000
        assert row["agent_steps"] >= 3000
        assert row["episodes"] == 500
        # What Pendulum pays in 200 steps, whatever one does.
        assert -16.3 * 200 < row["return_mean"] < 0
        assert row["return_std"] > 0
    line = next(line for line in out.read_text().splitlines() if line.startswith("| Pendulum"))
    for row in rows.values():
        assert f"{row['return_mean']:.1f} +- {row['return_std'] / 500**0.5:.1f}" in line
    out.unlink()
    second = run_attract(*command, runs_dir=tmp_path / "none")
    assert second.code == 0, second.stderr
    assert line in out.read_text()
    assert not (tmp_path / "none").exists(), "the second call runs nothing"


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "scale", "key", "least", "most"),
    [
        # Trained with 1,000 a step, judged by the game's own rewards: an episode has 8 to 500 steps.
        ("cart-pole", "1000", "plain-cart-pole-bare-1-x1000", 8, 500),
        # The share won against the simple strategy.
        ("duel", "1", "plain-duel-bare-1", 0, 1),
    ],
)
def test_a_plain_game_is_trained_with_the_bare_defaults(
    tmp_path: Path, game: str, scale: str, key: str, least: float, most: float
) -> None:
    out = tmp_path / "results.md"
    command = ("--only", game, "--seed", "1", "--reward-scale", scale, "--scale", "0.002", "--out", str(out))
    ended = run_attract("results", "--suite", "defaults", *command, runs_dir=tmp_path / "runs")
    assert ended.code == 0, ended.stderr
    rows = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert rows.keys() == {key}
    assert rows[key]["flags"] == []
    assert least <= rows[key]["return_mean"] <= most
    assert "## Plain games with the defaults" in out.read_text()


def test_rewards_of_bundled_games_are_their_own(tmp_path: Path) -> None:
    refused = run_attract("results", "--reward-scale", "10", runs_dir=tmp_path)
    assert refused.code == 2
    assert "--suite defaults" in refused.stderr


def test_an_unknown_task_is_wrong_use(tmp_path: Path) -> None:
    refused = run_attract("results", "--only", "pong", runs_dir=tmp_path)
    assert refused.code == 2
    assert "pong" in refused.stderr
