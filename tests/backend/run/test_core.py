"""The run core's pause by hand."""

from attract.run import inputs
from attract.run.life import PauseReason
from driven_core import small_config
from run_simulation import RunSimulation


def test_a_pause_by_hand_outlives_a_full_disk_and_ends_by_hand() -> None:
    core = RunSimulation(small_config()).run_core
    core.handle(inputs.pause, 1.0)
    core.handle(inputs.disk_changed, 2.0, "no space left")
    assert core.progress.life.reasons == {PauseReason.USER, PauseReason.DISK}
    core.handle(inputs.disk_changed, 3.0, None)
    assert core.progress.life.reasons == {PauseReason.USER}
    core.handle(inputs.resume, 4.0)
    assert core.progress.life.reasons == set()
