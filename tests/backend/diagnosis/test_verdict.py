"""What is said of a run as a whole, from facts to a verdict."""

from pathlib import Path

import pytest

from attract.diagnosis.diagnosis import SYMPTOMS
from attract.diagnosis.history import History
from attract.diagnosis.sign import advice_for, is_like_random, percent
from attract.diagnosis.verdict import MIN_EPISODES, UNMEASURED, Measured, Verdict, judge, number_text
from attract.settings.presets import PRESET_HELP
from attract.settings.run import ALGORITHM_SETTINGS
from known_runs import run_facts
from planted_failures import PLANTED, table

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


def late(first: float, now: float, share: float) -> History:
    """Short episodes end at once, long ones after the policy has changed; then `now` for a while."""
    history = History()
    common = {"rollout/ep_rew_std": 1.0, "rollout/episodes": 50.0, "fleet/instances": 100}
    history.add(1, 1_000, {"rollout/ep_rew_mean": first, "rollout/ep_len_mean": 10.0, **common})
    for update in range(2, 40):
        row = {"rollout/ep_rew_mean": now, "rollout/ep_len_mean": 100.0, "train/entropy_share": share}
        history.add(update, 1_000 * update, {**row, **common})
    return history


@pytest.mark.parametrize(
    ("first", "now", "share", "expected"),
    [
        (-10.0, -500.0, 0.01, True),  # stuck, and worse than what ended first
        (-10.0, 500.0, 0.01, False),  # decided and better than what ended first: it has learned
        (-10.0, -500.0, 0.95, True),  # as undecided as at first
        (-10.0, -500.0, 0.5, False),  # on its way: unknown
    ],
)
def test_a_late_first_return_counts_as_untrained_only_under_a_telling_policy(first, now, share, expected):
    assert is_like_random(late(first, now, share), run_facts()) is expected


def test_nothing_is_like_random_where_returns_cannot_be_compared():
    assert not is_like_random(late(-10.0, -500.0, 0.95), run_facts(starts_untrained=False))
    assert not is_like_random(History(), run_facts())


def test_a_share_is_read_as_percent():
    assert [percent(share) for share in (0.0, 0.004, 0.123, 1.0)] == ["0 %", "under 1 %", "12 %", "100 %"]


DOCS = Path(__file__).resolve().parents[3] / "docs"
GUIDE = DOCS / "not-learning.md"
WITHOUT_A_RUN = {
    *("return-fell", "no-improvement", "not-above-random", "evaluation-differs"),
    *("few-decisions", "values-too-high", "explores-long", "buffer-small"),
}
"""They come of several faults, of a page or of a replay buffer, and stand in the tests of their signs."""


def test_names_are_unique_and_advised_upon() -> None:
    names = [symptom.finding_id for symptom in SYMPTOMS]
    assert len(set(names)) == len(names)
    advised = {key.partition("/")[0] for algorithm in ALGORITHM_SETTINGS for key in advice_for(algorithm)}
    assert advised == set(names)


def test_each_is_planted_in_a_real_game() -> None:
    planted = {finding_id for run in PLANTED for finding_id in run.expected}
    assert planted == {symptom.finding_id for symptom in SYMPTOMS} - WITHOUT_A_RUN


def test_the_notebook_shows_what_recorded_runs_say() -> None:
    notebook = DOCS / "notebook" / "diagnosis.md"
    assert table() in notebook.read_text(), "run `benchmarks/experiments/planted_failures.py --table`"


def test_the_guide_lists_every_preset() -> None:
    text = GUIDE.read_text()
    for name, when in PRESET_HELP.items():
        assert f"| `{name}` | {when} |" in text


def test_each_is_explained_in_the_guide() -> None:
    text = GUIDE.read_text()
    for symptom in SYMPTOMS:
        assert f"`{symptom.finding_id}`" in text


def verdict(trained: Measured | None, random: Measured | None, *, num_agents: int = 1) -> Verdict:
    return judge(trained, random, num_agents=num_agents)


def test_the_standard_error_is_of_the_mean() -> None:
    assert Measured.of(5.0, 2.0, 100) == Measured(5.0, 0.2, 100)  # 2 / sqrt(100)


