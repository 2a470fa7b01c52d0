import pytest

from attract.errors import ConfigurationError
from attract.settings.cells import Cell

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
