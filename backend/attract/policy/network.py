"""Builds the network and action distribution that fit a game."""

import torch

from attract.algorithm.distributions import ActionDistribution, resolve_distribution
from attract.errors import ConfigurationError
from attract.policy.mlp import MlpPolicy
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace
from attract.settings import PolicySettings

Policy = MlpPolicy
"""Every network there is; all share `forward`, `prepare`, `forward_prepared`, `normaliser`."""


def build_policy(
    settings: PolicySettings, game: GameDescription, *, normalize_observations: bool = True, seed: int = 0
) -> Policy:
    """A new network for the game, on the CPU; the same seed gives the same weights.

    Raises: ConfigurationError: when no network is built for the game's spaces.
    """
    space = game.observation
    if not isinstance(space, BoxSpace):
        raise ConfigurationError(
            f"no network for observations of kind {space.kind!r}",
            setting="game.observation",
            fix="kinds that can be trained: 'box'",
        )
    return MlpPolicy(
        space.shape,
        space.dtype,
        build_distribution(game).num_outputs,
        hidden_sizes=settings.hidden_sizes,
        activation=settings.activation,
        shared_trunk=settings.shared_trunk,
        normalize_observations=normalize_observations,
        generator=torch.Generator().manual_seed(seed),
    )


def build_distribution(game: GameDescription) -> ActionDistribution:
    """The action distribution of the game.

    Raises: ConfigurationError: for an action space that cannot be trained.
    """
    return resolve_distribution(game.action.model_dump(mode="json"))
