"""Behaviour cloning of who looks at a sign: the policy, the value function, and when it ends."""

from dataclasses import replace

import pytest
import torch

from attract.experience.batch import Batch
from attract.learner.imitation.fitting import Epoch, FitPlan, fit
from attract.policy.network import build_distribution, build_policy
from attract.schema.spaces import BoxSpace
from attract.settings.run import PolicySettings
from batches import demonstrated_signs
from learner_world import describe_signs

GAME = describe_signs()
SLOTS = [[number] for number in range(6)]


def fitted(plan: FitPlan, batch=None, *, slots=SLOTS, gamma: float = 0.9, **settings: object):
    policy = build_policy(PolicySettings.model_validate({"hidden_sizes": (8,), **settings}), GAME, seed=2)
    epochs: list[Epoch] = []
    batch = demonstrated_signs() if batch is None else batch
    result = fit(
        policy, build_distribution(GAME), batch, plan, torch.Generator().manual_seed(1),
        gamma=gamma, slots_of=slots, on_epoch=epochs.append,
    )  # fmt: skip
    return policy, result, epochs


@pytest.mark.parametrize("recurrent", ["none", "gru"])
def test_what_was_demonstrated_is_what_is_played(recurrent: str):
    _, result, _ = fitted(FitPlan(epochs=150), recurrent=recurrent, recurrent_size=8)
    assert result.agreement > 0.95 and result.loss < 0.25
    assert result.held_out is not None and result.held_out < 0.15


SIZE = 24


@pytest.mark.parametrize("recurrent", ["none", "gru"])
def test_what_a_picture_showed_is_played_elsewhere_too(recurrent: str):
    def pictures(lefts: range, batch: Batch) -> torch.Tensor:
        """A square at one of `lefts`, and right of it a bar if the action is 1, left of it if not."""
        steps = batch.action.flatten()
        seen = torch.zeros(len(steps), SIZE, SIZE, 1, dtype=torch.uint8)
        for number, action in enumerate(steps.tolist()):
            left = lefts[number % len(lefts)]
            seen[number, 10:14, left : left + 4] = 255
            bar = left + 6 if action else left - 4
            seen[number, 6:18, bar : bar + 2] = 255
        return seen.view(*batch.action.shape, SIZE, SIZE, 1)

    game = GAME.model_copy(
        update={"observation": BoxSpace(shape=[SIZE, SIZE, 1], low=0, high=255, dtype="uint8")}
    )
    policy = build_policy(
        PolicySettings(hidden_sizes=(8,), recurrent=recurrent, recurrent_size=8), game, seed=2
    )
    batch = demonstrated_signs()
    shown = replace(
        batch,
        observation={"obs": pictures(range(9, 11), batch)},
        bootstrap_observation={"obs": torch.zeros(len(batch.slot_id), SIZE, SIZE, 1, dtype=torch.uint8)},
    )
    generator = torch.Generator().manual_seed(1)
    distribution = build_distribution(game)
    result = fit(policy, distribution, shown, FitPlan(epochs=150), generator, gamma=0.9, slots_of=[])
    assert result.agreement > 0.95
    elsewhere = {"obs": pictures(range(7, 13, 5), batch)}
    states = torch.zeros(len(batch.slot_id), policy.state_size)
    outputs, _, _ = policy.unroll(policy.preprocess(elsewhere), states, batch.reset_after)
    assert (outputs.argmax(-1) == batch.action)[batch.valid].float().mean() > 0.95


def test_the_value_function_foresees_discounted_returns():
    batch = demonstrated_signs()
    # The second input says how far the episode is: what is to come can be known.
    seen = batch.observation["obs"].clone()
    steps = batch.first_step + torch.arange(8).unsqueeze(1)
    seen[..., 1] = steps / 20
    policy, result, _ = fitted(FitPlan(epochs=300), replace(batch, observation={"obs": seen}), slots=[])
    assert result.explained_variance > 0.85
    _, values = policy({"obs": seen[batch.valid]})
    expected = 0.9 ** (19 - steps[batch.valid]).float()
    assert (values - expected).abs().mean() < 0.1


def test_E1_an_episode_that_was_stopped_is_worth_more_than_what_it_paid():
    batch = demonstrated_signs(steps=16)
    stopped = replace(
        batch,
        reward=torch.ones_like(batch.reward),
        terminated=torch.zeros_like(batch.terminated),
        truncated=torch.zeros_like(batch.truncated),
        bootstrap_observation={"obs": torch.randn(len(batch.slot_id), 3)},
    )
    policy, _, _ = fitted(FitPlan(epochs=400), stopped, slots=[], gamma=0.5)
    _, values = policy({"obs": batch.observation["obs"][batch.valid]})
    assert values.mean().item() == pytest.approx(2.0, abs=0.1)


def test_what_is_held_out_ends_a_fit_to_what_has_no_rule():
    batch = demonstrated_signs()
    chance = torch.randint(0, 2, batch.action.shape, generator=torch.Generator().manual_seed(8))
    plan = FitPlan(epochs=400, sparsity=0.0, patience=0.1)
    _, result, epochs = fitted(plan, replace(batch, action=chance))
    assert result.epochs < 400 and len(epochs) < 800
    _, blind, _ = fitted(replace(plan, held_out=0.0), replace(batch, action=chance))
    assert blind.epochs == 400 and blind.held_out is None


def test_with_few_demonstrations_none_is_held_out():
    _, result, _ = fitted(FitPlan(epochs=5), slots=SLOTS[:4])
    assert result.held_out is None and result.epochs == 5


def test_C8_the_same_seed_gives_the_same_bits():
    one, other = (fitted(FitPlan(epochs=5))[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
