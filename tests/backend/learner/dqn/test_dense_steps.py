"""DQN's steps without autograd, against autograd over the loss as it is written in the papers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attract.algorithm.categories import NUM_BINS
from attract.learner.algorithms.algorithm import Learnable
from attract.learner.dqn.algorithm import Dqn
from attract.learner.dqn.dense_steps import DenseSteps, can_be_written_out
from attract.learner.dqn.network import Choices, ValuesNetwork
from attract.learner.replay.off_policy import Minibatch
from attract.policy.network import build_distribution, build_policy
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from attract.settings.base import LearnerName
from attract.settings.dqn import DqnSettings
from attract.settings.run import PolicySettings
from batches import same, signs_batches, signs_fleet, take
from learner_world import describe_signs
from policies import create_policy, describe

ACTIONS: list[ActionSpace] = [DiscreteSpace(n=3), MultiDiscreteSpace(nvec=[2, 3]), MultiBinarySpace(n=2)]
LEARNERS: tuple[LearnerName, LearnerName] = ("auto", "autograd")
SIZE, LIMIT, TAU, MAX_NORM = 20, 5.0, 0.25, 0.1


def made(action: ActionSpace, *, batch_size: int = SIZE, **policy: Any) -> tuple[Dqn, DqnSettings]:
    settings = DqnSettings(return_limit=LIMIT, tau=TAU, max_grad_norm=MAX_NORM, batch_size=batch_size)
    distribution = build_distribution(describe(action=action))
    algorithm = Dqn(
        Learnable(create_policy(action=action, num_bins=NUM_BINS, **policy), distribution, 3, None), settings
    )
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        # A target network that is another one, and values that differ.
        for tensor in (*algorithm.target.parameters(), *algorithm.network.parameters()):
            tensor.add_(0.5 * torch.randn(tensor.shape, generator=generator))
    return algorithm, settings


def minibatch_for(action: ActionSpace) -> Minibatch:
    generator = torch.Generator().manual_seed(6)
    match action:
        case DiscreteSpace():
            actions = torch.randint(0, 3, (SIZE,), generator=generator)
            mask = torch.tensor([[True, True, False], [False, True, True]]).repeat(SIZE // 2, 1)
        case MultiDiscreteSpace():
            actions = torch.stack([torch.randint(0, n, (SIZE,), generator=generator) for n in (2, 3)], 1)
            mask = torch.tensor([[True, False, True, True, False]]).repeat(SIZE, 1)
        case _:
            actions, mask = torch.randint(0, 2, (SIZE, 2), generator=generator), None
    discount = torch.full((SIZE,), 0.9)
    discount[::3] = 0.0
    now, following = torch.randn(2, SIZE, 4, generator=generator)
    rewards = torch.randn(SIZE, generator=generator)
    return Minibatch({"obs": now}, actions, rewards, discount, {"obs": following}, mask)


def loss_of(algorithm: Dqn, minibatch: Minibatch) -> Tensor:
    """Section 3.1 of Farebrother et al. 2024, by torch's own distribution and operations."""
    centres = torch.linspace(-LIMIT, LIMIT, NUM_BINS)
    half = float(centres[1] - centres[0]) / 2
    with torch.no_grad():
        best = algorithm.network.best(minibatch.following, minibatch.following_mask)
        following = algorithm.target.logits(minibatch.following, best).softmax(1) @ centres
        targets = (minibatch.rewards + minibatch.discount * following).clamp(-LIMIT, LIMIT)
        normal = torch.distributions.Normal(targets.unsqueeze(1), 0.75 * 2 * half)
        shares = normal.cdf(centres + half) - normal.cdf(centres - half)
        shares /= shares.sum(1, keepdim=True)
    indices = algorithm.network.choices.indices(minibatch.actions)
    return -(shares * algorithm.network.logits(minibatch.now, indices).log_softmax(1)).sum(1).mean()


@pytest.mark.parametrize("kind", ["relu", "tanh"])
@pytest.mark.parametrize("hidden_sizes", [(), (24, 7)])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.kind)
def test_a_step_takes_the_gradient_that_autograd_finds(
    action: ActionSpace, hidden_sizes: tuple[int, ...], kind: str
):
    algorithm, settings = made(action, hidden_sizes=hidden_sizes, activation=kind)
    network, target, minibatch = algorithm.network, algorithm.target, minibatch_for(action)
    assert can_be_written_out(network)
    learned = network.learned()
    loss = loss_of(algorithm, minibatch)
    gradients = torch.autograd.grad(loss, learned)
    norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
    assert float(norm) > MAX_NORM
    # What autograd learns from where it is the one that runs, masks included.
    torch.testing.assert_close(algorithm._loss(minibatch)[0], loss)
    before = [parameter.detach().clone() for parameter in target.followed()]
    handed_out = [parameter.data_ptr() for parameter in (*learned, *target.followed())]

    with DenseSteps(network, target, algorithm.optimizer, settings) as step:
        numbers = step(minibatch)

    assert float(numbers[0]) == pytest.approx(float(loss.detach()), rel=1e-5)
    assert float(numbers[3]) == pytest.approx(float(norm), rel=1e-5)
    for parameter, gradient in zip(learned, gradients, strict=True):
        # Adam's first mean is a tenth of the gradient, which was cut to the maximum norm.
        found = algorithm.optimizer.state[parameter]["exp_avg"]
        torch.testing.assert_close(found, 0.1 * gradient * MAX_NORM / norm, rtol=1e-4, atol=1e-7)
    for was, now, leader in zip(before, target.followed(), network.followed(), strict=True):
        torch.testing.assert_close(now.detach(), was + TAU * (leader.detach() - was), rtol=1e-5, atol=1e-6)
    # The tensors that checkpoints and exports read are the same ones as before.
    assert handed_out == [parameter.data_ptr() for parameter in (*learned, *target.followed())]


def test_C8_either_learner_learns_the_same_but_for_rounding(tmp_path: Path):
    fleet = signs_fleet(tmp_path)
    batches = signs_batches(fleet)
    fleet.close()
    game, learned = describe_signs(), dict[LearnerName, dict[str, Tensor]]()
    for learner in LEARNERS:
        policy = build_policy(PolicySettings(hidden_sizes=(8,)), game, num_bins=NUM_BINS, seed=2)
        algorithm = Dqn(
            Learnable(policy, build_distribution(game), 3, None), DqnSettings(learning_starts=1), learner
        )
        for batch in batches:
            take(algorithm, batch)
        learned[learner] = algorithm.network.state_dict()
    fused, autograd = (learned[learner] for learner in LEARNERS)
    assert not same(fused, autograd)
    for name in autograd.keys() - {"policy.policy_head.weight"}:
        torch.testing.assert_close(fused[name], autograd[name], rtol=1e-3, atol=1e-4)


def test_pictures_are_left_to_autograd():
    pictures = create_policy(BoxSpace(shape=[36, 36, 3], dtype="uint8"), num_bins=NUM_BINS)
    choices = Choices((pictures.num_outputs,))
    assert not can_be_written_out(ValuesNetwork(pictures, choices, LIMIT, torch.Generator()))
