"""The cell that a launcher makes of a process, and what no cell supports."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.cells import Cell
from attract.settings.run import RunSettings, check_for_cells

GIVEN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.2", "MASTER_PORT": "29500"}


def test_a_launcher_says_which_cell_a_process_is():
    cell = Cell.from_environment(GIVEN)
    assert cell == Cell(rank=1, size=2, address="10.0.0.2", port=29500) and not cell.leads
    kept = Cell.from_environment({**GIVEN, "RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "True"})
    assert kept is not None and kept.has_store and kept.leads


@pytest.mark.parametrize("missing", GIVEN)
def test_a_part_of_the_variables_means_nothing(missing):
    assert Cell.from_environment({**GIVEN, missing: ""}) is None


def test_one_cell_is_no_group():
    assert Cell.from_environment({**GIVEN, "RANK": "0", "WORLD_SIZE": "1"}) is None


@pytest.mark.parametrize("wrong", [{"RANK": "2"}, {"RANK": "x"}, {"MASTER_PORT": "0"}])
def test_what_cannot_work_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="cell"):
        Cell.from_environment({**GIVEN, **wrong})


REFUSED = {
    "ppo.prio_alpha": {"ppo": {"prio_alpha": 0.6}},
    "collection.seats": {"collection": {"seats": ["cat", "mouse"]}},
    "exploration": {"exploration": "rnd"},
    "cloning.demonstrations": {"cloning": {"demonstrations": "played"}},
    "federated": {"federated": {"rendezvous": "10.0.0.2:29500", "rank": 0, "world_size": 2}},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cells_cannot_do_is_refused_by_name(name):
    with pytest.raises(ConfigurationError, match=rf"^{name}: distributed training with several cells"):
        check_for_cells(RunSettings.from_mapping(REFUSED[name]))


def test_what_they_can_do_is_not():
    check_for_cells(
        RunSettings.from_mapping({"policy": {"recurrent": "lstm"}, "collection": {"seats": ["cat", "cat"]}})
    )
