"""CartPole trained by DQN in a headless browser, within few steps."""

from pathlib import Path

from attract_command import run_attract


def test_dqn_learns_cartpole_in_a_browser_from_few_steps(tmp_path: Path) -> None:
    outcome = run_attract(
        "train", "cartpole", "--headless", "--algorithm", "dqn", "--workers", "1", "--instances", "8",
        "--total-steps", "6000", "--dqn.learning-rate", "0.002", "--dqn.tau", "0.02",
        "--dqn.replay-ratio", "0.25", "--dqn.gamma", "0.97", "--dqn.learning-starts", "500",
        "--dqn.n-steps", "3", "--seed", "1", "--no-check", "--json",
        runs_dir=tmp_path,
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["agent_steps"] < 7000
    assert outcome.json["learned"] is True
    # Random play: 22.
    assert outcome.json["episode_return_mean"] > 60
    assert (Path(outcome.json["export"]) / "policy.onnx").is_file()
