"""Adam's state and moments under the names that checkpoints give them."""

import pytest
import torch
from torch import nn

from attract.algorithm.normalisation import RunningMoments
from attract.learner.algorithms.adam import Adam
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    moments_of,
    moments_tensors,
    restore_adam,
    within,
)


def stepped(steps: int, *, groups: bool = False) -> tuple[nn.Linear, Adam]:
    """A layer after so many steps of Adam on gradients of 1; `groups`: the bias in one of its own, first."""
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
    parts = [{"params": [layer.bias]}, {"params": [layer.weight]}] if groups else layer.parameters()
    optimizer = Adam(parts, lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    return layer, optimizer


def test_adams_state_is_named_by_parameter_and_empty_before_the_first_step():
    assert adam_tensors(*reversed(stepped(0))) == {}
    layer, optimizer = stepped(2)
    tensors = adam_tensors(optimizer, layer)
    assert sorted(tensors) == [
        f"{name}/{key}" for name in ("bias", "weight") for key in ("exp_avg", "exp_avg_sq", "step")
    ]
    assert float(tensors["weight/step"]) == 2.0
    # Moments of gradients of 1 after two steps: 1 - 0.9^2 and 1 - 0.999^2.
    assert tensors["bias/exp_avg"].tolist() == pytest.approx([0.19])
    assert tensors["bias/exp_avg_sq"].tolist() == pytest.approx([0.001999])


@pytest.mark.parametrize("groups", [False, True])
def test_D2_a_restored_optimizer_goes_on_as_the_one_it_came_from(groups):
    layer, optimizer = stepped(2, groups=groups)
    saved = {name: tensor.clone() for name, tensor in adam_tensors(optimizer, layer).items()}
    other, others = stepped(0, groups=groups)
    other.load_state_dict(layer.state_dict())
    restore_adam(others, other, saved)
    for module, its in ((layer, optimizer), (other, others)):
        its.zero_grad()
        (module(torch.ones(1, 2)).sum() * 3).backward()
        its.step()
    assert torch.equal(layer.weight, other.weight)
    assert torch.equal(layer.bias, other.bias)
    assert float(saved["weight/step"]) == 2.0, "what was saved is not shared"


def test_nothing_saved_is_an_optimizer_that_has_not_begun():
    layer, optimizer = stepped(2)
    restore_adam(optimizer, layer, {})
    assert adam_tensors(optimizer, layer) == {}


def test_half_of_a_parameters_state_is_refused():
    layer, optimizer = stepped(1)
    tensors = adam_tensors(optimizer, layer)
    del tensors["weight/exp_avg"]
    with pytest.raises(KeyError, match="weight/exp_avg"):
        restore_adam(optimizer, layer, tensors)


def test_P7_moments_come_back_as_they_were():
    moments = RunningMoments(
        3.0, torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([4.0, 5.0], dtype=torch.float64)
    )
    tensors = moments_tensors("statistics.obs", moments)
    assert sorted(tensors) == [
        "statistics.obs.count",
        "statistics.obs.mean",
        "statistics.obs.squared_deviations",
    ]
    again = moments_of("statistics.obs", tensors)
    assert again is not None
    assert (again.count, again.mean.tolist(), again.squared_deviations.tolist()) == (3.0, [1, 2], [4, 5])
    del tensors["statistics.obs.mean"]
    assert moments_of("statistics.obs", tensors) is None
    assert moments_of("statistics", tensors) is None


def test_tensors_of_one_part_are_named_without_it():
    one = torch.zeros(1)
    assert within({"slots.a": one, "slots.slots.b": one, "other": one}, "slots.") == {
        "a": one,
        "slots.b": one,
    }
