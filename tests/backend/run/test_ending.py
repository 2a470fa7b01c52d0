"""How a run ends: at once, and only once."""

from attract.run import effects
from driven_core import small_config
from run_simulation import RunSimulation


def test_an_abort_ends_the_learner_at_once_and_nothing_is_decided_afterwards() -> None:
    core = RunSimulation(small_config()).run_core
    assert effects.EndLearner(at_once=True) in core.abort(1.0)
    assert effects.Release() in core.learner_ended(2.0)
    assert core.life.is_over
    assert core.tick(3.0) == []
