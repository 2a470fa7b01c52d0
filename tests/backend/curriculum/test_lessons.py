"""Lessons: their parameters, the metrics that a threshold can name, and the window that it is judged on."""

import json
from typing import Any

import pytest

from attract.curriculum.lessons import Lessons, resolve_parameters
from attract.curriculum.window import EpisodeWindow, check_metric, is_of_window
from attract.errors import ConfigurationError
from attract.schema.episodes import Episode, Episodes
from attract.schema.game import GameDescription
from attract.settings.curriculum import DistributionSettings, LessonSettings
from attract.settings.run import RunSettings
from fake_worker import counting_description


def lesson(name: str, **fields: Any) -> LessonSettings:
    return LessonSettings.from_mapping({"name": name, "min_episodes": 0, **fields})


def three(**fields: Any) -> Lessons:
    until = {"metric": "food", "at_least": 5, "times": 3}
    back = {"metric": "food", "at_most": 2, "times": 2}
    return Lessons(
        [
            lesson("small", until=until, **fields),
            lesson("medium", until=until, back=back, **fields),
            lesson("large", back=back, **fields),
        ]
    )


def played(lessons: Lessons, *values: float | None) -> list[str]:
    """The lesson after each check."""
    names: list[str] = []
    for value in values:
        lessons.check(lambda name, value=value: value if name == "food" else None)
        names.append(lessons.lesson.name)
    return names


def test_C6_a_threshold_must_be_met_so_many_times_in_a_row():
    assert played(three(), 5, 5, 4.9, 5, 5, 5) == ["small"] * 5 + ["medium"]


def test_a_value_that_is_not_there_neither_meets_nor_breaks_a_threshold():
    assert played(three(), 5, None, 5, None, 5) == ["small"] * 4 + ["medium"]


def test_it_falls_back_only_below_the_lower_threshold_and_starts_counting_anew():
    lessons = three()
    played(lessons, 5, 5, 5)
    assert played(lessons, 3, 2, 3, 2, 2) == ["medium"] * 4 + ["small"]
    assert played(lessons, 5, 5, 5) == ["small", "small", "medium"]


def test_no_lesson_follows_the_last_one():
    lessons = three()
    assert played(lessons, *[9.0] * 20)[-1] == "large"
    assert lessons.is_last
    assert lessons.number == 3


def test_a_lesson_lasts_its_episodes_whatever_the_metric():
    lessons = three(min_episodes=2)
    assert played(lessons, 5, 5, 5, 5)[-1] == "small"
    lessons.count()
    assert played(lessons, 5)[-1] == "small"
    lessons.count()
    assert played(lessons, 5)[-1] == "medium"
    # The next one counts its own.
    assert played(lessons, 5, 5, 5)[-1] == "medium"


def test_a_change_says_why():
    lessons = three()
    value = iter([5.0, 6.0, 7.25])
    changes = [lessons.check(lambda name: next(value)) for _ in range(3)]
    assert changes[:2] == [None, None]
    change = changes[2]
    assert change is not None
    assert (change.before, change.now) == ("small", "medium")
    assert change.reason == "food was at least 5 3 times in a row, lastly 7.25"


def test_D2_lessons_go_on_in_the_middle():
    lessons, other = three(min_episodes=1), three(min_episodes=1)
    lessons.count()
    played(lessons, 5, 5, 5)
    lessons.count()
    played(lessons, 5, 5)
    other.load(json.loads(json.dumps(lessons.state())))
    assert other.lesson.name == "medium"
    assert played(other, 5) == ["large"]


def test_a_lesson_that_is_no_longer_there_is_named():
    other = Lessons([lesson("only")])
    with pytest.raises(ConfigurationError, match="in lesson 'small'") as caught:
        other.load(three().state())
    assert "there are only" in str(caught.value)


SNAKE = GameDescription.model_validate(
    counting_description().model_dump()
    | {"id": "Snake-v1", "parameters": {"size": {"default": 10, "low": 6, "high": 20}}}
)


def resolve(**given: object) -> dict[str, tuple[str, list[float]]]:
    parameters = {name: DistributionSettings.from_mapping(setting) for name, setting in given.items()}  # type: ignore[arg-type]
    resolved = resolve_parameters(parameters, SNAKE, setting="parameters")
    return {name: (distribution.kind, distribution.values) for name, distribution in resolved.items()}


def test_each_kind_becomes_what_a_lease_carries():
    assert resolve(size={"constant": 7}) == {"size": ("constant", [7.0])}
    assert resolve(size={"uniform": [6, 9]}) == {"size": ("uniform", [6.0, 9.0])}
    assert resolve(size={"multi_range": [[6, 7], [18, 20]]}) == {
        "size": ("multi_range", [6.0, 7.0, 18.0, 20.0])
    }
    # Clipped to what the game declares: [mean, deviation, low, high].
    assert resolve(size={"normal": [10, 3]}) == {"size": ("normal", [10.0, 3.0, 6.0, 20.0])}


def test_a_parameter_the_game_does_not_have_is_refused_with_the_nearest():
    with pytest.raises(ConfigurationError) as caught:
        resolve(sise={"constant": 7})
    assert str(caught.value) == ("parameters.sise: Snake-v1 has no such parameter\n  did you mean 'size'?")


@pytest.mark.parametrize("given", [{"constant": 5}, {"uniform": [6, 21]}, {"multi_range": [[6, 7], [5, 6]]}])
def test_values_outside_the_declared_range_are_refused(given: dict[str, object]):
    with pytest.raises(ConfigurationError, match=r"stay within \[6, 20\]"):
        resolve(size=given)


