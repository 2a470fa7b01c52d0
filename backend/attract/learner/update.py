"""One PPO update: a batch of segments in, better weights and the numbers about them out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.advantages import advantages_from_segments
from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.losses import (
    approx_kl,
    clip_fraction,
    clipped_surrogate_loss,
    explained_variance,
    normalise_advantages,
    value_loss,
)
from attract.algorithm.schedules import scheduled
from attract.algorithm.streams import chain_segments
from attract.errors import NonFiniteUpdateError
from attract.policy.network import Policy
from attract.settings import PpoSettings

ADAM_EPSILON = 1e-5
KL_STOP_FACTOR = 1.5


@dataclass(frozen=True, slots=True)
class UpdateBatch:
    """All segments of one update on the learner's device, time-major; never written to by the update.

    Rows (columns here) are ordered by slot and first step, never by arrival (rule C8).
    """

    observations: Tensor
    """[T, S, ...] float32 or uint8, before each step."""
    actions: Tensor
    """[T, S] integer."""
    log_probs: Tensor
    """[T, S] float32, of the actions under the version that acted."""
    values: Tensor
    """[T, S] float32, V(observation) under the version that acted."""
    rewards: Tensor
    """[T, S] float32."""
    terminated: Tensor
    """[T, S] bool."""
    truncated: Tensor
    """[T, S] bool."""
    valid: Tensor
    """[T, S] bool, rule S5."""
    final_values: Tensor
    """[T, S] float32, V(final observation); read only where truncated."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    slot_id: Tensor
    """[S] integer."""
    first_step: Tensor
    """[S] integer, the slot's own step counter."""


@dataclass(frozen=True, slots=True)
class UpdateRates:
    """The scheduled numbers, fixed for one update (rule P10)."""

    learning_rate: float
    clip_range: float
    entropy_coef: float


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What one update did; means over its minibatches unless said otherwise (rule P5)."""

    policy_loss: float
    value_loss: float
    entropy: float
    """Nats."""
    loss: float
    approx_kl: float
    clip_fraction: float
    grad_norm: float
    """Before clipping."""
    explained_variance: float
    """Of the acting version's values against the value targets, over the batch."""
    num_steps: int
    """Valid steps of the batch, each trained on once per epoch."""
    num_epochs: int
    """Epochs begun; fewer than asked for after a KL stop."""
    num_minibatches: int
    """Optimizer steps taken."""
    stopped_by_kl: bool

    def metrics(self, rates: UpdateRates) -> dict[str, float]:
        """Under the names that dashboards and TensorBoard show."""
        return {
            "train/policy_gradient_loss": self.policy_loss,
            "train/value_loss": self.value_loss,
            "train/entropy": self.entropy,
            "train/entropy_loss": -self.entropy,
            "train/loss": self.loss,
            "train/approx_kl": self.approx_kl,
            "train/clip_fraction": self.clip_fraction,
            "train/grad_norm": self.grad_norm,
            "train/explained_variance": self.explained_variance,
            "train/learning_rate": rates.learning_rate,
            "train/clip_range": rates.clip_range,
            "train/entropy_coef": rates.entropy_coef,
            "train/num_minibatches": float(self.num_minibatches),
            "train/num_epochs": float(self.num_epochs),
        }


def rates_at(settings: PpoSettings, agent_steps: int, schedule_steps: int | None) -> UpdateRates:
    """Learning rate, clip range and entropy coefficient at this point of the run (rule P10)."""
    return UpdateRates(
        scheduled(settings.learning_rate, settings.learning_rate_schedule, agent_steps, schedule_steps),
        scheduled(settings.clip_range, settings.clip_range_schedule, agent_steps, schedule_steps),
        scheduled(settings.entropy_coef, settings.entropy_coef_schedule, agent_steps, schedule_steps),
    )


def create_optimizer(policy: Policy, learning_rate: float) -> torch.optim.Adam:
    """Adam as PPO uses it (epsilon 1e-5), in one fused kernel."""
    return torch.optim.Adam(policy.parameters(), lr=learning_rate, eps=ADAM_EPSILON, fused=True)


def advantages_and_targets(batch: UpdateBatch, *, gamma: float, gae_lambda: float) -> tuple[Tensor, Tensor]:
    """Advantages over the batch's streams and value targets A + V, [T, S] float32 each (rules E6, S2)."""
    horizon = batch.rewards.shape[0]
    advantages = advantages_from_segments(
        batch.rewards,
        batch.values,
        batch.final_values,
        batch.bootstrap_value,
        batch.terminated,
        batch.truncated,
        batch.valid,
        chain_segments(batch.slot_id, batch.first_step, horizon),
        gamma=gamma,
        gae_lambda=gae_lambda,
    )
    return advantages, advantages + batch.values


