from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attract.experience.batch import Batch, load_batch
from attract.learner.exploration.novelty import RandomNetworkDistillation
from attract.policy.network import Policy, build_policy
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, SetSpace
from attract.settings.run import PolicySettings
from learner_world import SignsFleet, describe_signs

GAMMA = 0.9


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0, invalid=0.5)).at_version(0)
    fleet.close()


def policy_for(observation=None) -> Policy:
    game = describe_signs()
    if observation is not None:
        game = game.model_copy(update={"observation": observation})
    return build_policy(PolicySettings(hidden_sizes=(4,)), game)


def create(policy: Policy, seed: int = 0) -> RandomNetworkDistillation:
    return RandomNetworkDistillation(policy.entries, torch.Generator().manual_seed(seed), torch.device("cpu"))


def test_a_bonus_is_paid_for_the_observation_after_a_step_and_never_across_an_end(batch: Batch):
    policy = policy_for()
    ended = batch.terminated | batch.truncated | ~batch.valid
    before = create(policy).see(policy, batch, GAMMA).bonus
    assert (before[ended] == 0).all() and (before[~ended] > 0).all()
    # Another observation at step 5 changes what step 4 was paid, and nothing else, up to the common divisor.
    observations = batch.observation["obs"].clone()
    column = int((~ended[4] & ~ended[5]).nonzero()[0])
    observations[5, column] += 3.0
    after = create(policy).see(policy, replace(batch, observation={"obs": observations}), GAMMA).bonus
    ratio = (after / before)[~ended]
    assert ((ratio - ratio.median()).abs() > 1e-4).sum() == 1
    assert (after / before)[4, column] != pytest.approx(float(ratio.median()), rel=1e-3)


def test_what_is_seen_again_and_again_pays_less_than_what_is_new(batch: Batch):
    policy = policy_for()
    novelty = create(policy)
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        novelty.take_over(novelty.see(policy, batch, GAMMA), generator)
    far = {"obs": batch.observation["obs"] + 8.0}
    alive = ~(batch.terminated | batch.truncated | ~batch.valid)
    known, new = (
        novelty.see(policy, batch, GAMMA),
        novelty.see(policy, replace(batch, observation=far), GAMMA),
    )
    # Bonuses of different batches have different divisors: compare what was not divided yet.
    assert new.returns.moments.mean > 3 * known.returns.moments.mean
    assert known.bonus[alive].isfinite().all()


def test_seeing_changes_nothing(batch: Batch):
    policy = policy_for()
    novelty = create(policy)
    first = novelty.see(policy, batch, GAMMA).bonus
    assert torch.equal(novelty.see(policy, batch, GAMMA).bonus, first)


def test_D2_it_goes_into_a_checkpoint_and_comes_back(batch: Batch):
    policy = policy_for()
    one, other = create(policy, 0), create(policy, 9)
    one.take_over(one.see(policy, batch, GAMMA), torch.Generator().manual_seed(1))
    other.restore({name: tensor.clone() for name, tensor in one.tensors().items()})
    for novelty in (one, other):
        novelty.take_over(novelty.see(policy, batch, GAMMA), torch.Generator().manual_seed(2))
    assert torch.equal(one.see(policy, batch, GAMMA).bonus, other.see(policy, batch, GAMMA).bonus)


def test_every_kind_of_observation_has_features():
    space = DictSpace(
        spaces={
            "picture": BoxSpace(shape=[6, 5, 2], dtype="uint8", low=0, high=255),
            "bits": MultiBinarySpace(n=3),
            "kind": DiscreteSpace(n=4),
            "grid": BoxSpace(shape=[2, 3]),
        }
    )
    policy = policy_for(space)
    novelty = create(policy)
    horizon, slots = 4, 3
    observations = {
        "picture": torch.randint(0, 256, (horizon, slots, 6, 5, 2), dtype=torch.uint8),
        "bits": torch.randint(0, 2, (horizon, slots, 3), dtype=torch.uint8),
        "kind": torch.randint(0, 4, (horizon, slots), dtype=torch.int32),
        "grid": torch.randn(horizon, slots, 2, 3),
    }
    flags = torch.zeros(horizon, slots, dtype=torch.bool)
    numbers = torch.zeros(horizon, slots)
    batch = Batch(
        observation=observations,
        action=numbers.long(),
        log_prob=numbers,
        value=numbers,
        reward=numbers,
        terminated=flags,
        truncated=flags,
        valid=~flags,
        final_value=numbers,
        bootstrap_value=numbers[0],
        slot_id=torch.arange(slots),
        first_step=torch.zeros(slots, dtype=torch.int64),
        policy_version=torch.zeros(slots, dtype=torch.int64),
        worker_id=torch.zeros(slots, dtype=torch.int64),
        bootstrap_observation={key: array[0] for key, array in observations.items()},
    )
    seen = novelty.see(policy, batch, GAMMA)
    assert seen.features.shape == (horizon, slots, 6 * 5 * 2 + 3 + 4 + 6)
    assert seen.bonus.shape == (horizon, slots) and (seen.bonus > 0).all()


def test_another_order_of_the_rows_of_a_set_is_nothing_new(batch: Batch):
    policy = policy_for(SetSpace(max=4, shape=[2]))
    rocks = torch.randn(*batch.valid.shape, 4, 3, generator=torch.Generator().manual_seed(1))
    rocks[..., -1] = (rocks[..., -1] > 0).float()

    def bonus(rows: torch.Tensor) -> torch.Tensor:
        seen = replace(batch, observation={"obs": rows}, bootstrap_observation={"obs": rows[-1]})
        return create(policy).see(policy, seen, GAMMA).bonus

    assert torch.equal(bonus(rocks), bonus(rocks.flip(2)))
    assert not torch.equal(bonus(rocks), bonus(rocks + 1))
