"""Versions of a run: what three undone updates in a row do, and a row that nobody waits for."""

from attract.run import effects, inputs
from attract.run.life import PauseReason
from attract.schema.learner import Dropped
from driven_core import small_config
from run_simulation import RunSimulation


def test_P8_the_third_undone_update_in_a_row_pauses_and_the_second_does_not() -> None:
    core = RunSimulation(small_config()).run_core
    core.handle(Dropped(batch_id=1, reason="nan", consecutive=2), 1.0)
    assert PauseReason.DROPPED_UPDATES not in core.progress.life.reasons
    core.handle(Dropped(batch_id=1, reason="nan", consecutive=3), 2.0)
    assert PauseReason.DROPPED_UPDATES in core.progress.life.reasons
    assert "3 updates in a row were undone" in (core.progress.life.error or "")


def test_D1_nothing_is_announced_of_a_row_that_was_not_asked_for() -> None:
    core = RunSimulation(small_config()).run_core
    assert effects.PublishRow() not in core.handle(inputs.RowCommitted(), 1.0)
