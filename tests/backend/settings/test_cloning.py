"""What of the settings of demonstrations is refused."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.cloning import CloningSettings


@pytest.mark.parametrize("given", [{"coef": -1}, {"share": 1.5}, {"minibatch_steps": 0}, {"weight": 1}])
def test_what_cannot_be_is_refused_under_its_own_name(given: dict[str, object]):
    with pytest.raises(ConfigurationError) as refused:
        CloningSettings.from_mapping(given)
    assert f"cloning.{next(iter(given))}" in str(refused.value)


def test_without_a_place_to_look_there_are_no_demonstrations():
    assert CloningSettings().demonstrations is None
