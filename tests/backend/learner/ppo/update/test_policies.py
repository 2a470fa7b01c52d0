import dataclasses
import functools

import pytest
import torch

from attract.learner.ppo.estimates import Estimator
from attract.policy.recurrent import RecurrentCore
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace
from attract.settings.run import PpoSettings
from batches import build as build_acting
from batches import play
from random_batches import RATES, update, weights_of

PLAYED = {
    "several entries, bits": {
        "observation": DictSpace(
            spaces={
                "hand": DiscreteSpace(n=4),
                "map": BoxSpace(shape=[12, 12, 2], dtype="uint8"),
                "place": BoxSpace(shape=[2]),
            }
        ),
        "action": {"kind": "multi_binary", "n": 3},
    },
    "continuous": {"action": {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}},
    "masked": {"masks": 3},
    "mixed": {
        "action": {
            "kind": "mixed",
            "spaces": {
                "aim": {"kind": "box", "shape": [2], "low": -1.0, "high": 1.0},
                "button": {"kind": "discrete", "n": 4},
            },
        },
        "masks": 4,
    },
    "masked components, gru": {
        "action": {"kind": "multi_discrete", "nvec": [2, 4]},
        "masks": 6,
        "recurrent": "gru",
    },
}


@pytest.mark.parametrize("kind", PLAYED)
@pytest.mark.parametrize("unit", ["step", "segment"])
def test_P5_S5_on_policy_every_kind_of_policy_has_ratio_one_and_learns(kind, unit):
    network = dict(PLAYED[kind])
    masks = network.pop("masks", 0)
    policy, distribution = build_acting(**network)
    unit = "segment" if policy.state_size else unit
    batch = play(policy, distribution, masks=masks, invalid=0.5)
    settings = PpoSettings(n_epochs=1, num_minibatches=1, minibatch_unit=unit)
    weights = weights_of(policy)
    report = update(policy, batch, settings, distribution=distribution)
    # The distribution of the update is that of the play, mask and all: ratio 1, so the surrogate is 0.
    assert report.approx_kl == pytest.approx(0, abs=1e-6) and report.clip_fraction == 0
    assert report.policy_loss == pytest.approx(0, abs=1e-5)
    assert report.num_steps == int(batch.valid.sum()) < batch.valid.numel()
    assert all(not torch.equal(tensor, weights[name]) for name, tensor in policy.named_parameters())


class UnrolledReference(torch.nn.Module):
    """The recurrent policy out of torch's own LSTM or GRU, unrolled step by step with a loop of its own."""

    def __init__(self, policy, recurrent):
        super().__init__()
        core = policy.core
        kind = torch.nn.LSTM if recurrent == "lstm" else torch.nn.GRU
        self.cells = kind(core.inputs.in_features, core.size)
        self.heads = torch.nn.ModuleList([policy.trunk, policy.policy_head, policy.value_head])
        with torch.no_grad():
            self.cells.weight_ih_l0.copy_(core.inputs.weight)
            self.cells.weight_hh_l0.copy_(core.hidden.weight)
            self.cells.bias_ih_l0.copy_(core.inputs.bias)
            self.cells.bias_hh_l0.copy_(0 if core.hidden.bias is None else core.hidden.bias)

    def forward(self, observations, state, reset_after):
        """Outputs and values along one segment: [T, n], [T]."""
        parts = state.view(-1, 1, 1, self.cells.hidden_size)
        hidden = (parts[0], parts[1]) if len(parts) == 2 else parts[0]
        trunk, policy_head, value_head = self.heads
        outputs, values = [], []
        for observation, reset in zip(observations, reset_after, strict=True):
            output, hidden = self.cells(observation.view(1, 1, -1), hidden)
            features = trunk(output.view(1, -1))
            outputs.append(policy_head(features)[0])
            values.append(value_head(features)[0, 0])
            if reset:
                hidden = (0 * hidden[0], 0 * hidden[1]) if len(parts) == 2 else 0 * hidden
        return torch.stack(outputs), torch.stack(values)