def shuffled_partition(num_units: int, num_parts: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Every unit once, in random order, cut into parts that differ by at most one (rules P2, S5).

    Args:
        num_units: steps or segments, >= num_parts.
        generator: on the CPU, so that every device gets the same order.

    Returns: `num_parts` [n] int64 index tensors on the CPU.
    """
    order = torch.randperm(num_units, generator=generator)
    return torch.tensor_split(order, num_parts)


def ppo_update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    batch: UpdateBatch,
    settings: PpoSettings,
    generator: torch.Generator,
    *,
    distribution: ActionDistribution,
    rates: UpdateRates,
    on_minibatch: Callable[[int, int], None] | None = None,
) -> UpdateReport:
    """Clipped PPO over one batch: `n_epochs` shuffled passes, as a transaction (rules P1, P2, P4, P5, P8).

    Advantages, value targets, old values and old log-probabilities are computed once and stay (P4).
    With `target_kl` the update ends before the optimizer step of the first minibatch whose approx_kl exceeds
    1.5 times it (P5). Observation statistics are read, never changed (P7).

    Args:
        policy: changed in place; on the device of `batch`.
        optimizer: over the policy's parameters; its learning rate is set.
        batch: one update's segments, with at least one valid step.
        settings: numbers that do not follow a schedule.
        generator: CPU generator of the shuffles; drawn from once per epoch.
        distribution: of the game's actions.
        rates: numbers that do.
        on_minibatch: called with (epoch, minibatch) before each; for progress, and to inject faults in tests.

    Returns: what was done.
    Raises: NonFiniteUpdateError: a loss, gradient or weight was not finite; policy, optimizer and generator
        are as they were (P8), as they are after any other exception.
    """
    restore = _snapshot(policy, optimizer, generator)
    try:
        return _update(policy, optimizer, batch, settings, generator, distribution, rates, on_minibatch)
    except BaseException:
        restore()
        raise


@dataclass(frozen=True, slots=True)
class _Steps:
    """The batch's valid steps, [N, ...] each in time-major order: what minibatches are cut from."""

    observations: Tensor
    is_prepared: bool
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    value_targets: Tensor
    value_coef: float

    def select(self, index: Tensor) -> "_Steps":
        """The steps of one minibatch."""
        return _Steps(
            self.observations.index_select(0, index),
            self.is_prepared,
            self.actions.index_select(0, index),
            self.log_probs.index_select(0, index),
            self.values.index_select(0, index),
            self.advantages.index_select(0, index),
            self.value_targets.index_select(0, index),
            self.value_coef,
        )


def _update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    batch: UpdateBatch,
    settings: PpoSettings,
    generator: torch.Generator,
    distribution: ActionDistribution,
    rates: UpdateRates,
    on_minibatch: Callable[[int, int], None] | None,
) -> UpdateReport:
    steps = _valid_steps(policy, batch, settings)
    parameters = list(policy.parameters())
    max_norm = math.inf if settings.max_grad_norm is None else settings.max_grad_norm
    for group in optimizer.param_groups:
        group["lr"] = rates.learning_rate
    rows: list[Tensor] = []
    norms: list[Tensor] = []
    places: list[tuple[int, int]] = []
    stopped = False
    epoch = 0
    for epoch in range(settings.n_epochs):
        for number, index in enumerate(_minibatches(batch, settings, generator)):
            if on_minibatch is not None:
                on_minibatch(epoch, number)
            places.append((epoch, number))
            loss, row = _loss(policy, distribution, steps.select(index), settings, rates)
            rows.append(row)
            if settings.target_kl is not None and float(row[_KL]) > KL_STOP_FACTOR * settings.target_kl:
                stopped = True
                break
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(parameters, max_norm, foreach=True))
            optimizer.step()
        if stopped:
            break
    table = torch.stack(rows)
    norm = torch.stack(norms) if norms else torch.zeros(1, device=table.device)
    _check_finite(table, norm, parameters, places)
    means = table.mean(0).tolist()
    return UpdateReport(
        policy_loss=means[0],
        value_loss=means[1],
        entropy=means[2],
        loss=means[3],
        approx_kl=means[_KL],
        clip_fraction=means[5],
        grad_norm=float(norm.mean()),
        explained_variance=float(explained_variance(steps.values, steps.value_targets)),
        num_steps=steps.actions.shape[0],
        num_epochs=epoch + 1,
        num_minibatches=len(norms),
        stopped_by_kl=stopped,
    )


_KL = 4
"""Column of approx_kl in the rows of `_loss`."""


