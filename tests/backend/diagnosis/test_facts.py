from run_facts import run_facts

VECTOR = {"kind": "box", "shape": [2]}
LESSON = {"curriculum": {"lessons": [{"name": "one"}]}}


def test_the_kind_of_actions_is_the_games_own():
    assert run_facts().action == "discrete"
    assert run_facts(action="continuous").action == "continuous"


def test_they_say_what_the_run_adds_to_the_game():
    assert not run_facts().explores and not run_facts().has_page
    assert run_facts({"exploration": "rnd"}).explores
    assert run_facts(page="index.html").has_page


def test_returns_are_comparable_where_one_agent_plays_one_task_from_scratch():
    assert run_facts(num_numbers=2).is_comparable
    assert not run_facts(num_agents=2).is_comparable
    assert not run_facts(LESSON).is_comparable
    assert not run_facts(starts_untrained=False).is_comparable


def test_numbers_of_small_vectors_have_names_in_the_learners_order():
    assert run_facts(num_numbers=2).observation_names == ("observation[0]", "observation[1]")
    entries = {"b": {"kind": "box", "shape": [1]}, "a": VECTOR}
    named = run_facts(observation={"kind": "dict", "spaces": entries}).observation_names
    assert named == ("observation.a[0]", "observation.a[1]", "observation.b[0]")
    for large in (
        {"kind": "box", "shape": [33]},
        {"kind": "box", "shape": [4, 4]},
        {"kind": "box", "shape": [8], "dtype": "uint8"},
        {"kind": "dict", "spaces": {"a": VECTOR, "b": {"kind": "discrete", "n": 2}}},
    ):
        assert run_facts(observation=large).observation_names == ()


def test_a_share_of_the_run_has_a_most():
    assert run_facts({"total_steps": 80_000}).share_of_steps(8, 50_000) == 10_000
    assert run_facts({"total_steps": 800_000}).share_of_steps(8, 50_000) == 50_000
    assert run_facts({"total_steps": None}).share_of_steps(8, 50_000) == 50_000
