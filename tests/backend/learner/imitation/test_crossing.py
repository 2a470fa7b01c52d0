"""Examples crossed of demonstrations: what they are made of, and that a network plays better by them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from attract.experience.batch import Batch
from attract.learner.imitation import fitting
from attract.learner.imitation.crossing import (
    MAX_NUMBERS,
    NUM_CROSSED,
    SHARE_SEEN,
    CrossedExamples,
    has_trees,
)
from attract.learner.imitation.fitting import FitPlan, fit
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.settings.run import PolicySettings
from batches import demonstrated_signs
from learner_world import describe_signs


def policy_for(game: GameDescription, **settings: object) -> Policy:
    return build_policy(PolicySettings.model_validate({"hidden_sizes": (16, 16), **settings}), game, seed=2)


def crossed(batch: Batch, policy: Policy | None = None, seed: int = 1) -> CrossedExamples | None:
    generator = torch.Generator().manual_seed(seed)
    return CrossedExamples.of(policy or policy_for(describe_signs()), batch, generator)


def test_each_is_of_two_that_were_seen_and_those_stand_among_them():
    batch = demonstrated_signs(num_inputs=3)
    examples = crossed(batch)
    assert examples is not None
    seen = batch.observation["obs"][batch.valid]
    made = examples.observation["obs"]
    num_repeats = round(NUM_CROSSED * SHARE_SEEN / len(seen))
    assert made.shape == (NUM_CROSSED + num_repeats * len(seen), 3) and made.dtype == torch.float32
    # What stands in row i of them is a row i of the demonstrations, and was chosen there.
    assert torch.equal(made[-len(seen) :], seen)
    assert torch.equal(examples.action[-len(seen) :], batch.action[batch.valid])
    for number in range(3):
        assert set(made[:, number].tolist()) == set(seen[:, number].tolist())
    sources = (made[:1000, None, :] == seen[None]).sum(-1)
    assert (sources.max(1).values >= 2).all(), "each number of one of two rows"
    # The sign of the first number decides, whatever stands beside it.
    assert ((made[:, 0] > 0).long() == examples.action).float().mean() > 0.97


def test_several_choices_are_each_learned():
    batch = demonstrated_signs()
    pair = torch.stack([batch.action, 2 * (batch.observation["obs"][..., 1] > 0).long()], -1)
    examples = crossed(replace(batch, action=pair))
    assert examples is not None and examples.action.shape[1:] == (2,)
    made = examples.observation["obs"]
    assert (2 * (made[:, 1] > 0).long() == examples.action[:, 1]).float().mean() > 0.97
    assert set(examples.action[:, 1].tolist()) == {0, 2}


def test_named_observations_keep_their_names_and_shapes():
    batch = demonstrated_signs()
    seen = batch.observation["obs"]
    named = {"eye": seen[..., :2].unsqueeze(-1), "ear": seen[..., 2:]}
    examples = crossed(replace(batch, observation=named))
    assert examples is not None
    assert {key: array.shape[1:] for key, array in examples.observation.items()} == {
        "eye": (2, 1),
        "ear": (1,),
    }
    assert ((examples.observation["eye"][:, 0, 0] > 0).long() == examples.action).float().mean() > 0.97


def test_C8_the_same_generator_gives_the_same_bits():
    batch = demonstrated_signs()
    one, same, other = (crossed(batch, seed=seed) for seed in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    assert torch.equal(one.observation["obs"], same.observation["obs"]) and torch.equal(
        one.action, same.action
    )
    assert not torch.equal(one.observation["obs"], other.observation["obs"])


def test_there_are_none_of_pictures_memory_real_valued_actions_and_very_many_numbers():
    batch = demonstrated_signs()
    assert crossed(batch, policy_for(describe_signs(), recurrent="gru", recurrent_size=4)) is None
    assert crossed(replace(batch, action=batch.action.float())) is None
    assert crossed(replace(batch, observation={"obs": batch.observation["obs"].to(torch.uint8)})) is None
    wide = demonstrated_signs(num_inputs=MAX_NUMBERS + 1)
    assert crossed(wide, policy_for(describe_signs(MAX_NUMBERS + 1))) is None


def stepwise(seen: torch.Tensor) -> torch.Tensor:
    """Goes by steps in several numbers, as a player does who walks to a key and then to a door."""
    nearer = torch.where(seen[..., 0] > 0.5, seen[..., 1], seen[..., 2])
    return (nearer.round(decimals=1) > 0.2).long()


@pytest.mark.parametrize(
    "seed", [pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.soak)]
)
def test_what_goes_by_steps_is_played_better_in_places_that_were_not_seen(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    game = describe_signs(8)
    batch = demonstrated_signs(episodes=12, steps=16, num_inputs=8, seed=seed)
    batch = replace(batch, action=stepwise(batch.observation["obs"]))
    unseen = torch.randn(4_000, 8, generator=torch.Generator().manual_seed(100 + seed))
    agreement: dict[bool, float] = {}
    slots = [[2 * number, 2 * number + 1] for number in range(12)]
    for crosses in (False, True):
        if not crosses:
            monkeypatch.setattr(fitting.CrossedExamples, "of", lambda *_: None)
        policy, distribution = policy_for(game), build_distribution(game)
        generator = torch.Generator().manual_seed(seed)
        plan = FitPlan(epochs=600)
        result = fit(policy, distribution, batch, plan, generator, gamma=0.9, slots_of=slots)
        assert result.held_out is not None
        outputs, _ = policy({"obs": unseen})
        agreement[crosses] = (distribution.mode(outputs) == stepwise(unseen)).float().mean().item()
        monkeypatch.undo()
    assert agreement[True] > agreement[False] + 0.02, agreement


def test_a_rule_that_a_network_finds_by_itself_is_fitted_without_them(monkeypatch: pytest.MonkeyPatch):
    """A slanted line: what is held out says that the demonstrations alone do better."""
    game = describe_signs(8)
    batch = demonstrated_signs(episodes=40, steps=16, num_inputs=8)
    slope = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    batch = replace(batch, action=((batch.observation["obs"] * slope).sum(-1) > 0).long())
    slots = [[2 * number, 2 * number + 1] for number in range(40)]
    calls: list[int] = []
    of = CrossedExamples.of.__func__

    def counted(policy: Policy, chosen: Batch, generator: torch.Generator) -> CrossedExamples | None:
        calls.append(int(chosen.valid.sum()))
        return of(CrossedExamples, policy, chosen, generator)

    monkeypatch.setattr(fitting.CrossedExamples, "of", counted)
    generator = torch.Generator().manual_seed(1)
    fit(
        policy_for(game),
        build_distribution(game),
        batch,
        FitPlan(epochs=200),
        generator,
        gamma=0.9,
        slots_of=slots,
    )
    # Made of what was not held out, to compare, and not again of all.
    assert len(calls) == 1 and calls[0] < int(batch.valid.sum())
    assert np.isfinite(calls).all()


def test_without_scikit_learn_demonstrations_are_not_crossed(monkeypatch: pytest.MonkeyPatch):
    # None is how Python marks a module that cannot be imported.
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert not has_trees()
    assert crossed(demonstrated_signs()) is None