@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
def test_S3_S4_one_step_equals_ppo_written_with_torchs_own_recurrent_network(recurrent):
    policy, distribution = build_acting(recurrent=recurrent, shared_trunk=True)
    batch = play(policy, distribution, slots=4, runs=3, invalid=0.5, ends=0.1)
    assert (batch.state != 0).any(1).sum() >= 3 and bool(batch.truncated[:-1].any())
    noise = torch.randn(batch.log_prob.shape, generator=torch.Generator().manual_seed(2))
    batch = dataclasses.replace(batch, log_prob=batch.log_prob + 0.3 * noise)
    settings = PpoSettings(
        n_epochs=1, num_minibatches=1, normalize_value_loss=False, max_grad_norm=None, target_kl=None
    )
    reference = UnrolledReference(policy, recurrent)
    estimates = Estimator(policy, distribution, batch, settings).estimate()

    # One number per valid step, segment by segment: order does not matter to a mean.
    terms = {name: [] for name in ("ratio", "advantage", "error", "entropy")}
    for column in range(batch.valid.shape[1]):
        valid = batch.valid[:, column]
        ends = (batch.terminated | batch.truncated)[:, column] | ~valid
        observations = torch.where(valid.unsqueeze(1), batch.observation["obs"][:, column], 7.0)
        logits, values = reference(observations, batch.state[column], ends.tolist())
        coin = torch.distributions.Categorical(logits=logits[valid])
        new_log_probs = coin.log_prob(batch.action[:, column][valid])
        terms["ratio"].append(torch.exp(new_log_probs - batch.log_prob[:, column][valid]))
        terms["advantage"].append(estimates.advantages[:, column][valid])
        terms["error"].append(values[valid] - estimates.value_targets[:, column][valid])
        terms["entropy"].append(coin.entropy())
    ratio, a, error, entropy = (torch.cat(terms[name]) for name in terms)
    a = (a - a.mean()) / (a.std() + 1e-8)
    policy_loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
    value_loss = 0.5 * error.square().mean()
    (policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()).backward()

    frozen = dataclasses.replace(RATES, learning_rate=0.0)
    report = update(policy, batch, settings, rates=frozen)
    assert report.num_steps == int(batch.valid.sum()) < batch.valid.numel()
    assert report.policy_loss == pytest.approx(policy_loss.item(), rel=1e-4, abs=1e-6)
    assert report.value_loss == pytest.approx(value_loss.item(), rel=1e-4)
    assert report.entropy == pytest.approx(entropy.mean().item(), rel=1e-4)
    cells = reference.cells
    pairs = [
        (policy.core.inputs.weight, cells.weight_ih_l0),
        (policy.core.inputs.bias, cells.bias_ih_l0),
        (policy.core.hidden.weight, cells.weight_hh_l0),
    ]
    for mine, theirs in pairs:
        assert theirs.grad is not None and theirs.grad.abs().max() > 1e-4
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("shared_trunk", [False, True])
@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
def test_S3_S4_a_whole_update_leaves_the_weights_of_cells_one_after_the_other(recurrent, shared_trunk):
    settings = PpoSettings(n_epochs=3, num_minibatches=3, target_kl=None)
    found = []
    for by_cells in (False, True):
        policy, distribution = build_acting(recurrent=recurrent, shared_trunk=shared_trunk)
        if by_cells:
            policy.core.unroll = functools.partial(RecurrentCore.unroll, policy.core)
        batch = play(policy, distribution, horizon=12, slots=6, runs=2, invalid=0.5, ends=0.1)
        noise = torch.randn(batch.log_prob.shape, generator=torch.Generator().manual_seed(2))
        batch = dataclasses.replace(batch, log_prob=batch.log_prob + 0.2 * noise)
        first = weights_of(policy)
        assert update(policy, batch, settings, distribution=distribution).num_minibatches == 9
        core = policy.core.state_dict(prefix="core.")
        assert all((tensor - first[name]).abs().max() > 1e-3 for name, tensor in core.items())
        found.append(weights_of(policy))
    mine, by_cells = found
    for name, tensor in by_cells.items():
        torch.testing.assert_close(mine[name], tensor, rtol=0, atol=1e-5)
