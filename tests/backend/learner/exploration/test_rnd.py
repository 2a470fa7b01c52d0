"""Random network distillation around an algorithm that learns nothing but notes what it is told."""

import copy
from pathlib import Path

import pytest
import torch

from attract.experience.batch import Batch, load_batch
from attract.learner.algorithms.algorithm import AlgorithmState, Learnable, Progress, Report
from attract.learner.exploration.rnd import WithRnd
from attract.learner.registry import choose_algorithm
from attract.policy.network import build_distribution, build_policy
from attract.settings.rnd import RndSettings
from attract.settings.run import PolicySettings, RunSettings
from learner_world import SignsFleet, SolePolicy, describe_signs

HEADS = ("own", "shared")


class Noted:
    """An `Algorithm` that keeps the batches it is given."""

    def __init__(self) -> None:
        self.moments = {}
        self.batches: list[Batch] = []
        self.restored: list[set[str]] = []

    def can_learn_from(self, batch: Batch) -> bool:
        return True

    def update(self, batch: Batch, progress: Progress, extra_loss=None) -> Report:
        self.batches.append(batch)
        return Report({"train/loss": 2.0}, {"train/learning_rate": 3.0})

    def commit(self):
        return {}

    def snapshot(self):
        return lambda: None

    def state(self) -> AlgorithmState:
        return AlgorithmState({"return_statistics.inner": torch.ones(1)}, {}, {"inner": 1})

    def load_state(self, state: AlgorithmState) -> None:
        self.restored.append(set(state.tensors) | set(state.document))


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0, invalid=0.5))
    fleet.close()


def around(inner: Noted, **settings: object) -> WithRnd:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(4,)), game, seed=1)
    learnable = Learnable(policy, build_distribution(game), seed=3)
    return WithRnd(learnable, inner, RndSettings.model_validate(settings))


def test_with_a_shared_head_the_unseen_is_paid_as_a_reward_and_with_its_own_as_an_advantage(batch: Batch):
    received = {}
    for head in HEADS:
        inner = Noted()
        report = around(inner, value_head=head, coef=0.5).update(batch.at_version(0), Progress())
        received[head] = inner.batches[0]
        assert report.metrics["train/loss"] == 2.0 and report.shared_metrics == {"train/learning_rate": 3.0}
        assert report.metrics["train/exploration_bonus"] > 0 and report.metrics["train/exploration_error"] > 0
    assert received["shared"].advantage_bonus is None and received["own"].reward_bonus is None
    assert torch.equal(received["own"].reward.nan_to_num(), batch.reward.nan_to_num())
    paid, advantages = received["shared"].reward_bonus, received["own"].advantage_bonus
    assert (paid[~batch.valid] == 0).all() and (advantages[~batch.valid] == 0).all()
    assert (paid >= 0).all() and (advantages < 0).any() and (advantages > 0).any()


@pytest.mark.parametrize("head", HEADS)
def test_P8_the_unseen_pays_the_same_until_an_update_counts(batch: Batch, head: str):
    wrapped, one = around(Noted(), value_head=head), batch.at_version(0)
    first = wrapped.update(one, Progress()).metrics
    assert wrapped.update(one, Progress()).metrics == first
    wrapped.commit()
    assert (
        wrapped.update(one, Progress()).metrics["train/exploration_error"]
        < (first["train/exploration_error"])
    )


@pytest.mark.parametrize("head", HEADS)
def test_P8_of_what_was_undone_nothing_pays_less(batch: Batch, head: str):
    wrapped, one = around(Noted(), value_head=head), batch.at_version(0)
    undo = wrapped.snapshot()
    first = wrapped.update(one, Progress()).metrics
    undo()
    wrapped.commit()
    assert wrapped.update(one, Progress()).metrics == first


@pytest.mark.parametrize("head", HEADS)
def test_D2_it_goes_into_a_checkpoint_beside_the_inner_one_and_comes_back(batch: Batch, head: str):
    one, inner = around(Noted(), value_head=head), Noted()
    two = around(inner, value_head=head)
    for _ in range(2):
        one.update(batch.at_version(0), Progress())
        one.commit()
    two.load_state(copy.deepcopy(one.state()))
    assert inner.restored[0] >= {"return_statistics.inner", "inner"}
    for wrapped in (one, two):
        wrapped.update(batch.at_version(0), Progress())
        wrapped.commit()
    again = [wrapped.update(batch.at_version(0), Progress()).metrics for wrapped in (one, two)]
    assert again[0] == again[1]


@pytest.mark.parametrize("before", ["none", "shared"])
def test_a_run_that_explored_otherwise_until_now_begins_to_explore(batch: Batch, before: str):
    state = AlgorithmState({}, {}, {})
    if before == "shared":
        other = around(Noted(), value_head="shared")
        other.update(batch.at_version(0), Progress())
        other.commit()
        state = other.state()
    wrapped = around(Noted(), value_head="own")
    wrapped.load_state(state)
    metrics = wrapped.update(batch.at_version(0), Progress()).metrics
    assert metrics["train/exploration_bonus"] > 0


@pytest.mark.parametrize("head", HEADS)
def test_around_ppo_what_is_seen_again_pays_less(batch: Batch, head: str):
    ppo = {"learning_rate": 1e-3, "entropy_coef": 0.0, "target_kl": None}
    settings = {"ppo": ppo, "exploration": "rnd", "rnd": {"value_head": head}}
    choice = choose_algorithm(RunSettings.from_mapping(settings))
    updater = SolePolicy(choice)
    bonuses = []
    for version in range(20):
        bonuses.append(updater.update(batch, Progress(version)).metrics["train/exploration_bonus"])
        updater.gather(batch)
    assert bonuses[0] > 0 and bonuses[-1] < 0.5 * bonuses[0]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("schedule", "share"), [("linear", 0.5), ("constant", 1.0)])
def test_P10_what_the_unseen_pays_fades_over_the_run(batch: Batch, head: str, schedule: str, share: float):
    paid = []
    for agent_steps in (0, 500):
        inner = Noted()
        wrapped = around(inner, value_head=head, coef_schedule=schedule)
        wrapped.update(batch.at_version(0), Progress(0, agent_steps, schedule_steps=1000))
        bonus = inner.batches[0].reward_bonus if head == "shared" else inner.batches[0].advantage_bonus
        paid.append(bonus[batch.valid])
    torch.testing.assert_close(paid[1], share * paid[0])