GAME = counting_description().model_copy(update={"metrics": {"food": "sum"}, "reward_terms": {"step": 0.0}})
PLAIN = RunSettings()
EVALUATING = RunSettings.from_mapping(
    {"callbacks": {"evaluation": {"every_episodes": 100, "modes": ["sampled"]}}}
)


def refusal(name: str, settings: RunSettings = PLAIN) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as refused:
        check_metric(name, settings, GAME, setting="curriculum.metric")
    assert refused.value.setting == "curriculum.metric"
    return refused.value


@pytest.mark.parametrize(
    "name",
    ["game/food", "reward/step", "rollout/ep_rew_mean", "rollout/ep_len_mean", "train/entropy", "own/name"],
)
def test_a_metric_that_the_run_will_have_passes(name: str):
    check_metric(name, PLAIN, GAME, setting="curriculum.metric")


def test_a_name_without_a_family_is_no_metric():
    error = refusal("food")
    assert "'food' is no metric" in str(error)
    assert "rollout/ep_rew_mean" in str(error)


def test_a_wrong_name_is_answered_with_the_nearest():
    assert "did you mean 'game/food'?" in str(refusal("game/fod"))
    assert "did you mean 'rollout/ep_len_mean'?" in str(refusal("rollout/ep_len_men"))


def test_a_name_like_no_other_is_answered_with_those_there_are():
    assert "there are: reward/step" in str(refusal("reward/" + "z" * 40))
    bare = counting_description()
    with pytest.raises(ConfigurationError, match="Counting-v1 declares none"):
        check_metric("game/food", PLAIN, bare, setting="curriculum.metric")


def test_an_evaluations_metric_needs_an_evaluation_of_its_mode():
    assert "none are configured" in str(refusal("eval/mean_reward"))
    check_metric("eval_sampled/mean_reward", EVALUATING, GAME, setting="curriculum.metric")
    assert "'deterministic' among its modes" in str(refusal("eval/mean_reward", EVALUATING))


def episode(*returns: float, end_reason: str = "terminated", food: float | None = None) -> Episode:
    return Episode(
        instance_id=0,
        episode=0,
        step=0,
        returns=list(returns),
        length_steps=10,
        length_ticks=20,
        end_reason=end_reason,
        metrics={} if food is None else {"food": food},
        reward_terms={"step": 4.0},
    )


def test_means_are_over_the_last_100_and_over_episodes_that_have_the_metric():
    window = EpisodeWindow({"step": -0.5})
    window.add(episode(1000.0, food=1000.0))
    for number in range(100):
        window.add(episode(float(number), food=float(number) if number % 2 else None))
    # 0 + ... + 99 = 4950; the odd ones among them: 1 + 3 + ... + 99 = 2500, 50 of them.
    assert window.mean("rollout/ep_rew_mean") == 49.5
    assert window.mean("game/food") == 50.0
    assert window.mean("rollout/ep_len_mean") == 10.0
    assert window.mean("reward/step") == -2.0
    assert window.mean("game/nothing") is None
    assert window.is_full


def test_the_deviation_is_that_of_the_episodes_in_the_window():
    window = EpisodeWindow()
    assert window.std("rollout/ep_rew_mean") is None
    for value in (1.0, 3.0, 5.0, 7.0):
        window.add(episode(value))
    # Mean 4, squares 9 + 1 + 1 + 9 = 20, over 4 is 5.
    assert window.std("rollout/ep_rew_mean") == pytest.approx(5.0**0.5)


def test_E1_cut_episodes_never_enter():
    window = EpisodeWindow()
    window.add(episode(5.0, end_reason="cut"))
    assert (len(window), window.return_mean) == (0, None)


def test_many_episodes_at_once_are_as_one_after_another():
    at_once, singly = EpisodeWindow(), EpisodeWindow()
    results = [
        episode(float(number), end_reason="cut" if number % 3 else "terminated") for number in range(400)
    ]
    at_once.extend(Episodes.of(results, 1))
    for result in results:
        singly.add(result)
    assert at_once.state() == singly.state()
    assert (len(at_once), at_once.return_mean) == (100, singly.return_mean)


def test_several_agents_have_a_mean_each_and_one_together():
    window = EpisodeWindow()
    window.add(episode(1.0, 5.0))
    window.add(episode(3.0, 1.0))
    assert window.return_mean == 2.5  # (3 + 2) / 2
    assert window.agent_return_means == [2.0, 3.0]
    assert window.mean("rollout/ep_rew_mean/agent_1") == 3.0
    assert window.mean("rollout/ep_rew_mean/agent_2") is None


def test_D2_a_window_goes_through_a_checkpoint_unchanged():
    window, other = EpisodeWindow({"step": -0.5}), EpisodeWindow()
    for number in range(3):
        window.add(episode(float(number), food=2.0))
    other.load(json.loads(json.dumps(window.state())))
    assert other.state() == window.state()
    assert other.mean("reward/step") == -2.0
    window.clear()
    assert window.return_mean is None


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("rollout/ep_rew_mean", True),
        ("rollout/ep_rew_mean/agent_2", True),
        ("game/food", True),
        ("reward/step", True),
        ("rollout/episodes", False),
        ("eval/mean_reward", False),
        ("train/entropy", False),
    ],
)
def test_what_is_a_mean_over_the_window(name: str, inside: bool):
    assert is_of_window(name) == inside
