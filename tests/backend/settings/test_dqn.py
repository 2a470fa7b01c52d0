"""DQN's own settings: their limits, and the actions that it refuses."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.dqn import DqnSettings


@pytest.mark.parametrize(("name", "wrong"), [("n_quantiles", 0), ("exploration_final_eps", -0.1)])
def test_a_number_out_of_its_limits_is_refused_by_its_path(name: str, wrong: float):
    with pytest.raises(ConfigurationError, match=f"dqn.{name}"):
        DqnSettings.from_mapping({name: wrong})


def test_real_numbers_are_refused_and_what_moves_them_is_named():
    assert DqnSettings.refuses.keys() & {"box", "discrete", "multi_discrete", "multi_binary"} == {"box"}
    assert "'sac' or 'ppo'" in DqnSettings.refuses["box"]
