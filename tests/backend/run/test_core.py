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


def test_a_cell_ends_with_cell_0_whatever_it_has_under_way() -> None:
    simulation = RunSimulation(small_config())
    core = simulation.run_core
    core.group_ended(1.0)
    assert core.life.is_ending
    # Heard once more, it is the same.
    core.group_ended(2.0)
    assert core.life.error is None
