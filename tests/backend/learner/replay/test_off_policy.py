"""The order of an update that draws from a replay buffer, by an algorithm that learns one number."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.replay import off_policy
from attract.learner.replay.off_policy import RETURNS, Minibatch, OffPolicy
from attract.policy.network import Policy
from attract.settings.dqn import DqnSettings
from batches import create as create_one
from batches import signs_batches, signs_fleet, take
from learner_world import describe_signs


class Guess(nn.Module):
    """A policy, and a guess of every return."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy
        self.guess = nn.Parameter(torch.zeros(()))

    def learned(self) -> list[nn.Parameter]:
        return [self.guess]

    def followed(self) -> list[nn.Parameter]:
        return [self.guess]


class Guessing(OffPolicy):
    """Learns the mean of the targets that its target network gives."""

    metric_names: ClassVar[tuple[str, ...]] = ("train/loss",)

    def __init__(self, learnable: Learnable, settings: DqnSettings) -> None:
        self.network = Guess(learnable.policy)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        super().__init__(learnable, settings, self.network, self.target)

    def _loss(self, minibatch: Minibatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        targets = minibatch.rewards + minibatch.discount * self.target.guess
        loss = (targets - self.network.guess).square().mean()
        return loss, (loss.detach(),)

    def _write_policy(self, progress: Progress) -> tuple[dict[str, float], dict[str, float]]:
        return {"train/entropy": 1.0}, {"train/epsilon": progress.agent_steps / 1000}


@pytest.fixture
def batches(tmp_path: Path) -> Iterator[list[Batch]]:
    fleet = signs_fleet(tmp_path)
    yield signs_batches(fleet)
    fleet.close()


def create(**settings: object) -> tuple[Guessing, Policy]:
    return create_one(Guessing, DqnSettings, describe_signs(), **settings)


def test_the_target_network_follows_by_tau_and_metrics_are_means_over_the_steps(batches: list[Batch]):
    steps = int(batches[1].valid.sum())
    algorithm, _ = create(tau=0.25, learning_rate=0.1, replay_ratio=1.01 / steps, max_grad_norm=None)
    take(algorithm, batches[0])
    with torch.no_grad():
        algorithm.target.guess.fill_(1.0)
    report = take(algorithm, batches[1], Progress(agent_steps=250))
    # Adam's first step is the rate.
    own = float(algorithm.network.guess.detach())
    assert abs(own) == pytest.approx(0.1, rel=1e-3)
    assert float(algorithm.target.guess) == pytest.approx(0.75 + 0.25 * own)
    assert report["train/num_minibatches"] == 1.0 and report["train/grad_norm"] > 0.0
    assert (report["train/entropy"], report["train/epsilon"]) == (1.0, 0.25)


def test_P8_an_update_draws_from_the_batches_before_and_its_own_counts_from_commit_on(batches: list[Batch]):
    algorithm, _ = create()
    assert "train/loss" not in algorithm.update(batches[0], Progress()).metrics
    assert algorithm.buffer.num_steps == 0 and algorithm.moments[RETURNS].count == 0
    assert algorithm.commit()[RETURNS].count == int(batches[0].valid.sum())
    assert algorithm.buffer.num_steps == int(batches[0].valid.sum())
    assert algorithm.commit() == {}
    report = algorithm.update(batches[1], Progress())
    # The diagnosis reads how random the policy is by it.
    assert "train/loss" in report.metrics and report.entropy == 1.0


def test_gradient_steps_follow_the_replay_ratio_and_what_is_left_over_is_carried(batches: list[Batch]):
    algorithm, _ = create(replay_ratio=0.019)
    take(algorithm, batches[0])
    steps, taken = 0, 0.0
    for batch in batches[1:] * 3:
        taken += take(algorithm, batch)["train/num_minibatches"]
        steps += int(batch.valid.sum())
        assert int(taken) == int(0.019 * steps + 1e-9)
    waiting, _ = create(learning_starts=int(batches[0].valid.sum()) + 1)
    take(waiting, batches[0])
    assert take(waiting, batches[1])["train/num_minibatches"] == 0.0
    assert take(waiting, batches[2])["train/num_minibatches"] > 0.0


def test_an_update_that_is_awaited_ends_and_its_other_gradient_steps_are_left_out(batches: list[Batch]):
    algorithm, _ = create(replay_ratio=0.25)
    take(algorithm, batches[0])
    asked: list[int] = []

    def is_awaited() -> bool:
        asked.append(len(asked))
        return len(asked) >= 3

    wanted = int(0.25 * int(batches[1].valid.sum()))
    report = take(algorithm, batches[1], Progress(is_awaited=is_awaited))
    assert report["train/num_minibatches"] == 3.0 == len(asked)
    assert report["train/replay_share"] == pytest.approx(3 / wanted) and wanted > 10
    # The next update takes its own, and none of those.
    wanted = int(0.25 * int(batches[2].valid.sum()))
    report = take(algorithm, batches[2])
    assert wanted <= report["train/num_minibatches"] <= wanted + 1 and report["train/replay_share"] == 1.0
    # One step is taken even if the next batch was there before.
    assert take(algorithm, batches[1], Progress(is_awaited=lambda: True))["train/num_minibatches"] == 1.0


def test_rows_that_are_gathered_in_pieces_give_the_same_bits(
    batches: list[Batch], monkeypatch: pytest.MonkeyPatch
):
    found: list[Tensor] = []
    row_bytes = 0
    for minibatches in (100, 3, 0):
        # The buffer has rows of 30 bytes: 3 numbers, an action, and 14 of its own.
        monkeypatch.setattr(off_policy, "GATHERED_BYTES", minibatches * 2 * 64 * row_bytes)
        algorithm, _ = create(replay_ratio=0.1, learning_rate=0.1)
        take(algorithm, batches[0])
        row_bytes = algorithm.buffer.row_bytes
        assert row_bytes == 30
        assert take(algorithm, batches[1])["train/num_minibatches"] > 6
        found.append(algorithm.network.guess.detach())
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2]) and float(found[0]) != 0.0


