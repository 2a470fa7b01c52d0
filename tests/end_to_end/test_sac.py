"""A game of real numbers trained by SAC in a headless browser, within few steps."""

from pathlib import Path

import pytest

from attract_command import run_attract


# `make test` trains by DQN in a browser in test_dqn.py, and SAC in backend/learner/sac/.
@pytest.mark.long
def test_sac_learns_pendulum_in_a_browser_from_few_steps(tmp_path: Path) -> None:
    outcome = run_attract(
        "train", "pendulum", "--headless", "--algorithm", "sac", "--workers", "1", "--instances", "8",
        "--total-steps", "12000", "--policy.hidden-sizes", "32,32", "--sac.replay-ratio", "0.5",
        "--sac.learning-rate", "0.002", "--sac.tau", "0.02", "--seed", "1", "--no-check", "--json",
        runs_dir=tmp_path,
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["learned"] is True
    # Random play: -1,153; a mean of the last 100 episodes, of which most were played while it learned.
    assert outcome.json["episode_return_mean"] > -1000
    assert (Path(outcome.json["export"]) / "policy.onnx").is_file()
