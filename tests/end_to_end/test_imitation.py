"""Scripted episodes become a policy without a step of training, and a run that training goes on from."""

from pathlib import Path

import numpy as np
import pytest

from attract_command import Outcome, run_attract
from demonstration_recorder import cartpole_player, keydoor_player, record, write_demonstrations

EPISODES = 20
CHANCE = 25
"""Steps that random play keeps the pole up, on average."""


@pytest.mark.long
def test_a_few_episodes_of_cartpole_are_played_on_and_trained_beside(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    found = record("cartpole", cartpole_player, episodes=3)
    folder = write_demonstrations(tmp_path / "played", found)
    cloned = run_attract(
        "imitate", "cartpole", "--from", str(folder), "--run-id", "cloned", "--epochs", "40", "--json",
        runs_dir=runs_dir,
    )  # fmt: skip
    assert cloned.code == 0, cloned.stderr
    assert (cloned.json["demonstrations"], cloned.json["return_mean"]) == (3, 500)
    evaluated = run_attract("eval", "cloned", "--episodes", "10", "--json", runs_dir=runs_dir)
    assert evaluated.code == 0, evaluated.stderr
    assert evaluated.json["return_mean"] > 8 * CHANCE
    trained = run_attract(
        "train", "--resume", "--run-id", "cloned", "--demonstrations", str(folder), "--total-steps", "8192",
        "--workers", "1", "--json", runs_dir=runs_dir,
    )  # fmt: skip
    assert trained.code == 0, trained.stderr
    assert trained.json["updates"] > 0


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imitation") / "runs"


@pytest.fixture(scope="module")
def folder(runs_dir: Path) -> Path:
    """Where the dashboard would keep them."""
    found = record("keydoor", keydoor_player, episodes=EPISODES)
    assert np.mean([episode.returns[0] for episode in found]) == 1
    return write_demonstrations(runs_dir.parent / "demonstrations" / "Keydoor-v1", found)


@pytest.fixture(scope="module")
def imitated(folder: Path, runs_dir: Path) -> Outcome:
    return run_attract(
        "imitate",
        "keydoor",
        "--run-id",
        "cloned",
        "--json",
        runs_dir=runs_dir,
    )


@pytest.mark.soak
def test_a_scripted_players_episodes_reach_nine_tenths_of_its_return(
    imitated: Outcome, runs_dir: Path
) -> None:
    assert imitated.code == 0, imitated.stderr
    assert imitated.json["demonstrations"] == EPISODES and imitated.json["return_mean"] == 1
    assert (runs_dir / "cloned" / "export" / "policy.onnx").is_file()
    result = run_attract(
        "eval", "cloned", "--episodes", "100", "--no-deterministic", "--json", runs_dir=runs_dir
    )
    assert result.code == 0, result.stderr
    assert result.json["return_mean"] >= 0.9 * imitated.json["return_mean"]


@pytest.mark.soak
def test_training_goes_on_from_it_with_its_demonstrations(
    imitated: Outcome, folder: Path, runs_dir: Path
) -> None:
    result = run_attract(
        "train", "--resume", "--run-id", "cloned", "--demonstrations", str(folder), "--total-steps", "20000",
        "--workers", "2", "--json", runs_dir=runs_dir,
    )  # fmt: skip
    assert result.code == 0, result.stderr
    assert result.json["updates"] > 0 and result.json["episode_return_mean"] > 0.5
