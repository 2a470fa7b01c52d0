"""One PPO update: a batch of segments in, better weights and the numbers about them out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.losses import approx_kl, clip_fraction, explained_variance
from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.algorithm import ExtraLoss
from attract.learner.ppo.estimates import Estimates, Estimator
from attract.learner.ppo.fused_steps import FusedSteps, can_be_fused
from attract.learner.ppo.gradient_steps import AutogradSteps, GradientSteps
from attract.learner.ppo.minibatches import Minibatches, StepInputs, Steps
from attract.learner.ppo.report import ScheduledHyperparameters, UpdateReport
from attract.policy.network import Policy
from attract.settings.base import LearnerName
from attract.settings.ppo import PpoSettings

ADAM_EPSILON = 1e-5
KL_STOP_FACTOR = 1.5
SPREAD_RATE = 4.0
"""Times the learning rate, for the log deviation of box actions (rule P13)."""


def create_optimizer(policy: Policy, learning_rate: float) -> Adam:
    """Adam as PPO uses it (epsilon 1e-5), in one fused kernel; a group for the log deviation (P13)."""
    spread = policy.action_log_std
    weights = [parameter for parameter in policy.parameters() if parameter is not spread]
    groups = [{"params": weights, "rate": 1.0}]
    if spread is not None:
        groups.append({"params": [spread], "rate": SPREAD_RATE})
    return Adam(groups, lr=learning_rate, eps=ADAM_EPSILON)


def ppo_update(
    policy: Policy,
    optimizer: Adam,
    batch: Batch,
    settings: PpoSettings,
    generator: torch.Generator,
    *,
    distribution: ActionDistribution,
    rates: ScheduledHyperparameters,
    min_deviation: float = 0.0,
    extra_loss: ExtraLoss | None = None,
    learner: LearnerName = "auto",
    on_minibatch: Callable[[int, int], None] | None = None,
) -> UpdateReport:
    """Clipped PPO over one batch: `n_epochs` passes, as a transaction (rules P1 to P5, P8, P9).

    Advantages, value targets, old values and old log-probabilities are computed once and stay, unless
    `recompute_advantages` (P4). An epoch is a shuffled pass, or with `prio_alpha` as many prioritised draws
    (P2, P3). With `target_kl` the update ends before the optimizer step of the first minibatch whose
    approx_kl exceeds 1.5 times `target_kl`; the approx_kl that a lagging batch begins with is added to this
    limit (P5). Observation statistics are read, never changed (P7).

    Args:
        policy: changed in place; on the device of `batch`.
        optimizer: over the policy's parameters; the learning rate of its groups is set, times their `rate`.
        batch: one update's segments, with at least one valid step past any burn-in.
        settings: numbers that do not follow a schedule.
        generator: CPU generator of the shuffles and draws; drawn from once per epoch.
        distribution: of the game's actions.
        rates: numbers that follow one.
        min_deviation: minimum of the deviation that advantages are divided by (P1).
        extra_loss: added to the loss of each minibatch; the losses that are reported are without it.
        learner: `auto` computes gradients without autograd where it can.
        on_minibatch: called with (epoch, minibatch) before each; for progress, and to inject faults in tests.

    Returns: what was done.
    Raises: NonFiniteUpdateError: a number was not finite; the caller undoes all of it (P8).
    """
    has_lag = batch.has_lag
    estimator = Estimator(policy, distribution, batch, settings, has_lag=has_lag)
    minibatches = Minibatches(policy, batch, settings, min_deviation)
    for parameters in optimizer.param_groups:
        parameters["lr"] = rates.learning_rate * parameters.get("rate", 1.0)
    rows: list[Tensor] = []
    norms: list[Tensor] = []
    log_ratios: list[Tensor] = []
    places: list[tuple[int, int]] = []
    kl_stop = None if settings.target_kl is None else KlStop(settings.target_kl, has_lag=has_lag)
    stopped = False
    targets = first = _epoch_targets(estimator.estimate(), minibatches, batch.valid, settings, rates)
    epoch = 0
    with _gradient_steps(
        policy,
        optimizer,
        minibatches,
        generator,
        distribution,
        settings,
        rates,
        extra_loss,
        learner,
    ) as steps:
        for epoch in range(settings.n_epochs):
            if epoch > 0 and settings.recompute_advantages:
                targets = _epoch_targets(estimator.estimate(), minibatches, batch.valid, settings, rates)
            for number, part in enumerate(minibatches.epoch(generator, targets.probabilities, targets.steps)):
                if on_minibatch is not None:
                    on_minibatch(epoch, number)
                places.append((epoch, number))
                losses = steps.losses(part, targets.value_coef)
                rows.append(losses.row)
                log_ratios.append(losses.log_ratio)
                if kl_stop is not None and kl_stop.is_too_far(losses.log_ratio, losses.ratio):
                    stopped = True
                    break
                norms.append(steps.step())
            if stopped:
                break
    table = torch.stack(rows)
    norm = torch.stack(norms) if norms else torch.zeros(1, device=table.device)
    log_ratio = torch.cat(log_ratios)
    ratio = log_ratio.exp()
    kl = float(approx_kl(log_ratio, ratio))
    if not math.isfinite(kl):
        # Clipping hides an infinite ratio from the loss: whose was it?
        table = table + torch.stack(
            [approx_kl(log_ratio, log_ratio.exp()) for log_ratio in log_ratios]
        ).unsqueeze(1)
    _check_finite(table, norm, list(policy.parameters()), places)
    means = table.mean(0).tolist()
    return UpdateReport(
        policy_loss=means[0],
        value_loss=means[1],
        entropy=means[2],
        loss=means[3],
        approx_kl=kl,
        clip_fraction=float(clip_fraction(ratio, rates.clip_range)),
        grad_norm=float(norm.mean()),
        explained_variance=float(explained_variance(first.steps.values, first.steps.value_targets)),
        advantage_variance=_variance(first.steps.advantages),
        num_steps=minibatches.num_steps,
        num_epochs=epoch + 1,
        num_minibatches=len(norms),
        stopped_by_kl=stopped,
        details=first.details,
    )


@dataclass(frozen=True, slots=True)
class _EpochTargets:
    """The estimates of an epoch, and the order of its minibatches."""

    steps: Steps
    value_coef: float
    probabilities: Tensor | None
    """[S] float64 on the CPU (rule P3)."""
    details: Mapping[str, float]


def _epoch_targets(
    estimates: Estimates,
    minibatches: Minibatches,
    valid: Tensor,
    settings: PpoSettings,
    rates: ScheduledHyperparameters,
) -> _EpochTargets:
    details = {} if estimates.ratios is None else _vtrace_details(estimates.ratios[valid], settings)
    probabilities, weights = minibatches.priorities(estimates), None
    if probabilities is not None:
        if not bool(torch.isfinite(probabilities).all()):
            raise NonFiniteUpdateError("an advantage")
        weights = minibatches.weights(probabilities, rates.prio_beta)
        details |= _prio_details(probabilities, weights, rates)
    steps = minibatches.steps(estimates, weights)
    spread = _variance(steps.value_targets) if settings.normalize_value_loss else 1.0
    return _EpochTargets(steps, settings.value_coef / max(1.0, spread), probabilities, details)


def _variance(values: Tensor) -> float:
    """Population variance of [n] values; NaN where there is a single NaN."""
    return float(values.var(correction=0))


def _vtrace_details(ratios: Tensor, settings: PpoSettings) -> dict[str, float]:
    return {
        "train/vtrace_rho_mean": float(ratios.mean()),
        "train/vtrace_rho_max": float(ratios.max()),
        "train/vtrace_clipped_fraction": float((ratios > settings.rho_max).float().mean()),
    }


def _prio_details(
    probabilities: Tensor, weights: Tensor, rates: ScheduledHyperparameters
) -> dict[str, float]:
    can_be_drawn = probabilities > 0
    # As many segments drawn alike would give the same spread of draws (Kish's effective sample size).
    effective = 1.0 / float(probabilities.square().sum())
    return {
        "train/prio_beta": rates.prio_beta,
        "train/prio_effective_segments": effective,
        "train/prio_effective_share": effective / int(can_be_drawn.sum()),
        "train/prio_weight_max": float(weights.max()),
    }


def _gradient_steps(
    policy: Policy,
    optimizer: Adam,
    minibatches: Minibatches,
    generator: torch.Generator,
    distribution: ActionDistribution,
    settings: PpoSettings,
    rates: ScheduledHyperparameters,
    extra_loss: ExtraLoss | None,
    learner: LearnerName,
) -> GradientSteps:
    inputs = minibatches.inputs
    if (
        learner == "auto"
        and extra_loss is None
        and isinstance(inputs, StepInputs)
        and can_be_fused(policy, distribution)
    ):
        return FusedSteps(policy, optimizer, inputs, distribution, settings, rates)
    return AutogradSteps(policy, optimizer, inputs, distribution, settings, rates, extra_loss, generator)


class KlStop:
    """Whether an update has gone far enough (rule P5). Each minibatch waits for the device to ask it.

    Args:
        target_kl: of the settings.
        has_lag: whether the policy that acted is not the one the update begins with. What its first minibatch
            is away from it then is not this update's doing: counted, no step would be taken at all.
    """

    def __init__(self, target_kl: float, *, has_lag: bool) -> None:
        self._limit = KL_STOP_FACTOR * target_kl
        self._is_lag_known = not has_lag

    def is_too_far(self, log_ratio: Tensor, ratio: Tensor) -> bool:
        """Whether a minibatch's [n] ratios show it; given in turn, the update's first one first."""
        kl = float(approx_kl(log_ratio, ratio))
        if not self._is_lag_known:
            self._limit, self._is_lag_known = self._limit + kl, True
        return kl > self._limit


def _check_finite(
    table: Tensor, norms: Tensor, parameters: Sequence[Tensor], places: list[tuple[int, int]]
) -> None:
    """Once per update, so that no minibatch waits for the device; what follows a NaN is undone anyway."""
    for what, numbers in (("the loss", table.sum(1)), ("the gradient", norms)):
        broken = (~torch.isfinite(numbers)).nonzero()
        if broken.numel() > 0:
            epoch, minibatch = places[int(broken[0, 0])]
            raise NonFiniteUpdateError(what, epoch=epoch, minibatch=minibatch)
    if not bool(torch.stack([torch.isfinite(parameter).all() for parameter in parameters]).all()):
        raise NonFiniteUpdateError("a weight")
