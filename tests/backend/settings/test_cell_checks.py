import pytest

from attract.errors import ConfigurationError
from attract.settings.cell_checks import check_for_cells
from attract.settings.run import RunSettings

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
