"""SAC behind the seam: one whole update against numpy, what is clipped, and what is kept and undone."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch, Finals
from attract.learner.algorithms.algorithm import Progress, undone_on_failure
from attract.learner.sac.algorithm import Sac
from attract.policy.network import Policy
from attract.schema.spaces import BoxSpace
from attract.settings.sac import SacSettings
from batches import create as create_one
from batches import restore, same, state_of, take
from policies import describe

HORIZON, SLOTS, SIZE = 16, 4, 2
GAME = describe(BoxSpace(shape=[3]), BoxSpace(shape=[SIZE], low=-2.0, high=2.0))
Weights = dict[str, NDArray[np.float64]]


Rewards = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def batch_of(number: int, reward: Rewards | None = None) -> Batch:
    """Segment `number` of each slot; an episode is cut in its step 5, and one ends in its step 9."""
    generator = torch.Generator().manual_seed(number)
    observation = torch.randn((HORIZON + 1, SLOTS, 3), generator=generator)
    action = 0.8 * torch.randn((HORIZON, SLOTS, SIZE), generator=generator)
    rewards = torch.randn((HORIZON, SLOTS), generator=generator)
    if reward is not None:
        rewards = reward(observation[:-1], action)
    none = torch.zeros((HORIZON, SLOTS))
    cut, ended = (torch.zeros((HORIZON, SLOTS), dtype=torch.bool) for _ in range(2))
    cut[5, 1] = ended[9, 2] = True
    return Batch(
        observation={"obs": observation[:-1]},
        action=action,
        log_prob=none,
        value=none,
        reward=rewards,
        final_value=none,
        terminated=ended,
        truncated=cut,
        valid=torch.ones((HORIZON, SLOTS), dtype=torch.bool),
        bootstrap_value=torch.zeros(SLOTS),
        slot_id=torch.arange(SLOTS),
        first_step=torch.full((SLOTS,), number * HORIZON),
        policy_version=torch.zeros(SLOTS, dtype=torch.int64),
        worker_id=torch.zeros(SLOTS, dtype=torch.int64),
        bootstrap_observation={"obs": observation[-1]},
        finals=Finals(torch.tensor([5]), torch.tensor([1]), {"obs": torch.ones((1, 3))}),
    )


def create(seed: int = 3, hidden: int = 5, **sac: object) -> tuple[Sac, Policy]:
    return create_one(Sac, SacSettings, GAME, seed=seed, hidden=hidden, **{"batch_size": 16, **sac})


def mean_of(w: Weights, x: NDArray[np.float64]) -> NDArray[np.float64]:
    hidden = np.tanh(x @ w["policy.trunk.0.weight"].T + w["policy.trunk.0.bias"])
    return hidden @ w["policy.policy_head.weight"].T + w["policy.policy_head.bias"]


def value_of(w: Weights, x: NDArray[np.float64]) -> NDArray[np.float64]:
    hidden = np.tanh(x @ w["policy.value_trunk.0.weight"].T + w["policy.value_trunk.0.bias"])
    return (hidden @ w["policy.value_head.weight"].T + w["policy.value_head.bias"])[:, 0]


def critic_of(w: Weights, number: int, x: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    name = f"critics.{number}.layers"
    h = np.concatenate((x, a), 1) @ w[f"{name}.0.weight"].T + w[f"{name}.0.bias"]
    h = (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-5)
    h = np.maximum(0.0, h * w[f"{name}.1.weight"] + w[f"{name}.1.bias"])
    return (h @ w[f"{name}.3.weight"].T + w[f"{name}.3.bias"])[:, 0]


def lower_of(w: Weights, x: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(critic_of(w, 0, x, a), critic_of(w, 1, x, a))


def slopes(loss: Callable[[Weights], float], at: Weights, names: list[str]) -> Weights:
    """Gradients by central differences."""
    found: Weights = {}
    for name in names:
        gradient = np.zeros_like(at[name])
        for place in np.ndindex(gradient.shape):
            sides: list[float] = []
            for by in (1e-5, -1e-5):
                moved = {**at, name: at[name].copy()}
                moved[name][place] += by
                sides.append(loss(moved))
            gradient[place] = (sides[0] - sides[1]) / 2e-5
        found[name] = gradient
    return found


def test_one_whole_update_is_what_numpy_says():
    rate, tau, gamma, size = 0.001, 0.25, 0.9, 16
    algorithm, policy = create(
        gamma=gamma,
        learning_rate=rate,
        tau=tau,
        temperature=0.3,
        target_entropy=-0.5,
        replay_ratio=1.01 / (HORIZON * SLOTS),
        normalize_rewards=False,
        max_grad_norm=None,
    )
    with torch.no_grad():
        # Actions well within the box, whose gradients are not clipped; a target network of its own.
        policy.action_log_std.fill_(-3.0)
        for tensor in algorithm.target.critics.parameters():
            tensor.add_(0.3 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(5)))
    take(algorithm, batch_of(0))
    now, follower = (
        {name: tensor.double().numpy().copy() for name, tensor in network.state_dict().items()}
        for network in (algorithm.network, algorithm.target)
    )
    generator = torch.Generator()
    generator.set_state(algorithm.generator.get_state())
    buffer, device = algorithm.buffer, torch.device("cpu")
    drawn = buffer.draw(size, generator, gamma=gamma, n_steps=1, divisor=None)
    noise = torch.randn((2, size, SIZE), generator=generator).double().numpy()
    x, following = (
        buffer.observations(rows, device)["obs"].double().numpy() for rows in (drawn.start, drawn.end)
    )
    taken = np.clip(buffer.actions(drawn.start, device).double().numpy(), -1, 1)
    log_std = now["policy.action_log_std"]
    next_action = np.clip(mean_of(now, following) + np.exp(log_std) * noise[0], -1, 1)
    targets = drawn.rewards.double().numpy() + drawn.discount.double().numpy() * lower_of(
        follower, following, next_action
    )

    def entropy(w: Weights) -> float:
        return float(np.sum(w["policy.action_log_std"] + 0.5 * np.log(2 * np.pi * np.e)))

    def action(w: Weights) -> NDArray[np.float64]:
        return mean_of(w, x) + np.exp(w["policy.action_log_std"]) * noise[1]

    assert np.abs(action(now)).max() < 1.0

    def critic_loss(w: Weights) -> float:
        return float(sum(np.mean((critic_of(w, number, x, taken) - targets) ** 2) for number in range(2)))

    def actor_loss(w: Weights) -> float:
        return float(-np.mean(lower_of(now, x, action(w))) - 0.3 * entropy(w))

    def temperature_loss(w: Weights) -> float:
        return float(np.exp(w["log_temperature"]) * (entropy(now) + 0.5 * SIZE))

    def value_loss(w: Weights) -> float:
        return float(np.mean((value_of(w, x) - lower_of(now, x, action(now))) ** 2))

    trunk = [f"policy.trunk.0.{kind}" for kind in ("weight", "bias")]
    head = [f"policy.policy_head.{kind}" for kind in ("weight", "bias")]
    value = [f"policy.value_{part}.{kind}" for part in ("trunk.0", "head") for kind in ("weight", "bias")]
    gradients = {
        **slopes(critic_loss, now, [name for name in now if name.startswith("critics.")]),
        **slopes(actor_loss, now, [*trunk, *head, "policy.action_log_std"]),
        **slopes(temperature_loss, now, ["log_temperature"]),
        **slopes(value_loss, now, value),
    }

    report = take(algorithm, batch_of(1))

    assert report["train/num_minibatches"] == 1.0
    assert report["train/loss"] == pytest.approx(critic_loss(now), rel=1e-4)
    assert report["train/temperature"] == pytest.approx(0.3)
    learned, followed = algorithm.network.state_dict(), algorithm.target.state_dict()
    assert {name for name, _ in algorithm.network.named_parameters()} == gradients.keys()
    for name, gradient in gradients.items():
        # Adam's first step.
        expected = now[name] - rate * gradient / (np.abs(gradient) + 1e-5)
        np.testing.assert_allclose(learned[name].numpy(), expected, atol=3e-5, err_msg=name)
        if name.startswith("critics."):
            moved = (1 - tau) * follower[name] + tau * expected
            np.testing.assert_allclose(followed[name].numpy(), moved, atol=3e-5, err_msg=name)


def test_what_lies_outside_of_the_box_is_pushed_back_and_never_further_out():
    algorithm, _ = create()
    with torch.no_grad():
        for critic in algorithm.network.critics:
            for tensor in critic.parameters():
                tensor.zero_()

    def slope_at(actions: torch.Tensor, by_first: float) -> torch.Tensor:
        # Q = by_first * the first number of the action.
        values = lambda _features, given: torch.stack([by_first * given[:, 0]] * 2)  # noqa: E731
        algorithm.network.values = values  # type: ignore[method-assign]
        return algorithm._value_and_slope(torch.zeros(len(actions), 3), actions)[1][:, 0]

    at = torch.tensor([[0.5, 0.0], [1.5, 0.0], [-1.5, 0.0]])
    assert slope_at(at, 2.0).tolist() == [2.0, 0.0, 2.0]
    assert slope_at(at, -2.0).tolist() == [-2.0, -2.0, 0.0]


def wanted(observation: torch.Tensor) -> torch.Tensor:
    first = observation[..., 0].clamp(-1, 1)
    return torch.stack((first, torch.full_like(first, 0.5)), -1)


def test_it_finds_the_action_that_is_rewarded_and_keeps_its_entropy():
    def reward(observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return -(action.clamp(-1, 1) - wanted(observation)).square().sum(-1)

    algorithm, policy = create(hidden=32, gamma=0.0, batch_size=64, target_entropy=-0.7, learning_rate=0.003)
    for number in range(25):
        report = take(algorithm, batch_of(number, reward))
    observation = batch_of(99).observation["obs"].flatten(0, 1)
    with torch.no_grad():
        mean = policy({"obs": observation})[0][:, :SIZE]
    assert (mean.clamp(-1, 1) - wanted(observation)).abs().mean() < 0.15
    assert report["train/entropy"] == pytest.approx(-0.7 * SIZE, abs=0.6)


def test_P8_a_step_that_is_not_finite_undoes_the_whole_update():
    algorithm, _ = create(replay_ratio=0.1)
    take(algorithm, batch_of(0))
    take(algorithm, batch_of(1))
    with torch.no_grad():
        algorithm.target.critics[0].layers[-1].bias[0] = torch.inf
        algorithm.target.critics[1].layers[-1].bias[0] = torch.inf
    before = state_of(algorithm)
    with pytest.raises(NonFiniteUpdateError), undone_on_failure(algorithm):
        algorithm.update(batch_of(2), Progress())
    assert same(before, state_of(algorithm))


def test_C8_the_same_seed_gives_the_same_bits_and_another_does_not():
    def trained(seed: int) -> dict[str, torch.Tensor]:
        algorithm, _ = create(seed, replay_ratio=0.2)
        for number in range(3):
            take(algorithm, batch_of(number))
        return state_of(algorithm)

    for seed in (1, 2, 3):
        assert same(trained(seed), trained(seed))
    assert not same(trained(1), trained(2))


def test_D2_what_it_keeps_comes_back_bit_for_bit():
    one, policy = create(replay_ratio=0.33)
    take(one, batch_of(0))
    take(one, batch_of(1))
    other, copied = create(seed=9, replay_ratio=0.33)
    restore(one, policy, other, copied)
    assert same(state_of(one), state_of(other)) and one.state().document == other.state().document
    # The buffer is not kept; with the same steps in it both go on alike.
    assert other.buffer.num_steps == 0
    other.buffer.add(batch_of(0))
    other.buffer.add(batch_of(1))
    take(one, batch_of(2))
    take(other, batch_of(2))
    assert same(state_of(one), state_of(other))
