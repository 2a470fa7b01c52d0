"""What of the settings of exploration is refused."""

import pytest

from attract.errors import ConfigurationError
from attract.settings.rnd import RndSettings


@pytest.mark.parametrize("given", [{"coef": -1}, {"gamma": 1.5}, {"value_head": "none"}, {"coefficient": 1}])
def test_what_cannot_be_is_refused_under_its_own_name(given: dict[str, object]):
    with pytest.raises(ConfigurationError) as refused:
        RndSettings.from_mapping(given)
    assert f"rnd.{next(iter(given))}" in str(refused.value)


def test_the_bonus_shares_the_value_head_unless_told():
    assert RndSettings().value_head == "shared"
