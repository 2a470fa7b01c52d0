"""The same settings and number of steps train as well with the policy at the server as beside the games."""

from pathlib import Path

import pytest

from attract_command import run_attract

STEPS = 120_000
GOOD = 250
"""Mean return of the last 100 training episodes; an untrained policy has 22."""


@pytest.mark.soak
def test_C9_both_placements_of_the_policy_learn_in_the_same_number_of_steps(tmp_path: Path) -> None:
    reached: dict[str, float] = {}
    for inference in ("worker", "server"):
        trained = run_attract(
            "train", "cartpole", "--headless", "--workers", "2", "--total-steps", str(STEPS),
            "--collection.inference", inference, "--seed", "2", "--run-id", inference, "--json",
            runs_dir=tmp_path,
        )  # fmt: skip
        assert trained.code == 0, trained.stderr
        assert trained.json["agent_steps"] >= STEPS
        reached[inference] = trained.json["episode_return_mean"]
    assert min(reached.values()) >= GOOD, reached
