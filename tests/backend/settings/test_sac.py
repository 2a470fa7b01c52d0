"""SAC's own settings: their limits, the actions that it refuses, and what a study searches."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.sac import SacSettings


@pytest.mark.parametrize(("name", "wrong"), [("temperature", 0.0), ("replay_ratio", 65.0), ("tau", 0.0)])
def test_a_number_out_of_its_limits_is_refused_by_its_path(name: str, wrong: float):
    with pytest.raises(ConfigurationError, match=f"sac.{name}"):
        SacSettings.from_mapping({name: wrong})


def test_choices_are_refused_and_what_makes_them_is_named():
    refused = SacSettings.refuses.keys() & {"box", "discrete", "multi_discrete", "multi_binary"}
    assert refused == {"discrete", "multi_discrete", "multi_binary"}
    assert all("'dqn' or 'ppo'" in SacSettings.refuses[kind] for kind in refused)


def test_a_study_begins_with_the_values_of_the_run():
    space = SacSettings(target_entropy=0.3, batch_size=64).search_space
    assert space["target_entropy"][0] == 0.3 and space["batch_size"] == [64, 32, 128]
