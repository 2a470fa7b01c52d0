"""Game parameters: the settings' values, checked against the game's declaration, for the wire."""

from collections.abc import Mapping

from attract.errors import ConfigurationError, nearest_name
from attract.schema.game import GameDescription, ParameterRange
from attract.schema.messages import ParameterDistribution
from attract.settings.curriculum import DistributionSettings


def resolve_parameters(
    parameters: Mapping[str, DistributionSettings], game: GameDescription, *, setting: str
) -> dict[str, ParameterDistribution]:
    """The distributions that leases carry.

    Args:
        parameters: by the names that the game declares.
        game: which declares them.
        setting: where they stand in the settings, for messages.

    Raises: ConfigurationError: for a parameter the game does not have, naming the nearest, and for values
        outside its declared range.
    """
    return {
        name: _resolve(distribution, _declared(game, name, f"{setting}.{name}"), f"{setting}.{name}")
        for name, distribution in sorted(parameters.items())
    }


def _declared(game: GameDescription, name: str, setting: str) -> ParameterRange:
    declared = game.parameters.get(name)
    if declared is not None:
        return declared
    near = nearest_name(name, game.parameters)
    known = ", ".join(sorted(game.parameters)) or "none"
    fix = f"did you mean {near!r}?" if near else f"its parameters: {known}"
    raise ConfigurationError(f"{game.id} has no such parameter", setting=setting, fix=fix)


def _resolve(
    distribution: DistributionSettings, declared: ParameterRange, setting: str
) -> ParameterDistribution:
    low, high = declared.low, declared.high
    for bounds in distribution.ranges:
        if bounds[0] < low or bounds[1] > high:
            text = f"{bounds[0]:g}" if bounds[0] == bounds[1] else f"[{bounds[0]:g}, {bounds[1]:g}]"
            raise ConfigurationError(
                f"{distribution.kind} {text} is outside the range that the game declares",
                setting=setting,
                fix=f"stay within [{low:g}, {high:g}]",
            )
    if distribution.normal is not None:
        values = [*distribution.normal, low, high]
    elif distribution.constant is not None:
        values = [distribution.constant]
    else:
        values = [limit for bounds in distribution.ranges for limit in bounds]
    return ParameterDistribution(kind=distribution.kind, values=values)
