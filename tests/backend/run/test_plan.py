from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.run.plan import begin_message, collection_config, create_store
from attract.runs.directory import RunDirectory
from attract.schema.game import GameReference
from attract.schema.philox import derive_seed
from attract.settings.collection import policy_ids
from attract.settings.run import RunSettings
from socket_fleet import DESCRIPTION

GAME = GameReference(name="counting", sha256="a" * 64, url="games/x.js")


def settings(**ppo: object) -> RunSettings:
    return RunSettings.from_mapping({"seed": 7, "ppo": {"horizon": 8, "rollout_steps": 24, **ppo}})


def test_C5_the_run_seed_keys_the_streams_and_a_rollout_is_a_number_of_segments():
    config = collection_config(settings(), "r", GAME)
    assert config.stream_seed == derive_seed(7, "run")
    assert (config.horizon, config.rollout_segments) == (8, 3)


def test_D2_correctness_R1_a_resumed_run_has_streams_of_its_own():
    seeds = [
        collection_config(settings(), "r", GAME, resumed_from=it).stream_seed for it in ("", "1.0", "2.0")
    ]
    assert seeds == [derive_seed(7, name) for name in ("run", "run/1.0", "run/2.0")]


def test_D2_correctness_R1_a_version_that_is_made_anew_is_another_place_to_go_on_from(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    checkpoints, seen = directory.checkpoints, [directory.resumed_from()]
    for version in (0, 1, 2):
        (checkpoints / str(version)).mkdir(parents=True)
        seen.append(directory.resumed_from())
    # Version 2 turns out damaged: it is set aside, and trained again.
    (checkpoints / "2").rename(checkpoints / "2.broken-0")
    seen.append(directory.resumed_from())
    (checkpoints / "2").mkdir()
    seen.append(directory.resumed_from())
    assert seen == ["", "", "1.0", "2.0", "1.1", "2.1"]
    directory.close()


def test_P7_without_normalisation_there_is_no_warm_up():
    assert collection_config(settings(), "r", GAME).settings.warmup_steps > 0
    assert collection_config(settings(normalize_observations=False), "r", GAME).settings.warmup_steps == 0


def test_the_learner_resumes_exactly_when_there_is_a_checkpoint(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    assert not begin_message(settings(), directory, DESCRIPTION, "store", None).resume
    (directory.checkpoints / "0").mkdir()
    begin = begin_message(settings(), directory, DESCRIPTION, "store", None)
    assert begin.resume
    assert RunSettings.from_mapping(begin.settings) == settings()
    directory.close()


def test_S5_minibatches_that_cannot_be_cut_are_refused_before_a_store_is_made(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "r")
    chosen = settings(num_minibatches=10**9)
    with pytest.raises(ConfigurationError, match="largest that works"):
        create_store(chosen, collection_config(chosen, "r", GAME).fitted(DESCRIPTION), directory)
    chosen = settings()
    store = create_store(chosen, collection_config(chosen, "r", GAME).fitted(DESCRIPTION), directory)
    assert store.layout.horizon == 8
    store.close(unlink=True)
    directory.close()


@pytest.mark.parametrize(
    ("collection", "lag"),
    [
        ({"schedule": "sync"}, 0),
        ({"schedule": "sync", "max_policy_lag": 1}, 0),
        ({}, 1),
        ({"max_policy_lag": 0}, 0),
        ({"schedule": "async"}, 4),
        ({"schedule": "async", "max_policy_lag": 9}, 9),
    ],
)
def test_the_largest_lag_follows_from_the_schedule(collection: dict[str, object], lag: int) -> None:
    chosen = RunSettings.from_mapping({"collection": collection})
    assert collection_config(chosen, "r", GAME).settings.policy_lag == lag


def test_E9_core_and_learner_hear_of_the_same_settings(tmp_path: Path) -> None:
    chosen = RunSettings.from_mapping({"collection": {"seats": ["b", "a", "b"]}})
    assert collection_config(chosen, "r", GAME).settings.seats == ("b", "a", "b")
    directory = RunDirectory.create(tmp_path, "r")
    begin = begin_message(chosen, directory, DESCRIPTION, "store", None)
    assert RunSettings.from_mapping(begin.settings) == chosen
    directory.close()
    assert policy_ids(chosen.collection.seats) == ("b", "a")
    assert policy_ids(()) == ("main",)


def test_E9_as_many_seats_as_agents_or_none(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "r")
    chosen = RunSettings.from_mapping({"collection": {"seats": ["a", "b"]}})
    with pytest.raises(ConfigurationError, match="2 seats for the 1 agents") as refused:
        create_store(chosen, collection_config(chosen, "r", GAME).fitted(DESCRIPTION), directory)
    assert refused.value.setting == "collection.seats"
    directory.close()


def test_S5_minibatches_are_cut_from_the_smallest_policys_share(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "r")
    trio = DESCRIPTION.model_copy(update={"num_agents": 3})
    collection = {"num_workers": 1, "instances_per_worker": 2}
    ppo = {"horizon": 8, "num_minibatches": 17}

    def refuse(**more: object) -> None:
        chosen = RunSettings.from_mapping({"ppo": ppo, "collection": {**collection, **more}})
        create_store(chosen, collection_config(chosen, "r", GAME).fitted(trio), directory).close(unlink=True)

    # 6 slots x 8 steps for one policy; of three agents, one policy has 2 slots.
    refuse()
    with pytest.raises(ConfigurationError, match="2 segments for a has 16 steps") as refused:
        refuse(seats=["a", "b", "b"])
    assert refused.value.fix == "the largest that works is 16"
    directory.close()
