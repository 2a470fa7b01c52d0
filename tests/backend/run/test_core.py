"""The run core's pause by hand."""

from attract.run.life import PauseReason
from driven_core import small_config
from run_simulation import RunSimulation


def test_a_pause_by_hand_outlives_a_full_disk_and_ends_by_hand() -> None:
    core = RunSimulation(small_config()).run_core
    core.pause(1.0)
    core.disk_changed("no space left", 2.0)
    assert core.life.reasons == {PauseReason.USER, PauseReason.DISK}
    core.disk_changed(None, 3.0)
    assert core.life.reasons == {PauseReason.USER}
    core.resume(4.0)
    assert core.life.reasons == set()
