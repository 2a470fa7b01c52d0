"""The network of values: dueling, several components, and what is written into the policy."""

import pytest
import torch
from torch import Tensor

from attract.algorithm.categories import NUM_BINS
from attract.learner.dqn.network import Choices, ValuesNetwork
from attract.policy.network import build_distribution
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from policies import create_policy, describe, observations_for, randomise

LIMIT = 3.0
ACTIONS: list[ActionSpace] = [DiscreteSpace(n=3), MultiDiscreteSpace(nvec=[2, 3]), MultiBinarySpace(n=2)]


def create(action: ActionSpace) -> ValuesNetwork:
    policy = create_policy(action=action, hidden_sizes=(8,), num_bins=NUM_BINS)
    randomise(policy, 3)
    choices = Choices.of(build_distribution(describe(action=action)))
    network = ValuesNetwork(policy, choices, LIMIT, torch.Generator().manual_seed(4))
    with torch.no_grad():
        for tensor in heads(network).values():
            tensor.copy_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(5)))
    return network


def test_advantages_are_centred_over_the_choices_of_each_component():
    outputs = torch.tensor([[[1.0], [3.0], [0.0], [0.0], [6.0]]])
    assert Choices((2, 3)).centred(outputs).flatten().tolist() == [-1.0, 1.0, -2.0, -2.0, 4.0]
    # A bit's output is how much better 1 is than 0.
    assert Choices((2, 2), is_binary=True).centred(outputs[:, :2]).flatten().tolist() == [
        -0.5,
        0.5,
        -1.5,
        1.5,
    ]


def test_choices_are_numbered_through_all_components():
    found = Choices((2, 3, 2)).indices(torch.tensor([[1, 2, 0], [0, 0, 1]]))
    assert found.tolist() == [[1, 4, 5], [0, 2, 6]]
    assert Choices((4,)).indices(torch.tensor([3, 0])).tolist() == [[3], [0]]


def test_the_best_choice_of_each_component_is_allowed():
    means = torch.tensor([[5.0, 1.0, 2.0, 9.0, 3.0]])
    mask = torch.tensor([[False, True, True, False, True]])
    assert Choices((2, 3)).best(means, None).tolist() == [[0, 3]]
    assert Choices((2, 3)).best(means, mask).tolist() == [[1, 4]]


def test_actions_without_choices_have_no_network():
    box = build_distribution(describe(action=BoxSpace(shape=[1], low=-1, high=1)))
    with pytest.raises(RuntimeError, match="DiagonalGaussian"):
        Choices.of(box)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.kind)
def test_the_policys_logits_are_the_scaled_differences_of_values_and_its_value_is_their_mean(
    action: ActionSpace,
):
    network = create(action)
    policy, choices = network.policy, network.choices
    observations = policy.preprocess(observations_for(policy))
    network.write_heads(2.0)
    w = {name: tensor.double() for name, tensor in heads(network).items()}
    with torch.no_grad():
        outputs, values = policy.forward_preprocessed(observations)
        features = policy.trunk(policy.features(observations)).double()
        shared = features @ w["value_head.weight"].t() + w["value_head.bias"]
        own = (features @ w["advantage_head.weight"].t() + w["advantage_head.bias"]).unflatten(
            1, (-1, NUM_BINS)
        )
        joint = (shared.unsqueeze(1) + choices.centred(own)).softmax(2)
        expected = joint @ torch.linspace(-LIMIT, LIMIT, NUM_BINS).double()
        logits = choices.centred(outputs.unsqueeze(2)).squeeze(2).double()
    parts = expected.split(choices.sizes, 1)
    centred = torch.cat([part - part.mean(1, keepdim=True) for part in parts], 1)
    torch.testing.assert_close(logits, 2.0 * centred, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(values.double(), expected.mean(1), atol=1e-5, rtol=1e-5)
    assert torch.equal(network.best(observations, None), choices.best(expected, None))


def test_the_value_of_a_joint_action_sums_the_advantages_of_its_choices():
    network = create(MultiDiscreteSpace(nvec=[2, 3]))
    observations = network.policy.preprocess(observations_for(network.policy, 1))
    joint = torch.tensor([[0, 2], [0, 3], [1, 2], [1, 3]])
    with torch.no_grad():
        found = torch.cat([network.logits(observations, each.unsqueeze(0)) for each in joint])
    # What the second component adds is the same beside either choice of the first.
    torch.testing.assert_close(found[1] - found[0], found[3] - found[2], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found[1], found[0]) and not torch.allclose(found[2], found[0])


def test_a_policy_without_bins_has_no_values():
    with pytest.raises(RuntimeError, match="bins"):
        ValuesNetwork(create_policy(), Choices((3,)), LIMIT, torch.Generator())


def test_gradient_steps_leave_the_policys_own_heads_alone():
    network = create(DiscreteSpace(n=3))
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    learned = {names[id(parameter)] for parameter in network.learned()}
    assert learned == names_of(network) - {
        f"policy.{layer}.{kind}"
        for layer in ("bins", "policy_head", "value_head")
        for kind in ("weight", "bias")
    }
    assert heads(network).keys() == {
        f"{head}_head.{kind}" for head in ("advantage", "value") for kind in ("weight", "bias")
    }


def heads(network: ValuesNetwork) -> dict[str, Tensor]:
    """Weights besides the policy's, by name."""
    return {name: tensor for name, tensor in network.state_dict().items() if not name.startswith("policy.")}


def names_of(network: ValuesNetwork) -> set[str]:
    return {name for name, _ in network.named_parameters()}
