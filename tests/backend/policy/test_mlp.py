import pytest
import torch

from attract.policy.mlp import MlpPolicy, ObservationNormaliser


def build(**changes):
    arguments = {
        "hidden_sizes": (8, 8),
        "activation": "tanh",
        "shared_trunk": True,
        "normalize_observations": True,
        "generator": torch.Generator().manual_seed(changes.pop("seed", 1)),
    } | changes
    shape, dtype = arguments.pop("shape", (3,)), arguments.pop("dtype", "float32")
    return MlpPolicy(shape, dtype, 4, **arguments)


def test_P7_the_normaliser_by_hand():
    normaliser = ObservationNormaliser([2])
    normaliser.set_statistics(torch.tensor([1.0, -2.0]), torch.tensor([2.0, 100.0]))
    # (3 - 1) * 2 = 4; (-1.99 + 2) * 100 = 1; (5 + 2) * 100 = 700, clipped to 10
    observations = torch.tensor([[3.0, -1.99], [3.0, 5.0], [-100.0, -2.0]])
    expected = torch.tensor([[4.0, 1.0], [4.0, 10.0], [-10.0, 0.0]])
    torch.testing.assert_close(normaliser(observations), expected, rtol=0, atol=1e-4)


def test_P7_the_normaliser_is_part_of_the_network():
    policy = build()
    observations = torch.tensor([[3.0, -1.0, 0.5]])
    before = policy(observations)[0]
    policy.normaliser.set_statistics(torch.tensor([1.0, 1.0, 1.0]), torch.tensor([0.5, 0.5, 0.5]))
    after = policy(observations)[0]
    assert not torch.equal(before, after)
    # The same as feeding the normalised observation to a network without statistics.
    plain = build(normalize_observations=False)
    torch.testing.assert_close(after, plain(torch.tensor([[1.0, -1.0, -0.25]]))[0])


def test_P7_bytes_are_scaled_and_never_normalised():
    policy = build(dtype="uint8", shape=(2, 3))
    assert policy.normaliser is None
    prepared = policy.prepare(torch.tensor([[[0, 51, 102], [153, 204, 255]]], dtype=torch.uint8))
    torch.testing.assert_close(prepared, torch.tensor([[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]]))


def test_P7_statistics_are_no_parameters():
    assert not {name for name, _ in build().named_parameters() if "normaliser" in name}


def test_the_trunk_is_orthogonal_and_the_heads_are_scaled():
    policy = build(hidden_sizes=(64, 64), shape=(5,))
    first, second = policy.trunk[0].weight, policy.trunk[1].weight
    # sqrt(2) times orthonormal columns (5 inputs), and times an orthogonal matrix.
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(64), atol=1e-5, rtol=0)
    heads = policy.policy_head.weight, policy.value_head.weight
    torch.testing.assert_close(heads[0] @ heads[0].T, 1e-4 * torch.eye(4), atol=1e-8, rtol=0)
    torch.testing.assert_close(heads[1] @ heads[1].T, torch.eye(1), atol=1e-5, rtol=0)
    assert all(not bias.any() for name, bias in policy.named_parameters() if name.endswith("bias"))


def test_C8_the_seed_decides_the_weights():
    same, other = build(seed=1), build(seed=2)
    weights = build(seed=1).state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in same.state_dict().items())
    assert not torch.equal(other.trunk[0].weight, weights["trunk.0.weight"])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("shared_trunk", [True, False])
def test_outputs_equal_the_same_network_written_with_torchs_own_modules(activation, shared_trunk):
    policy = build(shape=(2, 2), activation=activation, shared_trunk=shared_trunk)
    policy.normaliser.set_statistics(torch.full((2, 2), 0.5), torch.full((2, 2), 2.0))
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
    logits, value = policy(observations)
    head, value_head = policy.policy_head, policy.value_head
    torch.testing.assert_close(logits, features @ head.weight.T + head.bias, rtol=0, atol=1e-6)
    expected = (value_features @ value_head.weight.T + value_head.bias)[:, 0]
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-6)
    assert value.shape == (10,)


def test_trunks_are_shared_or_not():
    def moves_value_features(policy):
        observations = torch.ones(1, 3)
        before = policy(observations)[1].item()
        with torch.no_grad():
            policy.trunk[0].weight.mul_(3)
        return policy(observations)[1].item() != before

    assert moves_value_features(build(shared_trunk=True))
    assert not moves_value_features(build(shared_trunk=False))


def test_a_network_without_hidden_layers_is_linear():
    policy = build(hidden_sizes=(), normalize_observations=False)
    observations = torch.tensor([[1.0, 2.0, 3.0]])
    torch.testing.assert_close(policy(2 * observations)[0], 2 * policy(observations)[0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_C9_cuda_gives_the_numbers_of_the_cpu():
    policy = build()
    observations = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    expected = policy(observations)
    got = policy.cuda()(observations.cuda())
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-5, atol=1e-5)
