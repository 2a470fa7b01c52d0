"""Behaviour cloning: a policy fitted to demonstrations by maximum likelihood, its value to their returns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.advantages import advantages_from_segments
from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.streams import chain_segments
from attract.experience.batch import Batch
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.learner.imitation.crossing import CrossedExamples
from attract.learner.imitation.demonstrations import keep_slots
from attract.learner.imitation.likelihood import CloningLoss
from attract.learner.imitation.shifts import shift_pictures
from attract.policy.network import Policy

MINIBATCH_STEPS = 512
MAX_GRAD_NORM = 0.5
MIN_RATE_SHARE = 0.05
"""Share of the learning rate that is left at the end; it falls in a straight line."""
JUDGED_EVERY = 10
"""Epochs between two looks at what is held out."""
VALUES_EVERY = 20
"""Epochs for which value targets stay: at cuts of episodes they depend on the value function itself."""
MIN_HELD_OUT = 5
"""Demonstrations from which on some are held out."""


@dataclass(frozen=True, slots=True)
class FitPlan:
    """Length, learning rate and regularisation of a fit."""

    epochs: int = 2000
    """At most."""
    learning_rate: float = 1e-2
    picture_rate: float = 2.5e-3
    """Learning rate of a policy that sees pictures: by `learning_rate` its convolutions die."""
    sparsity: float = 0.3
    """Strength of the prior that weights are small: the sum of their sizes times this, over the number of
    demonstrated steps, is added to the loss. Few demonstrations say little of what does not matter. Not for
    pictures: their many weights are small, and the prior of all would outweigh what was demonstrated."""
    shift: float = 1 / 12
    """Pictures are moved by up to this share of their size in each direction, so that few teach more."""
    value_coef: float = 0.5
    held_out: float = 0.2
    """Share of the demonstrations that decide how long is fitted."""
    patience: float = 0.25
    """Share of `epochs` that may pass without an improvement on those before the first pass ends."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """State of the fit after an epoch."""

    number: int
    loss: float
    """Mean negative log-likelihood of what is fitted to, nats a step."""
    held_out: float | None
    """Minimum error on the held-out demonstrations so far; None if no demonstrations are held out."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Result of a fit."""

    epochs: int
    loss: float
    """Mean negative log-likelihood of all demonstrations, nats a step."""
    agreement: float
    """Share of the steps in which the policy's likeliest action is the demonstrated one; nan for numbers."""
    held_out: float | None
    """Error of the first pass at its best on demonstrations that it had not seen: the share of steps in which
    another action is likelier or, of numbers, the mean negative log-likelihood; None: there were too few."""
    explained_variance: float
    """Explained variance of the returns-to-go under the value function."""


def fit(
    policy: Policy,
    distribution: ActionDistribution,
    batch: Batch,
    plan: FitPlan,
    generator: torch.Generator,
    *,
    gamma: float,
    slots_of: Sequence[Sequence[int]],
    on_epoch: Callable[[Epoch], None] = lambda _: None,
) -> Fit:
    """Fit policy and value function to demonstrations; twice, where there are enough to hold some out.

    The first pass finds after how many epochs held-out demonstrations are played best, fitted to what was
    demonstrated or, where that is better, to examples crossed of it; the second, from the same weights, fits
    so to all of them for as many.

    Args:
        policy: changed in place; it normalises observations already.
        distribution: of the game's actions.
        batch: of demonstrations, on the policy's device, rewards scaled as the algorithm takes them.
        plan: see there.
        generator: on the CPU; of what is held out and of the order.
        gamma: discount of the returns to go.
        slots_of: of each demonstration, the slots of its segments in `batch`.
        on_epoch: called after each epoch.

    Raises: ConfigurationError: an action was demonstrated that its mask forbids.
    """
    epochs, min_error, crosses = plan.epochs, None, False
    if plan.held_out > 0 and len(slots_of) >= MIN_HELD_OUT:
        order = torch.randperm(len(slots_of), generator=generator).tolist()
        num_held = max(1, round(plan.held_out * len(order)))
        held = keep_slots(batch, [slot for number in order[:num_held] for slot in slots_of[number]])
        kept = keep_slots(batch, [slot for number in order[num_held:] for slot in slots_of[number]])
        if bool(held.valid.any()) and bool(kept.valid.any()):
            weights = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
            judge = CloningLoss(policy, distribution, held, MINIBATCH_STEPS)
            fitting = _Fitting(policy, distribution, kept, plan, generator, gamma)
            epochs, min_error = _first_pass(fitting, judge, plan, on_epoch)
            policy.load_state_dict(weights)
            examples = CrossedExamples.of(policy, kept, generator)
            if examples is not None:
                fitting = _Fitting(policy, distribution, kept, plan, generator, gamma, examples)
                crossed_epochs, crossed_error = _first_pass(fitting, judge, plan, on_epoch)
                policy.load_state_dict(weights)
                if crosses := crossed_error < min_error:
                    epochs, min_error = crossed_epochs, crossed_error
    examples = CrossedExamples.of(policy, batch, generator) if crosses else None
    fitting = _Fitting(policy, distribution, batch, plan, generator, gamma, examples)
    for number in range(1, epochs + 1):
        loss = fitting.epoch(number, epochs)
        on_epoch(Epoch(number, loss, min_error))
    return Fit(
        epochs,
        fitting.loss.mean(),
        _agreement(policy, distribution, fitting.loss),
        min_error,
        fitting.explained_variance(),
    )


