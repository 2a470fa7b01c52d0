"""The cloning loss against sums written out, with masks, memory and statistics that move."""

from dataclasses import replace

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.errors import ConfigurationError
from attract.learner.imitation.likelihood import CloningLoss
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.spaces import BoxSpace
from attract.settings.run import PolicySettings
from batches import demonstrated_signs
from learner_world import describe_signs

GAME = describe_signs()


def policy_of(**settings: object) -> Policy:
    return build_policy(PolicySettings.model_validate({"hidden_sizes": (6,), **settings}), GAME, seed=2)


def test_S5_an_epoch_visits_every_demonstrated_step_once_and_no_other():
    batch = demonstrated_signs()
    loss = CloningLoss(policy_of(), build_distribution(GAME), batch, 7)
    places = torch.cat(list(loss.minibatches(torch.Generator().manual_seed(1))))
    assert places.sort().values.tolist() == batch.valid.flatten().nonzero().squeeze(1).tolist()
    assert loss.num_steps == len(places) == 120


def test_masks_leave_what_is_forbidden_out_of_the_likelihood_and_refuse_its_demonstration():
    batch = demonstrated_signs()
    only = torch.nn.functional.one_hot(batch.action, 2).bool()
    loss = CloningLoss(policy_of(), build_distribution(GAME), replace(batch, action_mask=only), 500)
    assert loss.mean() == pytest.approx(0.0, abs=1e-6)
    assert loss.sample(torch.Generator()).item() == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ConfigurationError, match="120 of 120 demonstrated actions were forbidden"):
        CloningLoss(policy_of(), build_distribution(GAME), replace(batch, action_mask=~only), 500)


def test_continuous_actions_have_the_likelihood_of_a_gaussian():
    game = GAME.model_copy(update={"action": BoxSpace(shape=[2], low=-1, high=1)})
    batch = demonstrated_signs()
    taken = torch.randn(*batch.action.shape, 2, generator=torch.Generator().manual_seed(3))
    policy = build_policy(PolicySettings(hidden_sizes=(6,), log_std_init=-0.5), game, seed=2)
    loss = CloningLoss(policy, build_distribution(game), replace(batch, action=taken), 500)
    outputs, _ = policy({"obs": batch.observation["obs"][batch.valid]})
    normal = torch.distributions.Normal(outputs[:, :2], outputs[:, 2:].exp())
    expected = -normal.log_prob(taken[batch.valid]).sum(1).mean()
    assert loss.mean() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_S3_S4_memory_is_carried_from_segment_to_segment_of_an_episode_in_order(kind: str):
    policy = policy_of(recurrent=kind, recurrent_size=5)
    whole, cut = demonstrated_signs(horizon=24), demonstrated_signs(horizon=8)
    assert cut.valid.shape == (8, 18)
    losses = [CloningLoss(policy, build_distribution(GAME), part, 10_000) for part in (whole, cut)]
    expected, found = (loss.mean() for loss in losses)
    assert found == pytest.approx(expected, rel=1e-5)
    drawn = losses[1].outputs(torch.arange(18))
    assert -drawn.log_probs.mean().item() == pytest.approx(expected, rel=1e-5)
    forgetful = CloningLoss(policy, build_distribution(GAME), cut, 10_000)
    forgetful._states.zero_()
    assert -forgetful.outputs(torch.arange(18)).log_probs.mean().item() != pytest.approx(expected, rel=1e-5)


def test_P7_statistics_that_moved_are_taken_in_by_a_refresh():
    batch, policy = demonstrated_signs(), policy_of()
    loss = CloningLoss(policy, build_distribution(GAME), batch, 10_000)
    before = loss.sample(torch.Generator()).item()
    policy.set_statistics({"obs": RunningMoments.of(3 * batch.observation["obs"] + 1, batch.valid)})
    assert loss.sample(torch.Generator()).item() == pytest.approx(before)
    loss.refresh()
    assert loss.sample(torch.Generator()).item() != pytest.approx(before)


def test_what_invalid_steps_hold_reaches_no_gradient():
    batch = demonstrated_signs()
    seen = batch.observation["obs"].masked_fill(~batch.valid.unsqueeze(-1), float("nan"))
    policy = policy_of(recurrent="gru", recurrent_size=5)
    loss = CloningLoss(policy, build_distribution(GAME), replace(batch, observation={"obs": seen}), 50)
    loss.sample(torch.Generator().manual_seed(1)).backward()
    gradients = [parameter.grad for parameter in policy.parameters() if parameter.grad is not None]
    assert gradients and all(torch.isfinite(gradient).all() for gradient in gradients)
