import pytest

from attract.curriculum.lessons import resolve_parameters
from attract.errors import ConfigurationError
from attract.schema.game import GameDescription
from attract.settings.curriculum import DistributionSettings

GAME = GameDescription.model_validate(
    {
        "id": "Snake-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.1,
        "ticks_per_step": 1,
        "max_seconds": None,
        "max_steps": None,
        "observation": {"kind": "box", "shape": [1]},
        "action": {"kind": "discrete", "n": 2},
        "parameters": {"size": {"default": 10, "low": 6, "high": 20}},
    }
)


def resolve(**given: object) -> dict[str, tuple[str, list[float]]]:
    parameters = {name: DistributionSettings.from_mapping(setting) for name, setting in given.items()}  # type: ignore[arg-type]
    resolved = resolve_parameters(parameters, GAME, setting="parameters")
    return {name: (distribution.kind, distribution.values) for name, distribution in resolved.items()}


def test_each_kind_becomes_what_a_lease_carries():
    assert resolve(size={"constant": 7}) == {"size": ("constant", [7.0])}
    assert resolve(size={"uniform": [6, 9]}) == {"size": ("uniform", [6.0, 9.0])}
    assert resolve(size={"multi_range": [[6, 7], [18, 20]]}) == {
        "size": ("multi_range", [6.0, 7.0, 18.0, 20.0])
    }
    # Clipped to what the game declares: [mean, deviation, low, high].
    assert resolve(size={"normal": [10, 3]}) == {"size": ("normal", [10.0, 3.0, 6.0, 20.0])}


def test_a_parameter_the_game_does_not_have_is_refused_with_the_nearest():
    with pytest.raises(ConfigurationError) as caught:
        resolve(sise={"constant": 7})
    assert str(caught.value) == ("parameters.sise: Snake-v1 has no such parameter\n  did you mean 'size'?")


@pytest.mark.parametrize("given", [{"constant": 5}, {"uniform": [6, 21]}, {"multi_range": [[6, 7], [5, 6]]}])
def test_values_outside_the_declared_range_are_refused(given: dict[str, object]):
    with pytest.raises(ConfigurationError, match=r"stay within \[6, 20\]"):
        resolve(size=given)
