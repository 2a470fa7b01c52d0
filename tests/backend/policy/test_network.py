import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.errors import ConfigurationError
from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.network import build_distribution
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
    SetSpace,
)
from policies import create_policy, describe, observations_for, randomise


def vectors(*rows):
    return {"obs": torch.tensor(rows)}


def test_the_network_has_the_games_shapes_and_the_settings_sizes():
    policy = create_policy(hidden_sizes=(32, 16), activation="relu", shared_trunk=False)
    logits, value = policy({"obs": torch.zeros(5, 4)})
    assert logits.shape == (5, 3) and value.shape == (5,)
    assert [tuple(layer.weight.shape) for layer in policy.value_trunk] == [(32, 4), (16, 32)]


def test_a_plain_policys_tensors_have_the_names_that_checkpoints_know():
    assert list(create_policy(hidden_sizes=(8,), shared_trunk=False).state_dict()) == [
        "normaliser.mean",
        "normaliser.inv_std",
        "trunk.0.weight",
        "trunk.0.bias",
        "value_trunk.0.weight",
        "value_trunk.0.bias",
        "policy_head.weight",
        "policy_head.bias",
        "value_head.weight",
        "value_head.bias",
    ]


def test_P7_floats_are_normalised_when_wanted_and_nothing_else_ever_is():
    assert not create_policy(normalize=False).normalisers
    assert not create_policy(BoxSpace(dtype="uint8", shape=[5])).normalisers
    spaces = {"speed": BoxSpace(shape=[2]), "kind": DiscreteSpace(n=3), "keys": MultiBinarySpace(n=2)}
    assert list(create_policy(DictSpace(spaces=spaces)).normalisers) == ["speed"]


def test_P7_the_normaliser_is_part_of_the_network():
    policy = create_policy(BoxSpace(shape=[3]))
    observations = vectors([3.0, -1.0, 0.5])
    before = policy(observations)[0]
    # Mean 1, variance 4 whatever the floor of 1e-8: inv_std 0.5.
    ones = torch.ones(3, dtype=torch.float64)
    policy.set_statistics({"obs": RunningMoments(10.0, ones, 40.0 * ones)})
    after = policy(observations)[0]
    assert not torch.equal(before, after)
    # The same as feeding the normalised observation to a network without statistics.
    plain = create_policy(BoxSpace(shape=[3]), normalize=False)
    torch.testing.assert_close(after, plain(vectors([1.0, -1.0, -0.25]))[0])
    policy.set_statistics({"obs": RunningMoments.empty((3,))})
    torch.testing.assert_close(policy(observations)[0], after)


def test_P7_bytes_are_scaled_when_they_enter_the_network_and_stay_bytes_until_then():
    policy = create_policy(BoxSpace(dtype="uint8", shape=[2, 3]))
    seen = torch.tensor([[[0, 51, 102], [153, 204, 255]]], dtype=torch.uint8)
    prepared = policy.preprocess({"obs": seen})
    assert prepared["obs"].dtype == torch.uint8 and prepared["obs"].shape == (1, 6)
    scaled = create_policy(BoxSpace(shape=[6]), normalize=False)
    expected = scaled(vectors([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]))
    torch.testing.assert_close(policy({"obs": seen}), expected)


def test_P7_statistics_are_no_parameters():
    assert not {name for name, _ in create_policy().named_parameters() if "normaliser" in name}


def test_preparing_keeps_the_leading_dimensions():
    policy = create_policy(BoxSpace(shape=[2, 2]))
    prepared = policy.preprocess({"obs": torch.arange(24.0).view(2, 3, 2, 2)})
    assert prepared["obs"].shape == (2, 3, 4)
    image = create_policy(BoxSpace(shape=[6, 5, 3], dtype="uint8"))
    prepared = image.preprocess({"obs": torch.zeros((2, 3, 6, 5, 3), dtype=torch.uint8)})
    assert prepared["obs"].shape == (2, 3, 6, 5, 3)


def test_the_trunk_is_orthogonal_and_the_heads_are_scaled():
    policy = create_policy(BoxSpace(shape=[5]), DiscreteSpace(n=4))
    first, second = policy.trunk[0].weight, policy.trunk[1].weight
    # sqrt(2) times orthonormal columns (5 inputs), and times an orthogonal matrix.
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(64), atol=1e-5, rtol=0)
    heads = policy.policy_head.weight, policy.value_head.weight
    torch.testing.assert_close(heads[0] @ heads[0].T, 1e-4 * torch.eye(4), atol=1e-8, rtol=0)
    torch.testing.assert_close(heads[1] @ heads[1].T, torch.eye(1), atol=1e-5, rtol=0)
    assert all(not bias.any() for name, bias in policy.named_parameters() if name.endswith("bias"))


def test_C8_the_seed_decides_the_weights():
    same, other = create_policy(seed=1), create_policy(seed=2)
    weights = create_policy(seed=1).state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in same.state_dict().items())
    assert not torch.equal(other.trunk[0].weight, weights["trunk.0.weight"])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("shared_trunk", [True, False])
