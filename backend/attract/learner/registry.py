"""The algorithms there are, by the name that settings choose them by; the only module that knows them all."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attract.errors import ConfigurationError
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Algorithm, AlgorithmChoice, Learnable
from attract.learner.exploration.rnd import WithRnd
from attract.learner.group.cells import SINGLE_PROCESS, LearnerGroup
from attract.learner.imitation.cloning import WithCloning
from attract.learner.ppo.algorithm import Ppo
from attract.settings.base import LearnerName
from attract.settings.cloning import CloningSettings
from attract.settings.ppo import PpoSettings
from attract.settings.rnd import RndSettings


def _ppo(hyperparameters: Mapping[str, Any], learner: LearnerName, group: LearnerGroup) -> AlgorithmChoice:
    settings = PpoSettings.from_mapping(hyperparameters)
    return AlgorithmChoice(
        "ppo", settings.normalize_observations, lambda learnable: Ppo(learnable, settings, learner, group)
    )


ALGORITHMS: Mapping[str, Callable[[Mapping[str, Any], LearnerName, LearnerGroup], AlgorithmChoice]] = {
    "ppo": _ppo
}
"""Name to what makes a choice of its settings' plain data."""


def choose_algorithm(
    name: str,
    hyperparameters: Mapping[str, Any],
    *,
    learner: LearnerName = "auto",
    group: LearnerGroup = SINGLE_PROCESS,
    exploration: Mapping[str, Any] | None = None,
    cloning: Mapping[str, Any] | None = None,
    demonstrations: Mapping[str | None, Batch] | None = None,
) -> AlgorithmChoice:
    """The algorithm of that name with these settings.

    Args:
        name: a key of `ALGORITHMS`.
        hyperparameters: plain data of its settings.
        learner: how its gradients are computed.
        group: of learners that make each update together.
        exploration: plain data of `RndSettings`, for intrinsic rewards around it; None: none.
        cloning: plain data of `CloningSettings`, of the weight that demonstrations have beside experience.
        demonstrations: by policy id, None of a sole policy; None: there are none.

    Raises: ConfigurationError: when there is none, or the settings cannot work.
    """
    if name not in ALGORITHMS:
        raise ConfigurationError(f"no algorithm is called {name!r}; there is {', '.join(ALGORITHMS)}")
    choice = ALGORITHMS[name](hyperparameters, learner, group)
    if exploration is not None:
        choice = replace(choice, create=partial(_with_rnd, choice, RndSettings.from_mapping(exploration)))
    if cloning is not None and demonstrations is not None:
        settings = CloningSettings.from_mapping(cloning)
        choice = replace(choice, create=partial(_with_cloning, choice, settings, demonstrations))
    return choice


def _with_rnd(inner: AlgorithmChoice, settings: RndSettings, learnable: Learnable) -> Algorithm:
    return WithRnd(learnable, inner.create(learnable), settings)


def _with_cloning(
    inner: AlgorithmChoice,
    settings: CloningSettings,
    demonstrations: Mapping[str | None, Batch],
    learnable: Learnable,
) -> Algorithm:
    own = demonstrations[learnable.policy_id]
    return WithCloning(learnable, inner.create(learnable), settings, own)