def _loss(
    policy: Policy, distribution: ActionDistribution, steps: _Steps, settings: PpoSettings, rates: UpdateRates
) -> tuple[Tensor, Tensor]:
    """policy_loss + value_coef * value_loss - entropy_coef * entropy, and [6] float32 to report.

    With `normalize_value_loss`, value_coef is divided by max(1, variance of the batch's value targets).
    """
    prepared = steps.observations if steps.is_prepared else policy.prepare(steps.observations)
    outputs, new_values = policy.forward_prepared(prepared)
    new_log_probs, entropies = distribution.log_prob_and_entropy(outputs, steps.actions)
    advantages = normalise_advantages(steps.advantages) if settings.normalize_advantage else steps.advantages
    log_ratio = new_log_probs - steps.log_probs
    ratio = log_ratio.exp()
    surrogate = clipped_surrogate_loss(ratio, advantages, rates.clip_range)
    value = value_loss(new_values, steps.value_targets, steps.values, settings.clip_range_vf)
    entropy = entropies.mean()
    loss = torch.add(surrogate, value, alpha=steps.value_coef)
    if rates.entropy_coef != 0.0:
        loss = torch.sub(loss, entropy, alpha=rates.entropy_coef)
    with torch.no_grad():
        kl, clipped = approx_kl(log_ratio, ratio), clip_fraction(ratio, rates.clip_range)
        return loss, torch.stack((surrogate, value, entropy, loss, kl, clipped))


@torch.no_grad()
def _valid_steps(policy: Policy, batch: UpdateBatch, settings: PpoSettings) -> _Steps:
    advantages, targets = advantages_and_targets(batch, gamma=settings.gamma, gae_lambda=settings.gae_lambda)
    valid = batch.valid.flatten()
    chosen = None if bool(valid.all()) else valid.nonzero().squeeze(1)

    def flat(array: Tensor) -> Tensor:
        steps = array.flatten(0, 1)
        return steps if chosen is None else steps.index_select(0, chosen)

    observations = flat(batch.observations)
    if observations.shape[0] == 0:
        raise ValueError("expected a batch with at least one valid step, got none")
    # Images as floats are four times as large as their bytes: they are converted minibatch by minibatch.
    is_prepared = observations.is_floating_point()
    value_targets = flat(targets)
    variance = float(value_targets.var(correction=0)) if settings.normalize_value_loss else 1.0
    return _Steps(
        policy.prepare(observations) if is_prepared else observations,
        is_prepared,
        flat(batch.actions).long(),
        flat(batch.log_probs),
        flat(batch.values),
        flat(advantages),
        value_targets,
        settings.value_coef / max(1.0, variance),
    )


def _minibatches(batch: UpdateBatch, settings: PpoSettings, generator: torch.Generator) -> list[Tensor]:
    """One epoch: per minibatch [n] int64 indices into the valid steps, on the batch's device (P2, S5)."""
    valid, device = batch.valid, batch.valid.device
    num_steps = int(valid.sum())
    num_parts = settings.minibatches_for(num_steps)
    if settings.minibatch_unit == "step":
        return [part.to(device) for part in shuffled_partition(num_steps, num_parts, generator)]
    num_segments = valid.shape[1]
    place = (valid.flatten().cumsum(0) - 1).view_as(valid)
    indices: list[Tensor] = []
    for part in shuffled_partition(num_segments, min(num_parts, num_segments), generator):
        columns = part.to(device)
        index = place.index_select(1, columns)[valid.index_select(1, columns)]
        if index.numel() > 0:
            indices.append(index)
    return indices


def _snapshot(
    policy: Policy, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> Callable[[], None]:
    """What undoes everything done to the three from here on."""
    weights = {name: tensor.detach().clone() for name, tensor in policy.state_dict().items()}
    optimizer_state = optimizer.state_dict()
    # Only the tensors change in place; copying the rest as well takes ten times as long.
    optimizer_state["state"] = {
        index: {name: value.clone() if isinstance(value, Tensor) else value for name, value in entry.items()}
        for index, entry in optimizer_state["state"].items()
    }
    random_state = generator.get_state()

    def restore() -> None:
        policy.load_state_dict(weights)
        optimizer.load_state_dict(optimizer_state)
        optimizer.zero_grad(set_to_none=True)
        generator.set_state(random_state)

    return restore


def _check_finite(
    table: Tensor, norms: Tensor, parameters: Sequence[Tensor], places: list[tuple[int, int]]
) -> None:
    """Once per update, so that no minibatch waits for the device; what follows a NaN is undone anyway."""
    for what, numbers in (("the loss", table.sum(1)), ("the gradient", norms)):
        broken = (~torch.isfinite(numbers)).nonzero()
        if broken.numel() > 0:
            epoch, minibatch = places[int(broken[0, 0])]
            raise NonFiniteUpdateError(what, epoch=epoch, minibatch=minibatch)
    if not all(bool(torch.isfinite(parameter).all()) for parameter in parameters):
        raise NonFiniteUpdateError("a weight")
