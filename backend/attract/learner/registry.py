"""The algorithms there are, by the name that settings choose them by; the only module that knows them all."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attract.errors import ConfigurationError
from attract.learner.algorithms.algorithm import Algorithm, AlgorithmChoice, Learnable
from attract.learner.exploration.rnd import WithRnd
from attract.learner.ppo.algorithm import Ppo
from attract.settings.ppo import PpoSettings
from attract.settings.rnd import RndSettings


def _ppo(hyperparameters: Mapping[str, Any]) -> AlgorithmChoice:
    settings = PpoSettings.from_mapping(hyperparameters)
    return AlgorithmChoice("ppo", settings.normalize_observations, lambda one: Ppo(one, settings))


ALGORITHMS: Mapping[str, Callable[[Mapping[str, Any]], AlgorithmChoice]] = {"ppo": _ppo}
"""Name to what makes a choice of its settings' plain data."""


def choose_algorithm(
    name: str, hyperparameters: Mapping[str, Any], *, exploration: Mapping[str, Any] | None = None
) -> AlgorithmChoice:
    """The algorithm of that name with these settings.

    Args:
        name: a key of `ALGORITHMS`.
        hyperparameters: plain data of its settings.
        exploration: plain data of `RndSettings`, to pay for the unseen around it; None: nothing does.

    Raises: ConfigurationError: when there is none, or the settings cannot work.
    """
    if name not in ALGORITHMS:
        raise ConfigurationError(f"no algorithm is called {name!r}; there is {', '.join(ALGORITHMS)}")
    choice = ALGORITHMS[name](hyperparameters)
    if exploration is None:
        return choice
    rnd = RndSettings.from_mapping(exploration)
    return replace(choice, create=partial(_with_rnd, choice, rnd))


def _with_rnd(inner: AlgorithmChoice, settings: RndSettings, learnable: Learnable) -> Algorithm:
    return WithRnd(learnable, inner.create(learnable), settings)
