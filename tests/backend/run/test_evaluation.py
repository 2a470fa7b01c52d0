"""Whose turn it is, and which version is the best."""

import pytest

from attract.run.evaluation import EvaluationRequest, Evaluations, evaluation_metrics
from attract.schema.api import EvaluationView


def view(return_mean: float, *, deterministic: bool = True, confirmed: bool = True) -> EvaluationView:
    return EvaluationView(
        policy_version=1,
        episodes=2,
        return_mean=return_mean,
        return_std=0.5,
        length_mean=10.0,
        deterministic=deterministic,
        confirmed=confirmed,
    )


@pytest.mark.parametrize(
    ("returns", "best"),
    [
        ([1.0, 3.0, 2.0], [0, 1]),
        # A duel: what one wins the other loses, so that only the newest is a choice.
        ([0.0, 0.0, 0.0], [0, 1, 2]),
        ([5.0, 5.0, 4.0], [0, 1]),
    ],
)
def test_the_newest_of_the_highest_return_is_the_best(returns: list[float], best: list[int]) -> None:
    evaluations = Evaluations()
    assert [n for n, value in enumerate(returns) if evaluations.is_best_by_return(value)] == best


def test_once_an_evaluation_has_decided_training_returns_say_nothing() -> None:
    evaluations = Evaluations()
    assert not evaluations.is_best_by_return(None)
    assert evaluations.is_best(view(1.0), deterministic=True)
    assert not evaluations.is_best_by_return(100.0)


def test_only_confirmed_evaluations_of_the_deciding_mode_name_the_best_and_it_is_remembered() -> None:
    evaluations = Evaluations()
    assert not evaluations.is_best(view(9.0, confirmed=False), deterministic=True)
    assert not evaluations.is_best(view(9.0, deterministic=False), deterministic=True)
    assert evaluations.is_best(view(3.0), deterministic=True)
    assert not evaluations.is_best(view(2.0), deterministic=True)
    resumed = Evaluations()
    resumed.load(evaluations.state())
    assert not resumed.is_best(view(2.0), deterministic=True)
    assert resumed.is_best(view(3.0), deterministic=True)


def test_evaluations_take_turns() -> None:
    evaluations = Evaluations()
    first, second = EvaluationRequest("asked", 2, True, 1), EvaluationRequest("goal", 2, True, 1)
    evaluations.add(first)
    evaluations.add(second)
    assert evaluations.begin_next() is first
    assert evaluations.begin_next() is None
    assert evaluations.done() is first
    assert evaluations.done() is None, "the second has not begun"
    assert evaluations.has("goal") and not evaluations.has("asked")
    assert evaluations.begin_next() is second
    assert evaluations.done() is second
    assert not evaluations.is_running


def test_an_evaluation_has_the_names_of_its_mode() -> None:
    found = view(4.0, deterministic=False).model_copy(update={"agent_return_means": [3, 5]})
    values = evaluation_metrics(found)
    assert values == {
        "eval_sampled/mean_reward": 4.0,
        "eval_sampled/std_reward": 0.5,
        "eval_sampled/mean_ep_length": 10.0,
        "eval_sampled/mean_reward/agent_0": 3,
        "eval_sampled/mean_reward/agent_1": 5,
    }


def test_only_an_evaluation_that_was_asked_for_is_ended_early() -> None:
    evaluations = Evaluations()
    evaluations.add(EvaluationRequest("callback", 2, True, 0))
    evaluations.add(EvaluationRequest("asked", 2, True, 0))
    assert not evaluations.is_asked
    evaluations.begin_next()
    assert not evaluations.is_asked
    evaluations.done()
    evaluations.begin_next()
    assert evaluations.is_asked
