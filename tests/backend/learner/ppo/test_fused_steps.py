import dataclasses
import functools

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attract.errors import NonFiniteUpdateError
from attract.learner.checkpoints.state_tensors import adam_tensors, restore_adam
from attract.learner.ppo import update as update_module
from attract.learner.ppo.fused_steps import FusedSteps, can_be_fused
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace
from attract.settings.run import PpoSettings
from batches import build, play
from random_batches import weights_of

AIM = {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}
HEADS = {
    "discrete": ({"kind": "discrete", "n": 3}, 0),
    "discrete, masks": ({"kind": "discrete", "n": 4}, 4),
    "multi-discrete": ({"kind": "multi_discrete", "nvec": [2, 4]}, 0),
    "multi-discrete, masks": ({"kind": "multi_discrete", "nvec": [2, 4]}, 6),
    "multi-binary": ({"kind": "multi_binary", "n": 3}, 0),
    "box": ({"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}, 0),
    "mixed": ({"kind": "mixed", "spaces": {"aim": AIM, "button": {"kind": "discrete", "n": 4}}}, 0),
    "mixed, masks": ({"kind": "mixed", "spaces": {"aim": AIM, "button": {"kind": "discrete", "n": 4}}}, 4),
}
SEVERAL = DictSpace(
    spaces={
        "hand": DiscreteSpace(n=4),
        "bytes": BoxSpace(shape=[3], dtype="uint8"),
        "place": BoxSpace(shape=[2]),
    }
)
NETWORKS = st.fixed_dictionaries(
    {
        "shared_trunk": st.booleans(),
        "activation": st.sampled_from(["tanh", "relu", None]),
        # With 20 units the second layer's gradient is the product of the other order.
        "hidden_sizes": st.sampled_from([(), (8,), (20, 8), (8, 8, 6)]),
        "log_std_init": st.sampled_from([0.5, 0.99995]),
        "several": st.booleans(),
        "normalize": st.booleans(),
    }
)
SETTINGS = st.fixed_dictionaries(
    {
        "n_epochs": st.sampled_from([1, 3]),
        "num_minibatches": st.sampled_from([1, 3, 5]),
        "minibatch_unit": st.sampled_from(["segment", None]),
        "clip_range_vf": st.sampled_from([None, 0.002]),
        "prio_alpha": st.sampled_from([0.0, 0.7]),
        "lag_correction": st.sampled_from(["none", "vtrace"]),
        "recompute_advantages": st.booleans(),
        "target_kl": st.sampled_from([None, 0.005, 10.0]),
        "max_grad_norm": st.sampled_from([None, 0.05, 100.0]),
        "normalize_value_loss": st.booleans(),
        "normalize_advantage": st.booleans(),
        "value_coef": st.sampled_from([0.0, 0.5]),
    }
)
RATES = st.builds(
    ScheduledHyperparameters,
    learning_rate=st.just(1e-3),
    clip_range=st.sampled_from([0.05, 0.2]),
    entropy_coef=st.sampled_from([0.0, 0.02]),
    prio_beta=st.sampled_from([0.4, 1.0]),
    is_policy_frozen=st.sampled_from([False, False, True]),
)


@functools.cache
def played(head, network):
    """A batch of that network's own play, whose log-probabilities are those of another version."""
    policy, distribution = made(head, network)
    batch = play(policy, distribution, slots=6, masks=HEADS[head][1], invalid=0.5)
    noise = torch.randn(batch.log_prob.shape, generator=torch.Generator().manual_seed(2))
    lag = torch.arange(batch.num_segments) % 2
    return dataclasses.replace(batch, log_prob=batch.log_prob + 0.2 * noise, policy_lag=lag)


def made(head, network):
    network = dict(network)
    observation = SEVERAL if network.pop("several") else None
    return build(observation, HEADS[head][0], **network)


def one_update(policy, distribution, optimizer, batch, ppo, rates, learner, seed=3):
    return ppo_update(
        policy,
        optimizer,
        batch,
        ppo,
        torch.Generator().manual_seed(seed),
        distribution=distribution,
        rates=rates,
        min_deviation=0.1,
        learner=learner,
    )


def assert_alike(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, tensor in theirs.items():
        # Second moments are squares: held to their own size.
        largest = min(1.0, float(tensor.abs().max()) if tensor.numel() else 0.0)
        torch.testing.assert_close(mine[name], tensor, rtol=1e-4, atol=1e-5 * max(largest, 1e-7))


@pytest.mark.parametrize("head", HEADS)
@settings(max_examples=20, deadline=None, derandomize=True, phases=(Phase.generate,))
@given(network=NETWORKS, ppo=SETTINGS, rates=RATES)
def test_P3_P5_P12_whole_updates_equal_those_by_autograd(head, network, ppo, rates):
    if ppo["prio_alpha"] > 0:
        ppo["minibatch_unit"] = None
    ppo = PpoSettings(**ppo)
    batch = played(head, tuple(sorted(network.items())))
    found = {}
    for learner in ("auto", "autograd"):
        policy, distribution = made(head, network)
        optimizer = create_optimizer(policy, rates.learning_rate)
        assert can_be_fused(policy, distribution)
        # Two, so that the second begins with moments.
        reports = [
            one_update(policy, distribution, optimizer, batch, ppo, rates, learner, seed) for seed in (3, 4)
        ]
        found[learner] = policy, adam_tensors(optimizer, policy), reports
    (policy, state, reports), (other, other_state, other_reports) = found["auto"], found["autograd"]
    for mine, theirs in zip(reports, other_reports, strict=True):
        assert mine.num_minibatches == theirs.num_minibatches
        assert mine.stopped_by_kl == theirs.stopped_by_kl
        assert mine.metrics() == pytest.approx(theirs.metrics(), rel=1e-4, abs=1e-5, nan_ok=True)
    for name, tensor in weights_of(other).items():
        torch.testing.assert_close(weights_of(policy)[name], tensor, rtol=0, atol=1e-5)
    assert_alike(state, other_state)


NETWORK = {
    "shared_trunk": False,
    "activation": "tanh",
    "hidden_sizes": (20, 8),
    "log_std_init": 0.5,
    "several": False,
    "normalize": True,
}
PLAIN = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.01)


def batch_of(head):
    return played(head, tuple(sorted(NETWORK.items())))


@pytest.mark.parametrize("head", HEADS)
def test_C8_the_same_update_gives_the_same_bits(head):
    runs = []
    for _ in range(2):
        policy, distribution = made(head, NETWORK)
        optimizer = create_optimizer(policy, 1e-3)
        report = one_update(policy, distribution, optimizer, batch_of(head), PpoSettings(), PLAIN, "auto")
        runs.append((weights_of(policy) | adam_tensors(optimizer, policy), report))
    (first, report), (second, other) = runs
    assert report == other
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("learners", [("auto", "autograd"), ("autograd", "auto")])
def test_D2_a_run_goes_on_with_the_other_learner(learners):
    """Through a checkpoint's tensors: what one has left, the other takes up as if it were its own."""
    batch = batch_of("box")
    found = {}
    for pair in (learners, ("autograd", "autograd")):
        policy, distribution = made("box", NETWORK)
        optimizer = create_optimizer(policy, 1e-3)
        one_update(policy, distribution, optimizer, batch, PpoSettings(), PLAIN, pair[0])
        saved, moments = weights_of(policy), adam_tensors(optimizer, policy)
        assert all(tensor.is_contiguous() for tensor in (*saved.values(), *moments.values()))
        policy, distribution = made("box", NETWORK)
        optimizer = create_optimizer(policy, 1e-3)
        policy.load_state_dict(saved)
        restore_adam(optimizer, policy, moments)
        one_update(policy, distribution, optimizer, batch, PpoSettings(), PLAIN, pair[1], seed=5)
        found[pair] = weights_of(policy) | adam_tensors(optimizer, policy)
    assert_alike(found[learners], found["autograd", "autograd"])


def test_D2_tensors_that_were_handed_out_are_the_policys_own_afterwards():
    policy, distribution = made("discrete", NETWORK)
    optimizer = create_optimizer(policy, 1e-3)
    held = policy.state_dict()
    one_update(policy, distribution, optimizer, batch_of("discrete"), PpoSettings(), PLAIN, "auto")
    after = policy.state_dict()
    assert all(after[name].data_ptr() == tensor.data_ptr() for name, tensor in held.items())
    # None is a part of something larger that a checkpoint would have to keep alive.
    parameters = [*policy.parameters(), *adam_tensors(optimizer, policy).values()]
    assert all(parameter.untyped_storage().nbytes() == parameter.nbytes for parameter in parameters)
    (policy.action_log_std if policy.action_log_std is not None else policy.value_head.bias).sum().backward()


@pytest.mark.parametrize("broken", ["reward", "log_prob", "value"])
def test_P8_either_learner_names_the_same_number_that_is_not_finite(broken):
    batch = batch_of("multi-binary")
    numbers = getattr(batch, broken).clone()
    numbers[tuple(batch.valid.nonzero()[0])] = float("nan")
    spoilt = dataclasses.replace(batch, **{broken: numbers})
    errors = []
    for learner in ("auto", "autograd"):
        policy, distribution = made("multi-binary", NETWORK)
        with pytest.raises(NonFiniteUpdateError) as caught:
            one_update(
                policy, distribution, create_optimizer(policy, 1e-3), spoilt, PpoSettings(), PLAIN, learner
            )
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_P13_the_spread_is_limited_step_by_step():
    network = NETWORK | {"log_std_init": 0.99}
    policy, distribution = made("box", network)
    batch = played("box", tuple(sorted(network.items())))
    rates = dataclasses.replace(PLAIN, learning_rate=0.05, entropy_coef=1.0)
    optimizer = create_optimizer(policy, 0.05)
    one_update(policy, distribution, optimizer, batch, PpoSettings(target_kl=None), rates, "auto")
    assert policy.action_log_std.max().item() == 1.0


def test_only_what_is_dense_does_without_autograd(monkeypatch):
    entered = []

    class Watched(FusedSteps):
        def __enter__(self):
            entered.append(True)
            return super().__enter__()

    monkeypatch.setattr(update_module, "FusedSteps", Watched)
    picture = BoxSpace(shape=[12, 12, 2], dtype="uint8")
    for observation, extra, learner, expected in [
        (None, {}, "auto", True),
        (None, {}, "autograd", False),
        (None, {"recurrent": "gru"}, "auto", False),
        (picture, {}, "auto", False),
    ]:
        policy, distribution = build(observation, **extra)
        entered.clear()
        optimizer = create_optimizer(policy, 1e-3)
        batch = play(policy, distribution)
        one_update(policy, distribution, optimizer, batch, PpoSettings(), PLAIN, learner)
        assert bool(entered) == expected, (observation, extra, learner)


def test_P5_parameters_of_different_ages_each_go_on_from_their_own():
    found = {}
    for learner in ("auto", "autograd"):
        policy, distribution = made("box", NETWORK)
        optimizer = create_optimizer(policy, 1e-3)
        held = dataclasses.replace(PLAIN, is_policy_frozen=True, entropy_coef=0.0)
        for rates in (PLAIN, held, PLAIN):
            one_update(policy, distribution, optimizer, batch_of("box"), PpoSettings(), rates, learner)
        found[learner] = weights_of(policy) | adam_tensors(optimizer, policy)
    assert found["auto"]["policy_head.bias/step"] < found["auto"]["value_head.bias/step"]
    assert_alike(found["auto"], found["autograd"])
