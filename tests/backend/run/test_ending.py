"""How a run ends: at once, and only once."""

from attract.run import effects, ending, inputs
from driven_core import small_config
from run_simulation import RunSimulation


def test_an_abort_ends_the_learner_at_once_and_nothing_is_decided_afterwards() -> None:
    core = RunSimulation(small_config()).run_core
    assert effects.EndLearner(at_once=True) in core.handle(ending.abort, 1.0)
    assert effects.Release() in core.handle(ending.learner_ended, 2.0)
    assert core.progress.life.is_over
    assert core.handle(inputs.tick, 3.0) == []
