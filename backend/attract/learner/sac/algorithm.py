"""SAC behind the seam: its gradient step, and the entropy that it keeps."""

import copy
from typing import ClassVar

import torch
from torch import Tensor

from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.replay.off_policy import Minibatch, OffPolicy
from attract.learner.sac.network import SoftActorCritic
from attract.settings.sac import SacSettings


class Sac(OffPolicy):
    """Soft actor-critic with two critics and a temperature that keeps the entropy (arXiv:1812.05905).

    The policy is the Gaussian that workers draw from, and what the critics see of an action is what the game
    got: clipped to the box. The gradient of a value by a clipped number passes, unless it would push the
    number further out (Hausknecht and Stone 2016, arXiv:1511.04143, section 5.2). As no observation changes
    the deviations, the entropy is a constant of the policy, and is left out of the targets: there it would
    only make episodes longer or shorter.

    Args:
        learnable: the policy.
        settings: of the run.
    """

    metric_names: ClassVar[tuple[str, ...]] = (
        "train/loss",
        "train/q_value",
        "train/q_target",
        "train/temperature",
    )

    def __init__(self, learnable: Learnable, settings: SacSettings) -> None:
        self.network = SoftActorCritic(
            learnable.policy, settings.temperature, learnable.generator("critics")
        ).to(learnable.device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        """Only its encoders and critics are used."""
        super().__init__(learnable, settings, self.network, self.target)
        size = learnable.policy.policy_head.out_features
        self._target_entropy = settings.target_entropy * size

    def _loss(self, minibatch: Minibatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Of critics, actor, temperature and the policy's value, each by its own weights."""
        network, following = self.network, minibatch.following
        taken = minibatch.actions.flatten(1).clamp(-1.0, 1.0)
        noise = torch.randn((2, *taken.shape), generator=self.generator).to(self._device)
        with torch.no_grad():
            next_action = network.act(network.features(following), noise[0]).clamp(-1.0, 1.0)
            next_value = self.target.values(self.target.features(following), next_action).amin(0)
            targets = minibatch.rewards + minibatch.discount * next_value
        features = network.features(minibatch.now)
        predicted = network.values(features, taken)
        critic_loss = (predicted - targets).square().mean(1).sum()
        still = features.detach()
        actions = network.act(still, noise[1])
        value, slope = self._value_and_slope(still, actions.detach())
        temperature = network.log_temperature.exp()
        entropy = network.entropy
        actor_loss = -(actions * slope).sum(1).mean() - temperature.detach() * entropy
        temperature_loss = temperature * (entropy.detach() - self._target_entropy)
        value_loss = (network.value(still) - value).square().mean()
        numbers = (critic_loss, predicted.mean(), targets.mean(), temperature)
        loss = critic_loss + actor_loss + temperature_loss + value_loss
        return loss, tuple(number.detach() for number in numbers)

    def _value_and_slope(self, features: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """[B] the lower of the values of clipped actions, and [B, size] its gradient by them."""
        clipped = actions.clamp(-1.0, 1.0).requires_grad_()
        value = self.network.values(features, clipped).amin(0)
        (slope,) = torch.autograd.grad(value.sum(), clipped)
        is_outwards = (actions.abs() > 1.0) & (slope * actions > 0.0)
        return value.detach(), slope.masked_fill(is_outwards, 0.0)

    def _write_policy(self, progress: Progress) -> tuple[dict[str, float], dict[str, float]]:
        """The policy is played as it was learned."""
        return {"train/entropy": float(self.network.entropy.detach())}, {}
