"""The run core has a handler for each input; and its pause by hand."""

from typing import get_args

from attract.run import inputs
from attract.run.core import HANDLERS
from attract.run.life import PauseReason
from driven_core import small_config
from run_simulation import RunSimulation


def test_every_input_has_a_handler_and_every_handler_an_input() -> None:
    events = set(inputs.Event.__subclasses__())
    assert events | set(get_args(inputs.Input)) - {inputs.Event} == HANDLERS.keys()


def test_a_pause_by_hand_outlives_a_full_disk_and_ends_by_hand() -> None:
    core = RunSimulation(small_config()).run_core
    core.handle(inputs.Pause(), 1.0)
    core.handle(inputs.DiskChanged("no space left"), 2.0)
    assert core.progress.life.reasons == {PauseReason.USER, PauseReason.DISK}
    core.handle(inputs.DiskChanged(None), 3.0)
    assert core.progress.life.reasons == {PauseReason.USER}
    core.handle(inputs.Resume(), 4.0)
    assert core.progress.life.reasons == set()
