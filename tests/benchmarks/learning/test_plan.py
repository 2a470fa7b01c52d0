"""The plan names every run once, with its baseline's beside it."""

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.learning.plan import SCHEDULES_NAME, SEEDS, TASKS, plan_runs


def test_every_variant_and_baseline_is_run_with_every_seed_under_a_key_of_its_own() -> None:
    runs = plan_runs()
    keys = [run.key for run in runs]
    assert len(set(keys)) == len(keys)
    variants = sum(len(task.variants) + (task.baseline is not None) for task in TASKS)
    # The three schedules come to the tasks' variants and baselines.
    assert len(runs) == len(SEEDS) * (variants + 3)
    assert {run.task for run in runs} == {task.game for task in TASKS} | {SCHEDULES_NAME}


def test_the_baseline_trains_for_as_many_steps_as_we_do() -> None:
    for task in TASKS:
        runs = plan_runs(only=task.game, seed=2)
        assert {run.steps for run in runs} == {task.steps}
        assert {run.seed for run in runs} == {2}
        assert [run.variant for run in runs if run.baseline is not None] == ["sb3"] * (
            task.baseline is not None
        )


def test_scale_takes_a_fraction_of_the_steps() -> None:
    assert [run.steps for run in plan_runs(only="pendulum", seed=1, scale=0.01)] == [3000, 3000]


def test_the_memory_task_is_trained_with_without_and_with_forgotten_states() -> None:
    flags = {run.variant: run.flags for run in plan_runs(only="memory", seed=1)}
    assert flags == {
        "lstm": ("--until-return", "0.95"),
        "mlp": ("--policy.recurrent", "none", "--until-return", "0.95"),
        "zero": ("--ppo.recurrent-start", "zero", "--until-return", "0.95"),
    }


def test_an_unknown_task_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'pendulum'"):
        plan_runs(only="pendulun")


@pytest.mark.parametrize("scale", [0.0, -1.0, 1.5])
def test_a_scale_that_cannot_be_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match="--scale"):
        plan_runs(scale=scale)


def test_both_sides_are_judged_by_as_many_episodes() -> None:
    for task in TASKS:
        assert {run.episodes for run in plan_runs(only=task.game)} == {task.episodes}
    assert {task.game for task in TASKS if task.episodes == 500} == {
        "cartpole",
        "lander",
        "pendulum",
        "memory",
    }