@pytest.mark.parametrize(
    ("trained", "random", "learned"),
    [
        # sqrt(3^2 + 4^2) = 5: 15 above are three standard errors of the difference, 14.9 are not.
        (Measured(25.0, 3.0, 100), Measured(10.0, 4.0, 100), True),
        (Measured(24.9, 3.0, 100), Measured(10.0, 4.0, 100), False),
        # Below random play, however certain.
        (Measured(936.0, 10.0, 100), Measured(1142.0, 10.0, 100), False),
        # Negative returns: -179 to -100 with sqrt(0.6^2 + 0.8^2) = 1.
        (Measured(-100.0, 0.6, 100), Measured(-179.0, 0.8, 100), True),
        (Measured(-179.0, 0.6, 100), Measured(-100.0, 0.8, 100), False),
        # Without a spread the means decide; equal ones are no better.
        (Measured(1.0, 0.0, 100), Measured(0.0, 0.0, 100), True),
        (Measured(1.0, 0.0, 100), Measured(1.0, 0.0, 100), False),
        (Measured(0.0, 0.0, 100), Measured(0.0, 0.0, 100), False),
        (Measured(0.0, 0.0, 100), Measured(1.0, 0.0, 100), False),
        # 0.1 added up a hundred times and divided again is another number than 0.1.
        (Measured(sum([0.1] * 100) / 100, 0.0, 100), Measured(0.1 - 1e-17, 0.0, 100), False),
    ],
)
def test_learned_is_three_standard_errors_above(trained: Measured, random: Measured, learned: bool) -> None:
    assert verdict(trained, random).learned is learned


def test_too_few_episodes_on_either_side_tell_nothing() -> None:
    many, few = Measured(9.0, 0.1, MIN_EPISODES), Measured(1.0, 0.1, MIN_EPISODES - 1)
    assert verdict(many, few).learned is None
    assert verdict(few, many).learned is None
    assert verdict(many, Measured(1.0, 0.1, MIN_EPISODES)).learned is True
    assert verdict(many, few).text == (
        "return 9, random play 1: 19 of the 20 episodes that a comparison takes"
    )


def test_what_was_not_measured_has_no_line() -> None:
    one = Measured(9.0, 0.1, 100)
    for found in (verdict(None, one), verdict(one, None), verdict(None, None)):
        assert (found.learned, found.text) == (None, None)
    assert verdict(one, None).numbers() == {
        "return": 9.0,
        "standard_error": 0.1,
        "return_episodes": 100,
        "random_return": None,
        "random_standard_error": None,
        "random_episodes": None,
        "learned": None,
        "learned_reason": "random play was not measured: it needs a browser here, and episodes that end",
    }


def test_the_line_and_the_numbers() -> None:
    found = verdict(Measured(936.0, 10.0, 100), Measured(1142.4, 20.0, 57))
    assert found.text == "return 936, random play 1,142: not better than random play"
    assert found.numbers() == {
        "return": 936.0,
        "standard_error": 10.0,
        "return_episodes": 100,
        "random_return": 1142.4,
        "random_standard_error": 20.0,
        "random_episodes": 57,
        "learned": False,
        "learned_reason": None,
    }
    # More, but by 1.75 where three standard errors are 1.8.
    more = verdict(Measured(6.35, 0.6, 100), Measured(4.6, 0.0, 100))
    assert more.text == "return 6.35, random play 4.6: not clearly better than random play"
    better = verdict(Measured(15.8, 0.5, 100), Measured(8.7, 0.5, 100))
    assert better.text == "return 15.8, random play 8.7: better than random play"


def test_several_agents_may_be_better_but_never_fail() -> None:
    # Who plays against its equal wins as much as it loses, however well it plays.
    equal = verdict(Measured(0.0, 0.0, 100), Measured(0.0, 0.0, 100), num_agents=2)
    assert equal.learned is None
    assert "may play against each other" in (equal.text or "")
    assert verdict(Measured(9.0, 0.1, 100), Measured(1.0, 0.1, 100), num_agents=2).learned is True


def test_returns_of_a_lesson_are_not_compared_with_play_without_it() -> None:
    found = judge(
        Measured(9.0, 0.1, 100), Measured(1.0, 0.1, 100), num_agents=1, otherwise="without the lesson"
    )
    assert found.learned is None
    assert found.text == "return 9, random play 1, which played without the lesson: not compared"