def test_what_a_wrapper_adds_is_refused(batches: list[Batch]):
    algorithm, _ = create()
    for batch in (
        replace(batches[0], reward_bonus=batches[0].reward),
        replace(batches[0], advantage_bonus=batches[0].reward),
    ):
        with pytest.raises(RuntimeError, match="experience alone"):
            algorithm.update(batch, Progress())
    with pytest.raises(RuntimeError, match="experience alone"):
        algorithm.update(batches[0], Progress(), lambda generator: torch.zeros(()))


def test_the_return_that_followed_the_steps_is_measured_as_they_come(batches: list[Batch]):
    """Two slots, gamma 0.5. Slot 0: rewards 1, 2, 4 (terminated), 8; slot 1: 0, 0, 0, 16, goes on with 32."""
    algorithm, _ = create(gamma=0.5, normalize_rewards=False)
    first, second = slots_of(
        batches[0], [[1.0, 2.0, 4.0, 8.0], [0.0, 0.0, 0.0, 16.0]], [[32.0], [0.0]], ends=2
    )
    # Slot 0: 1 + 1 + 1, 2 + 2, 4, and 8 after the end. Slot 1: 2, 4, 8, 16.
    assert take(algorithm, first)["train/discounted_return"] == pytest.approx((3 + 4 + 4 + 8 + 30) / 8)
    # 32 follows on 8: it counts 32 for its own step and 16 for the one before.
    assert take(algorithm, second)["train/discounted_return"] == pytest.approx((32 + 16) / 2)


def slots_of(like: Batch, first: list[list[float]], second: list[list[float]], *, ends: int) -> list[Batch]:
    """Two batches of two slots that go on from one to the other; the first slot's step `ends` terminates."""
    found: list[Batch] = []
    start = 0
    for rewards in (first, second):
        reward = torch.tensor(rewards).T
        horizon = len(reward)
        cut = {
            name: getattr(like, name)[:horizon, :2] for name in ("action", "log_prob", "value", "final_value")
        }
        nothing = torch.zeros(horizon, 2, dtype=torch.bool)
        terminated = nothing.clone()
        if not start:
            terminated[ends, 0] = True
        found.append(
            replace(
                like,
                **cut,
                observation={key: array[:horizon, :2] for key, array in like.observation.items()},
                bootstrap_observation={key: array[:2] for key, array in like.bootstrap_observation.items()},
                reward=reward,
                terminated=terminated,
                truncated=nothing,
                valid=torch.ones_like(nothing),
                slot_id=torch.tensor([0, 1]),
                first_step=torch.tensor([start, start]),
                bootstrap_value=like.bootstrap_value[:2],
                policy_version=like.policy_version[:2],
                worker_id=like.worker_id[:2],
                action_mask=None if like.action_mask is None else like.action_mask[:horizon, :2],
                finals=None,
                rows=(),
                policy_lag=None,
            )
        )
        start += horizon
    return found
