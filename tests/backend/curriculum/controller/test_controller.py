import json
from typing import Any

import pytest

from attract.curriculum.controller import Action, ChangeLesson, CurriculumController, Evaluate, KeepVersion
from attract.errors import ConfigurationError
from attract.schema.episodes import Episode, Episodes
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings
from fake_worker import counting_description

GAME = GameDescription.model_validate(
    counting_description().model_dump()
    | {
        "id": "Snake-v1",
        "parameters": {"size": {"default": 10, "low": 6, "high": 20}},
        "metrics": {"food": "last"},
        "reward_terms": {"food": 1.0},
    }
)
CURRICULUM: dict[str, Any] = {
    "curriculum": {
        "every_episodes": 5,
        "lessons": [
            {
                "name": "small",
                "parameters": {"size": 6},
                "until": {"metric": "game/food", "at_least": 5, "times": 2},
                "min_episodes": 0,
            },
            {"name": "large", "parameters": {"size": {"uniform": [8, 12]}}},
        ],
    }
}


def controller(**settings: Any) -> CurriculumController:
    made = CurriculumController(RunSettings.from_mapping(settings))
    made.described(GAME)
    return made


def episode(food: float = 0.0, lesson_id: str | None = None) -> Episode:
    return Episode(
        instance_id=0,
        episode=0,
        step=0,
        returns=[food],
        length_steps=10,
        length_ticks=10,
        end_reason="terminated",
        metrics={"food": food},
        lesson_id=lesson_id,
    )


def play(
    made: CurriculumController, first: int, count: int, food: float = 0.0, bundle: int = 1
) -> list[Action]:
    """What is due while `count` episodes arrive, `bundle` at a time."""
    actions: list[Action] = []
    for start in range(first, first + count, bundle):
        numbers = range(start, min(start + bundle, first + count))
        actions += made.count(start, Episodes.of([episode(food, made.lesson_id) for _ in numbers], 1))
    return actions


def test_C6_callbacks_fall_due_by_global_episode_index_however_episodes_arrive():
    settings: dict[str, Any] = {
        "callbacks": {
            "evaluation": {"every_episodes": 4, "episodes": 7, "modes": ["deterministic", "sampled"]},
            "checkpoint": {"every_episodes": 6},
        }
    }
    evaluate = Evaluate(7, ("deterministic", "sampled"))
    expected = [evaluate, KeepVersion(), evaluate, evaluate, KeepVersion()]  # 4; 6; 8; 12; 12
    assert play(controller(**settings), 0, 12) == expected
    assert play(controller(**settings), 0, 12, bundle=5) == expected


def test_C6_callbacks_fall_due_by_agent_steps():
    made = controller(callbacks={"checkpoint": {"every_steps": 1000}})
    due = [made.committed({}, steps) for steps in (900, 1000, 1900, 4100, 4200)]
    assert due == [[], [KeepVersion()], [], [KeepVersion()], []]


def test_C6_a_lesson_changes_at_the_episode_that_decides_it():
    for bundle in (1, 7):
        made = controller(**CURRICULUM)
        assert made.parameters()["size"].values == [6.0]
        (action,) = play(made, 0, 30, food=6.0, bundle=bundle)
        assert isinstance(action, ChangeLesson)
        # Checks after episodes 5 and 10, indices 4 and 9.
        assert (action.change.now, action.global_episode_index) == ("large", 9)
        assert made.lesson_id == "large"
        assert made.is_last_lesson
        assert made.parameters()["size"].values == [8.0, 12.0]


def test_episodes_of_the_lesson_before_say_nothing_of_this_one():
    made = controller(**CURRICULUM)
    play(made, 0, 10, food=6.0)
    made.count(10, Episodes.of([episode(6.0, "small"), episode(1.0, "large")], 1))
    assert made.window.mean("game/food") == 1.0


def test_base_parameters_are_those_of_evaluations_and_lessons_stand_above_them():
    made = controller(parameters={"size": 20}, **CURRICULUM)
    assert made.base_parameters()["size"].values == [20.0]
    assert made.parameters()["size"].values == [6.0]
    assert controller(parameters={"size": 20}).parameters()["size"].values == [20.0]


