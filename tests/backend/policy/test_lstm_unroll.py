"""The gradient written by hand against torch's own of the same cells, one after the other."""

import pytest
import torch

from attract.policy import lstm_unroll
from attract.policy.lstm_unroll import unroll_lstm
from attract.policy.recurrent import LstmCore, RecurrentCore

STEPS, SEGMENTS, INPUTS, SIZE = 6, 3, 4, 5


@pytest.fixture(autouse=True, params=[False, True], ids=["step by step", "at once"])
def products(request, monkeypatch):
    """The gradient's matrix products as a CPU makes them and as a GPU does."""
    monkeypatch.setattr(lstm_unroll, "is_launch_bound", lambda _: request.param)


def numbers(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def arguments():
    return (
        numbers(STEPS, SEGMENTS, INPUTS, seed=1),
        numbers(4 * SIZE, INPUTS, seed=2),
        numbers(4 * SIZE, seed=3),
        numbers(4 * SIZE, SIZE, seed=4),
        numbers(SEGMENTS, 2 * SIZE, seed=5),
    )


def resets(share):
    return torch.rand(STEPS, SEGMENTS, generator=torch.Generator().manual_seed(6)) < share


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_S3_S4_every_gradient_is_that_of_small_differences(share):
    reset_after = resets(share)
    assert torch.autograd.gradcheck(
        lambda *given: unroll_lstm(*given, reset_after), arguments(), fast_mode=True
    )


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_S3_S4_states_and_gradients_are_those_of_cells_one_after_the_other(share):
    given, reset_after = arguments(), resets(share)
    core = LstmCore(INPUTS, SIZE, torch.Generator().manual_seed(0)).double()
    core.load_state_dict(
        {"inputs.weight": given[1], "inputs.bias": given[2], "hidden.weight": given[3]}, strict=True
    )
    cells = RecurrentCore.unroll(core, given[0], given[4], reset_after)
    states = unroll_lstm(*given, reset_after)
    torch.testing.assert_close(states, cells)
    weights = numbers(*states.shape, seed=7).detach()
    mine = torch.autograd.grad((states * weights).sum(), given)
    of_core = [given[0], core.inputs.weight, core.inputs.bias, core.hidden.weight, given[4]]
    for one, other in zip(mine, torch.autograd.grad((cells * weights).sum(), of_core), strict=True):
        torch.testing.assert_close(one, other)


def test_observations_get_no_unneeded_gradient():
    inputs, *rest = arguments()
    states = unroll_lstm(inputs.detach(), *rest, resets(0.3))
    states.sum().backward()
    assert inputs.grad is None and all(tensor.grad is not None for tensor in rest)