def test_returns_against_opponents_are_not_compared_with_random_play_against_itself() -> None:
    trained, random = Measured(9.0, 0.1, 100), Measured(1.0, 0.1, 100)
    found = judge(trained, random, num_agents=2, otherwise="against itself")
    assert (found.learned, found.is_open) == (None, False), "nor does an evaluation decide"
    assert found.text == "return 9, random play 1, which played against itself: not compared"
    assert found.reason is not None and "attract match latest random" in found.reason


def test_a_verdict_that_an_evaluation_may_change_is_open() -> None:
    random, few = Measured(1.0, 0.1, MIN_EPISODES), Measured(1.0, 0.1, MIN_EPISODES - 1)
    below, above = Measured(0.5, 0.1, 100), Measured(9.0, 0.1, 100)
    # Not better, too few episodes, none that ended.
    assert [verdict(trained, random).is_open for trained in (below, few, None)] == [True] * 3
    assert judge(above, random, num_agents=1, otherwise="without the lesson").is_open
    assert not verdict(above, random).is_open
    # Random play is kept: more episodes of the policy alone tell nothing.
    assert not verdict(above, few).is_open
    assert not verdict(below, None).is_open
    assert not verdict(below, random, num_agents=2).is_open


def test_numbers_are_read_at_a_glance() -> None:
    values = [0.0, 0.64, -0.12345, 936.26, 1142.4, -123456.7, 1e30]
    assert [number_text(value) for value in values] == [
        "0", "0.64", "-0.1235", "936.3", "1,142", "-123,457", "1e+30",
    ]  # fmt: skip


def test_where_it_is_not_known_the_reason_says_what_is_missing() -> None:
    many, few = Measured(9.0, 0.1, 100), Measured(1.0, 0.1, 12)
    assert verdict(few, many).reason == "12 episodes, 20 are needed: `attract eval latest --episodes 20`"
    assert verdict(few, few).reason == (
        "12 episodes, 20 are needed: `attract eval latest --episodes 20`; "
        "random play had 12 episodes in a minute: make them shorter"
    )
    assert verdict(many, few).reason == "random play had 12 episodes in a minute: make them shorter"
    assert verdict(None, many).reason == "no episode ended: train longer, or end episodes earlier"
    assert UNMEASURED.reason == verdict(None, many).reason
    assert verdict(many, many).reason is None
    equals = verdict(Measured(0.0, 0.0, 100), Measured(0.0, 0.0, 100), num_agents=2)
    assert equals.reason == "the agents may play against each other: their mean return decides nothing"
    lesson = judge(many, Measured(1.0, 0.1, 100), num_agents=1, otherwise="without the lesson")
    assert lesson.reason == "random play was measured without the lesson: `attract eval latest`"


def of(*returns: float) -> Measured:
    return Measured.of_returns(returns)


def test_few_episodes_are_enough_where_an_exact_test_decides() -> None:
    many = of(*(4.0 + index % 3 for index in range(20)))
    # There are 888,030 ways to choose 7 of 27 returns; one has all of the low ones: 1.1e-6.
    assert verdict(many, of(0, 0, 0, 1, 0, 0, 0)).learned is True
    # 1 of 924 ways, 0.00108: below the 0.00135 of three standard errors. 1 of 252 is not.
    assert verdict(of(7, 8, 9, 7, 8, 9), of(1, 2, 3, 1, 2, 3)).learned is True
    few = verdict(of(7, 8, 9, 7, 8), of(1, 2, 3, 1, 2))
    assert few.learned is None
    assert few.reason is not None and "5 episodes, 20 are needed" in few.reason
    # Better by chance, alike, and worse: more episodes may still show it.
    for trained in (of(1, 9, 1, 2, 1, 1, 2), of(*[1.0] * 7), of(*[0.0] * 7)):
        assert verdict(trained, of(1, 2, 1, 2, 1, 2, 1)).learned is None
    assert verdict(many, Measured(0.0, 0.1, 7)).learned is None, "its returns are not known"


def test_a_verdict_is_the_same_each_time_it_is_asked() -> None:
    trained, random = of(*(index % 7 for index in range(60))), of(*(index % 5 for index in range(12)))
    assert len({verdict(trained, random).learned for _ in range(3)}) == 1