def _first_pass(
    fitting: "_Fitting", judge: CloningLoss, plan: FitPlan, on_epoch: Callable[[Epoch], None]
) -> tuple[int, float]:
    """The number of epochs after which `judge` finds the policy best, and its error."""
    best, min_error, limit = 1, float("inf"), float("inf")
    for number in range(1, plan.epochs + 1):
        loss = fitting.epoch(number, plan.epochs)
        if number % JUDGED_EVERY == 0 or number == plan.epochs:
            error, deviation = _error(fitting.policy, fitting.distribution, judge)
            if error < min_error:
                min_error, limit = error, error + deviation
            # As good as chance can tell, the later is better: the prior goes on to simplify.
            if error <= limit:
                best = number
            elif number - best >= plan.patience * plan.epochs:
                break
        on_epoch(Epoch(number, loss, min_error if math.isfinite(min_error) else None))
    return best, min_error


class _Fitting:
    """One pass: its optimizer and what it is fitted to."""

    def __init__(
        self,
        policy: Policy,
        distribution: ActionDistribution,
        batch: Batch,
        plan: FitPlan,
        generator: torch.Generator,
        gamma: float,
        examples: CrossedExamples | None = None,
    ) -> None:
        self.policy = policy
        self.distribution = distribution
        self._examples = examples
        self._plan = plan
        self._generator = generator
        self._gamma = gamma
        self.loss = CloningLoss(policy, distribution, batch, MINIBATCH_STEPS)
        self._rate = plan.picture_rate if policy.sees_pictures else plan.learning_rate
        self._optimizer = Adam(policy.parameters(), lr=self._rate, eps=1e-5)
        # The value function has its own error to tell it what matters.
        self._matrices = [
            parameter
            for name, parameter in policy.named_parameters()
            if parameter.dim() > 1 and not name.startswith("value_")
        ]
        # Crossed examples are many, and show by themselves what does not matter.
        has_prior = examples is None and not policy.sees_pictures
        self._prior = plan.sparsity / self.loss.num_steps if has_prior else 0.0
        self._targets = torch.zeros(0)

    def epoch(self, number: int, num_epochs: int) -> float:
        """One pass over all steps; the mean negative log-likelihood along it."""
        plan, loss, policy = self._plan, self.loss, self.policy
        loss.refresh()
        if (number - 1) % VALUES_EVERY == 0:
            self._targets = self._value_targets().flatten()
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * max(MIN_RATE_SHARE, 1.0 - (number - 1) / num_epochs)
        total = 0.0
        for chosen in loss.minibatches(self._generator):
            found = loss.outputs(
                chosen, lambda part: shift_pictures(policy, part, plan.shift, self._generator)
            )
            likelihood = -found.log_probs.mean()
            if self._examples is None:
                fitted = likelihood
            else:
                fitted = self._examples.loss(policy, self.distribution, MINIBATCH_STEPS, self._generator)
            value = (found.values - self._targets[found.steps]).square().mean()
            whole = fitted + plan.value_coef * value
            if self._prior > 0:
                size = torch.stack([matrice.abs().sum() for matrice in self._matrices]).sum()
                whole = whole + self._prior * size
            self._optimizer.zero_grad()
            whole.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), MAX_GRAD_NORM, foreach=True)
            self._optimizer.step()
            total += float(likelihood.detach()) * found.steps.numel()
        return total / loss.num_steps

    def explained_variance(self) -> float:
        """Explained variance of the value targets under the predicted values."""
        valid = self.loss.batch.valid
        targets = self._value_targets()[valid]
        self.loss.refresh()
        values = evaluate_batch(self.policy, self.distribution, self.loss.with_states()).values[valid]
        variance = float(targets.var(correction=0))
        return 1.0 - float((targets - values).var(correction=0)) / variance if variance > 0 else 0.0

    @torch.no_grad()
    def _value_targets(self) -> Tensor:
        """[T, S] returns to go; where an episode was cut, with the value of what it left (rule E1)."""
        batch = self.loss.with_states()
        now = evaluate_batch(self.policy, self.distribution, batch)
        chain = chain_segments(batch.slot_id, batch.first_step, batch.reward.shape[0], batch.valid[0])
        advantages = advantages_from_segments(
            batch.reward,
            now.values,
            now.final_values,
            now.bootstrap_value,
            batch.terminated,
            batch.truncated,
            batch.valid,
            chain,
            gamma=self._gamma,
            gae_lambda=1.0,
        )
        return advantages + now.values


def _error(policy: Policy, distribution: ActionDistribution, judge: CloningLoss) -> tuple[float, float]:
    """Error of the policy on the held-out demonstrations, as `Fit.held_out` has it, and its standard error.

    Not the likelihood of choices: a few that it is sure of and wrong about would outweigh all others, and end
    the fit long before the likeliest actions are best.
    """
    likelihood, deviation = judge.mean_and_deviation()
    agreement = _agreement(policy, distribution, judge)
    if agreement != agreement:
        return likelihood, deviation / judge.num_steps**0.5
    # Never less than one step: of few, none that is wrong does not mean that there is none.
    deviation = (agreement * (1.0 - agreement) / judge.num_steps) ** 0.5
    return 1.0 - agreement, max(deviation, 1.0 / judge.num_steps)


@torch.no_grad()
def _agreement(policy: Policy, distribution: ActionDistribution, loss: CloningLoss) -> float:
    if loss.batch.action.is_floating_point():
        return float("nan")
    batch = loss.with_states()
    states = torch.zeros(batch.valid.shape[1], policy.state_size) if batch.state is None else batch.state
    states = states.to(batch.valid.device)
    outputs, _, _ = policy.unroll(policy.preprocess(batch.observation), states, batch.reset_after)
    same = distribution.mode(outputs, batch.action_mask) == batch.action
    same = same if same.dim() == 2 else same.all(-1)
    return float(same[batch.valid].float().mean())
