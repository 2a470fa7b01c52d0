from typing import Any

import pytest

from attract.collection import effects as collecting
from attract.run import effects, inputs
from attract.run.core_state import CoreState
from attract.run.effect_runner import EffectRunner
from attract.run.effects import Effect
from driven_core import small_config
from run_simulation import RunSimulation


def runner_of(apply: Any) -> EffectRunner:
    """A runner of a fresh run, whose effects go to `apply`."""
    simulation = RunSimulation(small_config())
    runner = EffectRunner(simulation.run_core, lambda: 1.0, lambda: 0)
    runner.connect(apply)
    return runner


async def test_an_input_within_an_effect_is_decided_at_once_and_applied_after_all_that_waits() -> None:
    applied: list[str] = []

    def apply(effect: Effect) -> None:
        name = effect.kind if isinstance(effect, collecting.Note) else type(effect).__name__
        applied.append(f"begin {name}")
        if name == "first":
            runner.take([collecting.Note("third", "")], 1.0)
            assert applied[-1] == "begin first", "not within the effect that caused it"
        applied.append(f"end {name}")

    runner = runner_of(apply)
    runner.take([collecting.Note("first", ""), collecting.Note("second", "")], 1.0)
    order = ["first", "second", "third"]
    assert applied == [f"{what} {name}" for name in order for what in ("begin", "end")]


async def test_what_is_only_told_is_left_out_where_it_cannot_be_and_anything_else_ends_the_run() -> None:
    applied: list[Effect] = []

    def apply(effect: Effect) -> None:
        applied.append(effect)
        if isinstance(effect, collecting.Note | collecting.WakeAfter):
            raise OSError("a fault of our own")

    runner = runner_of(apply)
    runner.take([collecting.Note("a", ""), collecting.CloseConnection(1, 1000, "")], 1.0)
    assert (runner.is_broken, len(applied)) == (False, 2)
    runner.take([collecting.WakeAfter(1.0), collecting.CloseConnection(2, 1000, "")], 1.0)
    assert runner.is_broken
    assert collecting.CloseConnection(2, 1000, "") in applied, "the others are not lost"
    assert isinstance(applied[-1], effects.EndLearner), "the run ends"


async def test_who_can_be_refused_is_and_a_fault_in_what_the_learner_said_ends_the_run() -> None:
    applied: list[Effect] = []
    runner = runner_of(applied.append)
    with pytest.raises(KeyError):
        runner.ask(inputs.let_in, "nobody")
    assert applied == [] and not runner.is_broken

    def breaks(state: CoreState, now: float) -> None:
        raise ZeroDivisionError("a fault of our own")

    runner.do(breaks)
    assert runner.is_broken
    assert isinstance(applied[-1], effects.EndLearner)
