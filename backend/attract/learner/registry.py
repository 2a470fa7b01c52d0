"""The algorithms there are, by the name that settings choose them by; the only module that knows them all."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from attract.algorithm.categories import NUM_BINS
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Algorithm, AlgorithmChoice, Learnable
from attract.learner.dqn.algorithm import Dqn
from attract.learner.exploration.rnd import WithRnd
from attract.learner.imitation.cloning import WithCloning
from attract.learner.ppo.algorithm import Ppo
from attract.learner.sac.algorithm import Sac
from attract.settings.cloning import CloningSettings
from attract.settings.dqn import DqnSettings
from attract.settings.ppo import PpoSettings
from attract.settings.rnd import RndSettings
from attract.settings.run import RunSettings
from attract.settings.sac import SacSettings


def _ppo(run: RunSettings) -> AlgorithmChoice:
    settings = cast("PpoSettings", run.hyperparameters)
    return AlgorithmChoice(
        "ppo", settings.normalize_observations, lambda learnable: Ppo(learnable, settings, run.learner)
    )


def _dqn(run: RunSettings) -> AlgorithmChoice:
    settings = cast("DqnSettings", run.hyperparameters)
    return AlgorithmChoice(
        "dqn",
        settings.normalize_observations,
        lambda learnable: Dqn(learnable, settings, run.learner),
        num_bins=NUM_BINS,
        resume_note=_refills(settings.learning_starts),
    )


def _sac(run: RunSettings) -> AlgorithmChoice:
    settings = cast("SacSettings", run.hyperparameters)
    return AlgorithmChoice(
        "sac",
        settings.normalize_observations,
        lambda learnable: Sac(learnable, settings),
        resume_note=_refills(settings.learning_starts),
    )


def _refills(learning_starts: int) -> str:
    return (
        "the replay buffer is not in the checkpoint: training fills it again, "
        f"and learns once it has {learning_starts:,} steps"
    )


ALGORITHMS: Mapping[str, Callable[[RunSettings], AlgorithmChoice]] = {
    "ppo": _ppo,
    "dqn": _dqn,
    "sac": _sac,
}
"""By the name of `ALGORITHM_SETTINGS`."""


def choose_algorithm(
    settings: RunSettings,
    *,
    demonstrations: Mapping[str | None, Batch] | None = None,
) -> AlgorithmChoice:
    """The algorithm of a run, with what its settings wrap around it.

    Args:
        settings: of the run.
        demonstrations: beside experience, by policy id, None of a sole policy; None: there are none.
    """
    choice = ALGORITHMS[settings.algorithm](settings)
    if settings.exploration == "rnd":
        choice = replace(choice, create=partial(_with_rnd, choice, settings.rnd))
    if demonstrations is not None:
        choice = replace(choice, create=partial(_with_cloning, choice, settings.cloning, demonstrations))
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
