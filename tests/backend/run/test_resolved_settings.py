"""What a run uses of settings that are left to it; all bundled games are in tests/contract."""

from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.run.resolved_settings import ResolvedSettings, resolve_settings
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace
from attract.settings.run import RunSettings
from socket_fleet import DESCRIPTION

PICTURE = DESCRIPTION.model_copy(update={"observation": BoxSpace(shape=[36, 36, 1], dtype="uint8")})


def resolve(description: GameDescription | None = DESCRIPTION, **settings: Any) -> ResolvedSettings:
    return resolve_settings(RunSettings.from_mapping(settings), "small.ts", description)


def test_gae_lambda_follows_from_what_the_game_shows_and_who_plays():
    assert resolve().values["ppo.gae_lambda"] == 0.95
    assert resolve(PICTURE).values["ppo.gae_lambda"] == 0.9
    two = DESCRIPTION.model_copy(update={"num_agents": 2})
    assert "0.95, or 0.99" in resolve(two).undecided["ppo.gae_lambda"]
    # Each policy learns from one agent: it has no opponent in its own rewards.
    assert resolve(two, collection={"seats": ["a", "b"]}).values["ppo.gae_lambda"] == 0.95
    given = resolve(two, ppo={"gae_lambda": 0.5})
    assert "ppo.gae_lambda" not in {**given.values, **given.undecided}


def test_of_the_two_ways_to_cut_a_batch_one_follows_from_the_other():
    # 1 worker x 8 games x 32 steps are 256.
    fleet = {"num_workers": 1, "instances_per_worker": 8}
    usual = resolve(collection=fleet).values
    assert (usual["ppo.minibatch_steps"], usual["ppo.num_minibatches"]) == (256, 1)
    counted = resolve(collection=fleet, ppo={"num_minibatches": 8}).values
    assert counted["ppo.minibatch_steps"] == 32
    assert "ppo.num_minibatches" not in counted
    sized = resolve(collection=fleet, ppo={"minibatch_steps": 100}).values
    assert sized["ppo.num_minibatches"] == 3


def test_shares_of_several_policies_are_told_by_name():
    three = DESCRIPTION.model_copy(update={"num_agents": 3})
    fleet = {"num_workers": 1, "instances_per_worker": 8, "seats": ["a", "a", "b"]}
    # 768 steps: 512 of a, 256 of b.
    assert resolve(three, collection=fleet).undecided["ppo.num_minibatches"] == "2 for a, 1 for b."


def test_a_value_that_another_setting_overrules_is_told():
    still = {"ppo": {"normalize_observations": False}}
    assert resolve(**still).values["collection.warmup_steps"] == 0
    assert "collection.warmup_steps" not in resolve().values
    in_turn = {"collection": {"schedule": "sync", "max_policy_lag": 3}}
    assert resolve(**in_turn).values["collection.max_policy_lag"] == 0


def test_nothing_is_claimed_of_a_game_that_nobody_has_loaded():
    resolved = resolve(None)
    assert resolved.undecided["ppo.gae_lambda"].startswith("Depends on the game")
    assert "ppo.gae_lambda" not in resolved.values
    assert resolved.values["ppo.schedule_steps"] == 1_000_000


def test_settings_that_the_game_cannot_be_played_with_are_refused():
    in_page = DESCRIPTION.model_copy(update={"page": "index.html"})
    with pytest.raises(ConfigurationError, match="page"):
        resolve(in_page, collection={"inference": "server"})


def test_what_the_learners_machine_decides_is_said_to_be_decided_there():
    assert set(resolve().undecided) == {"device", "learner", "learner_threads"}
    fixed = resolve(device="cpu", learner="autograd", learner_threads=2)
    assert fixed.undecided == {}
    assert resolve(policy={"recurrent": "lstm"}).values["learner"] == "autograd"
