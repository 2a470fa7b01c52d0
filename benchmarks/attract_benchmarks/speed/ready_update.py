"""A batch in memory and a policy to train on it: the learner's arithmetic without everything around it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.learner.ppo.report import ScheduledHyperparameters, UpdateReport
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.settings.run import PolicySettings, PpoSettings

TERMINATED, TRUNCATED = 1 / 128, 1 / 512
"""Probability that an episode ends at a step."""
SLOT_SEGMENTS = 4
"""Consecutive segments of each slot, as one rollout gives them: advantages run across them (S2)."""
MINIBATCH_SEGMENTS = 256
RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.0)


def describe_game(num_inputs: int, num_actions: int) -> GameDescription:
    """A game of one vector and one choice; CartPole's has 4 and 2."""
    return GameDescription(
        id="Bench-v1",
        tick_seconds=0.02,
        seconds_per_step=0.02,
        ticks_per_step=1,
        max_seconds=10.0,
        max_steps=500,
        observation=BoxSpace(shape=[num_inputs]),
        action=DiscreteSpace(n=num_actions),
    )


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an update: picklable."""

    num_inputs: int
    num_actions: int
    segments: int
    policy: PolicySettings
    ppo: PpoSettings

    @property
    def num_steps(self) -> int:
        """Steps of the batch, all valid."""
        return self.segments * self.ppo.horizon

    @property
    def num_samples(self) -> int:
        """Steps times passes: what one update works through."""
        return self.num_steps * self.ppo.n_epochs


def cartpole_work(*, shared_trunk: bool = True, num_steps: int = 32_768) -> Work:
    """CartPole's sizes: 64-64 tanh, 4 epochs, minibatches of 4,096."""
    ppo = PpoSettings(
        horizon=32, minibatch_steps=4096, n_epochs=4, learning_rate=RATES.learning_rate, target_kl=None
    )
    return Work(4, 2, max(1, num_steps // ppo.horizon), PolicySettings(shared_trunk=shared_trunk), ppo)


def segments_work(segments: int) -> Work:
    """Segments of 64 steps for an LSTM of 128 with 64 inputs: one pass in minibatches of 256 segments."""
    ppo = PpoSettings(
        horizon=64, num_minibatches=max(1, segments // MINIBATCH_SEGMENTS), n_epochs=1, target_kl=None
    )
    policy = PolicySettings(hidden_sizes=(), recurrent="lstm", recurrent_size=128)
    return Work(64, 8, segments, policy, ppo)


class ReadyUpdate:
    """The real `ppo_update` on a ready batch.

    Args:
        work: sizes and settings.
        device: where batch and policy are.
    """

    def __init__(self, work: Work, device: torch.device) -> None:
        game = describe_game(work.num_inputs, work.num_actions)
        self.work = work
        self.device = device
        self.distribution: ActionDistribution = build_distribution(game)
        self.policy = build_policy(work.policy, game, seed=1).to(device)
        self.batch = make_batch(self.policy, self.distribution, work, device)
        self._weights = {name: tensor.clone() for name, tensor in self.policy.state_dict().items()}
        self._generator = torch.Generator().manual_seed(2)

    def update(self) -> UpdateReport:
        """One update with a fresh optimizer; the policy keeps what it learned."""
        return ppo_update(
            self.policy,
            create_optimizer(self.policy, RATES.learning_rate),
            self.batch,
            self.work.ppo,
            self._generator,
            distribution=self.distribution,
            rates=RATES,
        )

    def run(self) -> float:
        """Seconds of one update; after it the policy has its first weights again."""
        seconds = timed(self.update, self.device)
        # Weights that went on learning from one batch for a hundred updates would not be anyone's.
        self.policy.load_state_dict(self._weights)
        return seconds


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was given; on a CPU return at once."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(function: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call, the device's work included."""
    synchronise(device)
    started = time.perf_counter()
    function()
    synchronise(device)
    return time.perf_counter() - started


@torch.no_grad()
def make_batch(policy: Policy, distribution: ActionDistribution, work: Work, device: torch.device) -> Batch:
    """Random observations and outcomes, with `policy`'s outputs for them."""
    generator = torch.Generator().manual_seed(3)
    shape = (work.ppo.horizon, work.segments)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=generator).to(device)

    def happens(share: float) -> Tensor:
        return (torch.rand(shape, generator=generator) < share).to(device)

    column = torch.arange(work.segments)
    nothing = torch.zeros(shape, device=device)
    batch = Batch(
        observation={"obs": normal(*shape, work.num_inputs)},
        action=torch.randint(0, work.num_actions, shape, generator=generator).to(device),
        log_prob=nothing,
        value=nothing,
        reward=normal(*shape),
        terminated=happens(TERMINATED),
        truncated=happens(TRUNCATED),
        valid=torch.ones(shape, dtype=torch.bool, device=device),
        final_value=normal(*shape),
        bootstrap_value=nothing[0],
        slot_id=(column // SLOT_SEGMENTS).to(device),
        first_step=(column % SLOT_SEGMENTS * work.ppo.horizon).to(device),
        policy_version=torch.zeros_like(column, device=device),
        worker_id=torch.zeros_like(column, device=device),
        recurrent_state={RECURRENT_STATE: normal(work.segments, policy.state_size).mul_(0.1)}
        if policy.state_size
        else {},
        bootstrap_observation={"obs": normal(work.segments, work.num_inputs)},
    )
    said = evaluate_batch(policy, distribution, batch)
    return replace(batch, log_prob=said.log_probs, value=said.values, bootstrap_value=said.bootstrap_value)