def evaluated(**until: Any) -> CurriculumController:
    lessons = [
        {"name": "a", "until": {"at_least": 5, "times": 2, **until}, "min_episodes": 0},
        {"name": "b"},
    ]
    return controller(
        curriculum={"every_episodes": 5, "lessons": lessons},
        callbacks={"evaluation": {"every_steps": 10}},
    )


@pytest.mark.parametrize("metric", ["eval/mean_reward", "train/entropy"])
def test_a_metric_that_comes_seldom_counts_once_for_each_time_it_comes(metric: str):
    made = evaluated(metric=metric)
    made.evaluated({"eval/mean_reward": 9.0, "train/entropy": 9.0})
    assert play(made, 0, 30) == []
    made.committed({"eval/mean_reward": 9.0, "train/entropy": 9.0}, 1)
    (change,) = play(made, 30, 5)
    assert isinstance(change, ChangeLesson)


def test_D2_everything_goes_on_after_a_checkpoint():
    settings = {**CURRICULUM, "callbacks": {"checkpoint": {"every_steps": 100}}}
    first, second = controller(**settings), controller(**settings)
    play(first, 0, 8, food=6.0)
    first.committed({}, 150)
    second.load(json.loads(json.dumps(first.state())), 8, 150)
    assert second.state() == first.state()
    assert second.window.return_mean == 6.0
    # One check of two is behind it: the one at 10 decides.
    (change,) = play(second, 8, 2, food=6.0)
    assert isinstance(change, ChangeLesson)
    assert second.committed({}, 190) == []
    assert second.committed({}, 200) == [KeepVersion()]
    third = controller(**settings)
    third.load(json.loads(json.dumps(second.state())), 10, 200)
    assert third.lesson_id == "large"
    assert third.parameters()["size"].values == [8.0, 12.0]


def test_a_fresh_run_and_one_whose_callbacks_are_new_begin_at_their_counts():
    made = controller(callbacks={"checkpoint": {"every_steps": 100}})
    made.load({}, 50, 950)
    assert made.committed({}, 999) == []
    assert made.committed({}, 1000) == [KeepVersion()]


FEDERATED = {"rendezvous": "127.0.0.1:1", "rank": 0, "world_size": 2, "every_episodes": 100}


def test_C6_rounds_of_averaging_are_numbered_by_episodes_and_none_is_left_out():
    made = controller(federated=FEDERATED)
    assert [made.next_rounds(count) for count in (99, 100, 150, 399, 400)] == [[], [1], [], [2, 3], [4]]


def test_rounds_of_an_update_that_was_undone_are_due_again():
    made = controller(federated=FEDERATED)
    rounds = made.next_rounds(210)
    made.rounds_undone(rounds)
    made.rounds_undone([])
    assert made.next_rounds(210) == [1, 2]
    state = made.state()
    assert made.next_rounds(300) == [3]
    made.load_rounds(state)
    assert made.next_rounds(300) == [3]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("game/fod", "did you mean 'game/food'?"),
        ("reward/fod", "did you mean 'reward/food'?"),
        ("rollout/ep_rew", "did you mean 'rollout/ep_rew_mean'?"),
        ("eval/mean_reward", "callbacks.evaluation.every_episodes"),
        ("food", "metric names look like rollout/ep_rew_mean"),
    ],
)
def test_a_metric_that_this_run_will_never_have_is_refused(metric: str, words: str):
    lessons = [{"name": "a", "until": {"metric": metric, "at_least": 1}}, {"name": "b"}]
    with pytest.raises(ConfigurationError) as caught:
        controller(curriculum={"lessons": lessons})
    assert words in str(caught.value)
    assert "curriculum.lessons.a.metric" in str(caught.value)


def test_a_lessons_parameters_must_be_the_games():
    lessons = [{"name": "a", "parameters": {"size": 5}}]
    with pytest.raises(ConfigurationError, match="stay within") as caught:
        controller(curriculum={"lessons": lessons})
    assert "curriculum.lessons.a.parameters.size" in str(caught.value)
