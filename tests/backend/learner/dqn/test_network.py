"""The network of quantiles: dueling, several components, and the heads that are written into the policy."""

import pytest
import torch
from torch import Tensor

from attract.learner.dqn.network import Choices, QuantileNetwork
from attract.policy.network import build_distribution
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from policies import create_policy, describe, observations_for, randomise

ACTIONS: list[ActionSpace] = [DiscreteSpace(n=3), MultiDiscreteSpace(nvec=[2, 3]), MultiBinarySpace(n=2)]


def create(action: ActionSpace, **settings: object) -> QuantileNetwork:
    policy = create_policy(action=action, hidden_sizes=(8,), **settings)
    randomise(policy, 3)
    choices = Choices.of(build_distribution(describe(action=action)))
    network = QuantileNetwork(policy, choices, 5, torch.Generator().manual_seed(4))
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


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.kind)
def test_the_policys_logits_are_the_scaled_advantages_and_its_value_is_their_mean(
    action: ActionSpace, shared: bool
):
    network = create(action, shared_trunk=shared)
    policy, choices = network.policy, network.choices
    observations = policy.preprocess(observations_for(policy))
    network.write_heads(2.0)
    with torch.no_grad():
        outputs, values = policy.forward_preprocessed(observations)
        logits = choices.centred(outputs.unsqueeze(2)).squeeze(2)
        count = len(values)
        # Q of every joint action, by the network itself.
        joint = torch.cartesian_prod(*(torch.arange(size) for size in choices.sizes)).view(
            -1, len(choices.sizes)
        )
        found = torch.stack(
            [
                network.quantiles(observations, choices.indices(each.expand(count, -1))).mean(1)
                for each in joint
            ]
        )
    torch.testing.assert_close(found.mean(0), values, atol=1e-5, rtol=1e-5)
    summed = torch.stack([logits[:, choices.indices(each.unsqueeze(0))[0]].sum(1) for each in joint])
    torch.testing.assert_close(summed, 2.0 * (found - values), atol=1e-5, rtol=1e-5)
    # The best joint action is the best of each component.
    best = joint[found.argmax(0)]
    assert torch.equal(network.best(observations, None), choices.indices(best))


def test_gradient_steps_leave_the_policys_own_heads_alone():
    network = create(DiscreteSpace(n=3))
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    learned = {names[id(parameter)] for parameter in network.learned()}
    assert learned == names_of(network) - {
        f"policy.{head}_head.{kind}" for head in ("policy", "value") for kind in ("weight", "bias")
    }
    assert heads(network).keys() == {
        f"{head}_head.{kind}" for head in ("advantage", "value") for kind in ("weight", "bias")
    }


def heads(network: QuantileNetwork) -> dict[str, Tensor]:
    """Weights besides the policy's, by name."""
    return {name: tensor for name, tensor in network.state_dict().items() if not name.startswith("policy.")}


def names_of(network: QuantileNetwork) -> set[str]:
    return {name for name, _ in network.named_parameters()}
