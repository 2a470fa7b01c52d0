"""A sparse game, in which chance finds nothing, is solved by paying for what was not seen before."""

from pathlib import Path

import pytest

from attract_command import Outcome, run_attract

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

STEPS = "500000"


def trained(runs_dir: Path, seed: int, *more: str) -> Outcome:
    outcome = run_attract(
        "train", "keydoor", "--headless", "--workers", "2", "--seed", str(seed), "--total-steps", STEPS,
        "--run-id", "sparse", "--no-check", "--json", *more,
        runs_dir=runs_dir,
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    return outcome


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_keydoor_is_solved_by_the_likeliest_actions_with_exploration(seed: int, tmp_path: Path) -> None:
    trained(tmp_path, seed, "--preset", "explore")
    evaluated = run_attract("eval", "sparse", "--episodes", "200", "--json", runs_dir=tmp_path)
    assert evaluated.json["return_mean"] >= 0.9


def test_keydoor_stays_at_chance_without_exploration(tmp_path: Path) -> None:
    assert trained(tmp_path, 1).json["episode_return_mean"] <= 0.05
