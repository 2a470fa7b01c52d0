from attract.diagnosis.facts import RunFacts
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

VECTOR = {"kind": "box", "shape": [2]}
LESSON = {"curriculum": {"lessons": [{"name": "one"}]}}


def game(observation=VECTOR, **fields) -> GameDescription:
    given = {
        "id": "Counting-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.2,
        "ticks_per_step": 2,
        "max_seconds": 10.0,
        "max_steps": 50,
        "observation": observation,
        "action": {"kind": "discrete", "n": 3},
    }
    return GameDescription.model_validate({**given, **fields})


def facts(description: GameDescription, settings=None, **given) -> RunFacts:
    return RunFacts.of(RunSettings.from_mapping(settings or {}), description, num_cores=8, **given)


def test_they_are_those_of_the_game_and_the_settings():
    settings = {"collection": {"num_workers": 3}, "ppo": {"gamma": 0.5}}
    found = facts(game(num_agents=2), {**settings, "total_steps": 1000})
    assert (found.num_agents, found.num_workers, found.max_steps, found.seconds_per_step) == (2, 3, 50, 0.2)
    assert (found.gamma, found.total_steps, found.num_cores, found.action) == (0.5, 1000, 8, "discrete")
    assert not found.explores and not found.has_memory
    other = facts(game(), {"exploration": "rnd", "policy": {"recurrent": "lstm"}})
    assert other.explores and other.has_memory
    continuous = {"kind": "box", "shape": [1], "low": -1.0, "high": 1.0}
    assert facts(game(action=continuous)).action == "continuous"


def test_returns_are_comparable_where_one_agent_plays_one_task_from_scratch():
    assert facts(game()).is_comparable
    assert not facts(game(num_agents=2)).is_comparable
    assert not facts(game(), LESSON).is_comparable
    assert not facts(game(), starts_untrained=False).is_comparable


def test_numbers_of_small_vectors_have_names_in_the_learners_order():
    assert facts(game()).observation_names == ("observation[0]", "observation[1]")
    entries = {"b": {"kind": "box", "shape": [1]}, "a": VECTOR}
    named = facts(game({"kind": "dict", "spaces": entries})).observation_names
    assert named == ("observation.a[0]", "observation.a[1]", "observation.b[0]")
    for large in (
        {"kind": "box", "shape": [33]},
        {"kind": "box", "shape": [4, 4]},
        {"kind": "box", "shape": [8], "dtype": "uint8"},
        {"kind": "dict", "spaces": {"a": VECTOR, "b": {"kind": "discrete", "n": 2}}},
    ):
        assert facts(game(large)).observation_names == ()


def test_a_share_of_the_run_has_a_most():
    assert RunFacts(total_steps=80_000).share_of_steps(8, 50_000) == 10_000
    assert RunFacts(total_steps=800_000).share_of_steps(8, 50_000) == 50_000
    assert RunFacts(total_steps=None).share_of_steps(8, 50_000) == 50_000
