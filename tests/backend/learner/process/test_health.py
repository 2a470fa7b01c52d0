"""Numbers for the diagnosis, from batches made by hand."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attract.learner.process.health import ExperienceHealth
from attract.schema.game import GameDescription


def game(action: dict[str, Any], observation: dict[str, Any] | None = None) -> GameDescription:
    return GameDescription.model_validate(
        {
            "id": "Counting-v1",
            "tick_seconds": 0.1,
            "seconds_per_step": 0.1,
            "ticks_per_step": 1,
            "max_seconds": None,
            "max_steps": None,
            "observation": observation or {"kind": "box", "shape": [3]},
            "action": action,
        }
    )


DISCRETE = game({"kind": "discrete", "n": 4})


def batch(rewards, observation=None, valid=None, mask=None) -> Any:
    reward = torch.tensor(rewards)
    valid = torch.ones_like(reward, dtype=torch.bool) if valid is None else torch.tensor(valid)
    if observation is None:
        observation = {"obs": torch.zeros((*reward.shape, 3))}
    return SimpleNamespace(reward=reward, valid=valid, observation=observation, action_mask=mask)


def report(entropy: float | None) -> Any:
    return SimpleNamespace(entropy=entropy)


def metrics(health: ExperienceHealth, one: Any, entropy: float | None = 1.0) -> dict[str, float]:
    return health.metrics({"main": one}, {"main": report(entropy)}, is_sole=True)


def test_rewards_are_those_of_valid_steps() -> None:
    one = batch([[1.0, -50.0], [3.0, 2.0]], valid=[[True, False], [True, True]])
    found = metrics(ExperienceHealth(DISCRETE), one)
    assert [found[f"rollout/reward_{name}"] for name in ("min", "max", "mean")] == [1.0, 3.0, 2.0]
    assert found["rollout/reward_usual"] == pytest.approx(6 ** (1 / 3))


def test_the_usual_reward_is_about_the_sizes_of_those_other_than_0() -> None:
    # Square root of 1e-3 x 1e25.
    found = metrics(ExperienceHealth(DISCRETE), batch([[0.0, -1e-3], [1e25, 0.0]]))
    assert found["rollout/reward_usual"] == pytest.approx(1e11)
    assert "rollout/reward_usual" not in metrics(ExperienceHealth(DISCRETE), batch([[0.0, 0.0]]))


def test_a_number_is_constant_as_long_as_it_was_the_same_in_every_valid_step() -> None:
    health = ExperienceHealth(DISCRETE)
    steps = torch.tensor([[[0.0, 7.0, 5.0]], [[1.0, 7.0, 5.0]], [[2.0, 9.0, 9.0]]])
    found = metrics(health, batch([[0.0]] * 3, {"obs": steps}, valid=[[True], [True], [False]]))
    # The last step is invalid: nothing of it counts.
    assert found["rollout/constant_observations"] == 2.0
    assert (found["rollout/first_constant_observation"], found["rollout/first_constant_value"]) == (1.0, 7.0)
    # Each update is constant in itself; the second number is another one than before.
    found = metrics(health, batch([[0.0]], {"obs": torch.tensor([[[0.0, 8.0, 5.0]]])}))
    assert found["rollout/constant_observations"] == 1.0
    assert (found["rollout/first_constant_observation"], found["rollout/first_constant_value"]) == (2.0, 5.0)
    found = metrics(health, batch([[0.0]], {"obs": torch.tensor([[[0.0, 8.0, 6.0]]])}))
    assert found["rollout/constant_observations"] == 0.0
    assert "rollout/first_constant_observation" not in found


def test_entries_are_numbered_by_key_and_pictures_left_out() -> None:
    observation = {
        "b": torch.tensor([[[1.0], [2.0]]]),
        "a": torch.tensor([[[3.0, 4.0], [3.0, 5.0]]]),
        "c": torch.zeros((1, 2, 4), dtype=torch.uint8),
        "d": torch.zeros((1, 2, 257)),
    }
    found = metrics(ExperienceHealth(DISCRETE), batch([[0.0, 0.0]], observation))
    assert found["rollout/constant_observations"] == 1.0
    assert (found["rollout/first_constant_observation"], found["rollout/first_constant_value"]) == (0.0, 3.0)


def test_an_algorithm_without_entropy_has_no_share_of_it() -> None:
    assert not [name for name in metrics(ExperienceHealth(DISCRETE), batch([[0.0]]), None) if "train" in name]


def test_entropy_is_beside_that_of_even_chances_among_what_is_allowed() -> None:
    found = metrics(ExperienceHealth(DISCRETE), batch([[0.0]]), entropy=math.log(2))
    assert found["train/entropy_share"] == pytest.approx(0.5)  # of log 4
    mask = torch.tensor([[[1, 1, 0, 0], [1, 1, 1, 1]]], dtype=torch.bool)
    found = metrics(ExperienceHealth(DISCRETE), batch([[0.0, 0.0]], mask=mask), entropy=math.log(2))
    assert found["train/entropy_share"] == pytest.approx(2 / 3)  # of (log 2 + log 4) / 2
    several = game({"kind": "multi_discrete", "nvec": [2, 3]})
    mask = torch.tensor([[[1, 1, 1, 1, 0]]], dtype=torch.bool)
    found = metrics(ExperienceHealth(several), batch([[0.0]], mask=mask), entropy=math.log(2))
    assert found["train/entropy_share"] == pytest.approx(0.5)  # of log 2 + log 2
    aim = {"kind": "box", "shape": [2], "low": -1.0, "high": 1.0}
    both = game({"kind": "mixed", "spaces": {"aim": aim, "button": {"kind": "discrete", "n": 2}}})
    found = metrics(ExperienceHealth(both), batch([[0.0]]), entropy=math.log(2))
    assert not found.keys() & {"train/entropy_share", "train/action_spread"}
    bits = game({"kind": "multi_binary", "n": 4})
    found = metrics(ExperienceHealth(bits), batch([[0.0]]), entropy=math.log(2))
    assert found["train/entropy_share"] == pytest.approx(0.25)


def test_where_one_action_is_allowed_there_is_no_share() -> None:
    mask = torch.tensor([[[1, 0, 0, 0]]], dtype=torch.bool)
    assert "train/entropy_share" not in metrics(ExperienceHealth(DISCRETE), batch([[0.0]], mask=mask))


def test_continuous_actions_have_a_spread() -> None:
    box = game({"kind": "box", "shape": [2], "low": -1.0, "high": 1.0})
    # Two numbers of standard deviations 0.5 and 0.125, whose geometric mean is 0.25.
    entropy = sum(0.5 * math.log(2 * math.pi * math.e * std**2) for std in (0.5, 0.125))
    found = metrics(ExperienceHealth(box), batch([[0.0]]), entropy)
    assert found["train/action_spread"] == pytest.approx(0.25)


def test_each_of_several_policies_has_its_own_share() -> None:
    health = ExperienceHealth(DISCRETE)
    found = health.metrics(
        {"scout": batch([[1.0]]), "keeper": batch([[5.0]])},
        {"scout": report(math.log(4)), "keeper": report(0.0)},
        is_sole=False,
    )
    assert (found["train/entropy_share/scout"], found["train/entropy_share/keeper"]) == (1.0, 0.0)
    assert (found["rollout/reward_min"], found["rollout/reward_max"]) == (1.0, 5.0)


def test_rows_of_a_set_that_never_held_a_thing_are_no_constants() -> None:
    parts = {"me": {"kind": "box", "shape": [2]}, "rocks": {"kind": "set", "max": 2, "shape": [1]}}
    described = game({"kind": "discrete", "n": 4}, {"kind": "dict", "spaces": parts})
    seen = {"me": torch.tensor([[[1.0, 5.0], [2.0, 5.0]]]), "rocks": torch.zeros(1, 2, 2, 2)}
    found = metrics(ExperienceHealth(described), batch([[0.0, 1.0]], seen))
    assert found["rollout/constant_observations"] == 1.0
    assert found["rollout/first_constant_observation"] == 1.0