def test_outputs_equal_the_same_network_written_with_torchs_own_modules(activation, shared_trunk):
    policy = create_policy(BoxSpace(shape=[2, 2]), activation=activation, shared_trunk=shared_trunk)
    policy.normalisers["obs"].set_statistics(torch.full((2, 2), 0.5), torch.full((2, 2), 2.0))
    function = torch.tanh if activation == "tanh" else torch.relu
    observations = torch.linspace(-2, 2, 40).view(10, 2, 2)
    flat = ((observations - 0.5) * 2).view(10, 4)

    def run(trunk):
        hidden = flat
        for layer in trunk:
            hidden = function(hidden @ layer.weight.T + layer.bias)
        return hidden

    features = run(policy.trunk)
    value_features = features if shared_trunk else run(policy.value_trunk)
    logits, value = policy({"obs": observations})
    head, value_head = policy.policy_head, policy.value_head
    torch.testing.assert_close(logits, features @ head.weight.T + head.bias, rtol=0, atol=1e-6)
    expected = (value_features @ value_head.weight.T + value_head.bias)[:, 0]
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-6)
    assert value.shape == (10,)


CHOICES = DiscreteSpace(n=3)
PICTURE = BoxSpace(dtype="uint8", shape=[36, 36, 1])
PLACE = BoxSpace(shape=[2], low=-1.0, high=1.0)


@pytest.mark.parametrize(
    ("action", "changed", "kinds"),
    [
        (CHOICES, {}, (ReluLayer, TanhLayer)),
        (MultiDiscreteSpace(nvec=[2, 3]), {}, (ReluLayer, TanhLayer)),
        (MultiBinarySpace(n=3), {}, (ReluLayer, TanhLayer)),
        (PLACE, {}, (TanhLayer, TanhLayer)),
        (MixedSpace(spaces={"which": CHOICES, "where": PLACE}), {}, (TanhLayer, TanhLayer)),
        (CHOICES, {"observation": PICTURE}, (TanhLayer, TanhLayer)),
        (CHOICES, {"observation": SetSpace(max=3, shape=[2])}, (TanhLayer, TanhLayer)),
        (CHOICES, {"recurrent": "gru"}, (TanhLayer, TanhLayer)),
        (CHOICES, {"shared_trunk": True}, (TanhLayer,)),
        (CHOICES, {"num_bins": 51}, (TanhLayer,)),
        (CHOICES, {"activation": "tanh"}, (TanhLayer, TanhLayer)),
        (PLACE, {"activation": "relu"}, (ReluLayer, ReluLayer)),
    ],
)
def test_a_trunk_that_chooses_by_plain_numbers_alone_has_relu_unless_told(action, changed, kinds):
    policy = create_policy(action=action, **changed)
    trunks = [trunk for trunk in (policy.trunk, policy.value_trunk) if trunk is not None]
    assert [{type(layer) for layer in trunk} for trunk in trunks] == [{kind} for kind in kinds]


def test_trunks_are_shared_or_not():
    def moves_value_features(policy):
        observations = {"obs": torch.ones(1, 4)}
        before = policy(observations)[1].item()
        with torch.no_grad():
            policy.trunk[0].weight.mul_(3)
        return policy(observations)[1].item() != before

    assert moves_value_features(create_policy(shared_trunk=True))
    assert not moves_value_features(create_policy(shared_trunk=False))


def test_a_network_without_hidden_layers_is_linear():
    policy = create_policy(hidden_sizes=(), normalize=False)
    observations = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    twice = policy({"obs": 2 * observations})[0]
    torch.testing.assert_close(twice, 2 * policy({"obs": observations})[0])


def test_every_entry_of_a_dictionary_moves_the_outputs():
    spaces = {
        "view": BoxSpace(shape=[6, 6, 3], dtype="uint8"),
        "speed": BoxSpace(shape=[2]),
        "item": DiscreteSpace(n=4),
        "doors": MultiBinarySpace(n=3),
        "cards": MultiDiscreteSpace(nvec=[2, 3]),
    }
    policy = create_policy(DictSpace(spaces=spaces))
    randomise(policy, 3)
    observations = observations_for(policy)
    logits, _ = policy(observations)
    for key in spaces:
        changed = {**observations, key: observations[key].flip(0)}
        assert not torch.equal(policy(changed)[0], logits), key


def test_P6_the_gaussians_deviations_are_parameters_of_their_own():
    policy = create_policy(action=BoxSpace(shape=[2], low=-1, high=1), log_std_init=-0.25)
    outputs, _ = policy({"obs": torch.randn(5, 4)})
    assert outputs.shape == (5, 4) and policy.num_outputs == 4
    assert (outputs[:, 2:] == -0.25).all() and outputs[:, :2].unique().numel() == 10
    outputs.sum().backward()
    assert policy.action_log_std.grad.tolist() == [5.0, 5.0]


def test_a_pointer_begins_with_a_narrower_spread_than_a_force():
    aim = BoxSpace(shape=[2], low=0, high=800)
    mixed = MixedSpace(spaces={"aim": aim, "button": DiscreteSpace(n=3)})
    for action, given, expected in ((mixed, None, -0.5), (aim, None, 0.5), (mixed, 0.25, 0.25)):
        policy = create_policy(action=action, log_std_init=given)
        assert policy.action_log_std.tolist() == [expected, expected]
    assert policy.policy_head.out_features == 5 and policy.output_sizes == (3, 2, 2)


def test_the_distribution_follows_the_action_space():
    assert build_distribution(describe(action=DiscreteSpace(n=9))).num_outputs == 9


def test_a_box_of_actions_without_bounds_is_refused():
    with pytest.raises(ConfigurationError, match="both bounds"):
        create_policy(action=BoxSpace(shape=[2]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_C9_cuda_gives_the_numbers_of_the_cpu():
    policy = create_policy()
    observations = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
    expected = policy({"obs": observations})
    got = policy.cuda()({"obs": observations.cuda()})
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-5, atol=1e-5)
