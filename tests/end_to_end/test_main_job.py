"""The main job: CartPole trained in headless browsers, judged there and in Gymnasium's own CartPole."""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnxruntime
import pytest

from attract_command import Outcome, run_attract

pytestmark = pytest.mark.alone

GOAL = 475
EPISODES = 100


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((1,), id="one_seed"),
        pytest.param((1, 2, 3), id="three_seeds", marks=pytest.mark.long),
    ],
)
def seeds(request: pytest.FixtureRequest) -> tuple[int, ...]:
    """What is trained, one after the other."""
    return request.param


@pytest.fixture(scope="module")
def runs_dir(seeds: tuple[int, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def outcomes(seeds: tuple[int, ...], runs_dir: Path) -> list[Outcome]:
    return [
        run_attract(
            "train", "cartpole", "--headless", "--workers", "2", "--until-return", str(GOAL),
            "--seed", str(seed), "--run-id", f"cartpole-{seed}", "--json", runs_dir=runs_dir,
        )
        for seed in seeds
    ]  # fmt: skip


def test_every_seed_reaches_the_goal_and_exits_0(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        assert outcome.code == 0, outcome.stderr
        assert outcome.json["goal_reached"] is True
        assert outcome.json["episode_return_mean"] >= GOAL


def test_the_final_object_has_the_promised_fields(outcomes: list[Outcome]) -> None:
    result = outcomes[0].json
    assert set(result) == {
        "run_id", "agent_steps", "updates", "policy_version", "wall_seconds",
        "steps_per_second", "episode_return_mean", "goal_reached", "export", "state", "error",
        "findings", "check", "waited_seconds",
        "return", "standard_error", "random_return", "random_standard_error", "random_episodes", "learned",
        "return_episodes", "learned_reason", "win_rate",
    }  # fmt: skip
    assert result["learned"] is True
    assert result["run_id"] == "cartpole-1"
    assert result["updates"] == result["policy_version"]
    assert result["steps_per_second"] == pytest.approx(
        result["agent_steps"] / result["wall_seconds"], rel=0.5
    )


def test_nothing_is_said_against_a_game_that_learns(outcomes: list[Outcome]) -> None:
    assert [outcome.json["findings"] for outcome in outcomes] == [[]] * len(outcomes)
    assert {(outcome.json["state"], outcome.json["error"]) for outcome in outcomes} == {("finished", None)}


def test_it_is_solved_within_30_seconds_and_within_20_in_the_median(outcomes: list[Outcome]) -> None:
    seconds = [outcome.json["wall_seconds"] for outcome in outcomes]
    assert max(seconds) <= 30, seconds
    assert statistics.median(seconds) <= 20, seconds


def test_the_export_balances_gymnasiums_own_cartpole(outcomes: list[Outcome]) -> None:
    means = []
    for outcome in outcomes:
        returns = _play_gymnasium(Path(outcome.json["export"]) / "policy.onnx")
        assert len(returns) == EPISODES
        means.append(statistics.mean(returns))
        standard_error = statistics.pstdev(returns) / math.sqrt(EPISODES)
        assert means[-1] + 2 * standard_error >= GOAL, returns
    assert statistics.mean(means) >= GOAL, means


def test_policy_json_says_what_the_model_needs(outcomes: list[Outcome]) -> None:
    folder = Path(outcomes[0].json["export"])
    described: dict[str, Any] = json.loads((folder / "policy.json").read_text())
    session = onnxruntime.InferenceSession(str(folder / "policy.onnx"))
    assert [entry.name for entry in session.get_inputs()] == ["obs"]
    assert "action" in [entry.name for entry in session.get_outputs()]
    assert described["game"]["id"] == "CartPole-v1"
    assert described["policy_version"] == outcomes[0].json["policy_version"]


def test_eval_in_the_browser_agrees(outcomes: list[Outcome], runs_dir: Path) -> None:
    result = run_attract("eval", "cartpole-1", "--episodes", "100", "--json", runs_dir=runs_dir)
    assert result.code == 0, result.stderr
    assert result.json["run_id"] == "cartpole-1"
    assert set(result.json) - {"run_id", "policy_version"} == {
        "episodes",
        "episodes_saved",
        "return_mean",
        "return_std",
        "length_mean",
        "return",
        "standard_error",
        "random_return",
        "random_standard_error",
        "random_episodes",
        "return_episodes",
        "learned",
        "learned_reason",
    }
    assert result.json["learned"] is outcomes[0].json["learned"] is True
    # Random play balances the pole for some twenty steps.
    assert 18 < result.json["random_return"] < 26 and result.json["random_episodes"] >= 20
    assert result.json["episodes"] == 100
    assert result.json["return_mean"] >= GOAL


def _play_gymnasium(model: Path) -> list[float]:
    """Returns of the exported policy over fixed seeds, by the graph's own `action`."""
    session = onnxruntime.InferenceSession(str(model))
    environments = gymnasium.make_vec("CartPole-v1", EPISODES, vectorization_mode="sync")
    observation, _info = environments.reset(seed=list(range(EPISODES)))
    returns = np.zeros(EPISODES)
    playing = np.ones(EPISODES, dtype=bool)
    while playing.any():
        (action,) = session.run(["action"], {"obs": np.asarray(observation, dtype=np.float32)})
        observation, reward, terminated, truncated, _info = environments.step(np.asarray(action))
        returns[playing] += reward[playing]
        playing &= ~(terminated | truncated)
    environments.close()
    return returns.tolist()
