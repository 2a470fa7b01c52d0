"""The gradient written by hand against torch's own of the same cells, one after the other."""

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attract.policy import gru_unroll
from attract.policy.gru_unroll import unroll_gru
from attract.policy.recurrent import GruCore, RecurrentCore

STEPS, SEGMENTS, INPUTS, SIZE = 6, 3, 4, 5
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10}


@pytest.fixture(params=[False, True], ids=["step by step", "at once"])
def products(request, monkeypatch):
    """The gradient's matrix products as a CPU makes them and as a GPU does."""
    monkeypatch.setattr(gru_unroll, "is_launch_bound", lambda _: request.param)
    return request.param


def arguments(steps=STEPS, segments=SEGMENTS, inputs=INPUTS, size=SIZE, *, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    shapes = [
        (steps, segments, inputs),
        (3 * size, inputs),
        (3 * size,),
        (3 * size, size),
        (3 * size,),
        (segments, size),
    ]
    # Weights of a size at which a gradient neither fades nor grows over the steps.
    return [
        (torch.randn(shape, generator=generator, dtype=dtype) / shape[-1] ** 0.5).requires_grad_()
        for shape in shapes
    ]


def resets(share, steps=STEPS, segments=SEGMENTS, seed=6):
    return torch.rand(steps, segments, generator=torch.Generator().manual_seed(seed)) < share


def cells_one_after_the_other(numbers, reset_after):
    """The states, and the six tensors that gradients are asked of: those of a core with these weights."""
    inputs, *weights, state = numbers
    core = GruCore(inputs.shape[-1], state.shape[-1], torch.Generator().manual_seed(0)).to(inputs.dtype)
    names = ["inputs.weight", "inputs.bias", "hidden.weight", "hidden.bias"]
    core.load_state_dict(dict(zip(names, weights, strict=True)), strict=True)
    states = RecurrentCore.unroll(core, inputs, state, reset_after)
    parameters = dict(core.named_parameters())
    return states, [inputs, *(parameters[name] for name in names), state]


def assert_equal_to_cells(numbers, reset_after):
    dtype = numbers[0].dtype
    cells, of_cells = cells_one_after_the_other(numbers, reset_after)
    states = unroll_gru(*numbers, reset_after)
    assert states.dtype == dtype
    tolerance = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]}
    torch.testing.assert_close(states, cells, **tolerance)
    # No two states count alike, so that none can stand for another.
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(7), dtype=dtype)
    found = torch.autograd.grad((states * weights).sum(), numbers)
    expected = torch.autograd.grad((cells * weights).sum(), of_cells)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, **tolerance)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_S3_S4_every_gradient_is_that_of_small_differences(products, share):
    reset_after = resets(share)
    assert torch.autograd.gradcheck(
        lambda *numbers: unroll_gru(*numbers, reset_after), arguments(), fast_mode=True
    )


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_S3_S4_states_and_gradients_are_those_of_cells_one_after_the_other(products, share):
    assert_equal_to_cells(arguments(), resets(share))


@pytest.mark.parametrize("at_once", [False, True])
@settings(max_examples=60, deadline=None, derandomize=True, phases=(Phase.generate,))
@given(
    steps=st.integers(1, 9),
    segments=st.integers(1, 5),
    inputs=st.integers(1, 7),
    size=st.integers(1, 9),
    share=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 10_000),
)
def test_S3_S4_any_size_and_any_resets_equal_cells_one_after_the_other(
    at_once, steps, segments, inputs, size, share, dtype, seed
):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gru_unroll, "is_launch_bound", lambda _: at_once)
        numbers = arguments(steps, segments, inputs, size, dtype=dtype, seed=seed)
        assert_equal_to_cells(numbers, resets(share, steps, segments, seed))


def test_observations_get_no_gradient_that_nobody_wants(products):
    inputs, *rest = arguments()
    states = unroll_gru(inputs.detach(), *rest, resets(0.3))
    states.sum().backward()
    assert inputs.grad is None and all(tensor.grad is not None for tensor in rest)


def test_C8_the_same_numbers_give_the_same_bits():
    runs = []
    for _ in range(2):
        numbers = arguments(32, 16, 12, 24, dtype=torch.float32)
        states = unroll_gru(*numbers, resets(0.1, 32, 16))
        runs.append([states.detach(), *torch.autograd.grad(states.square().sum(), numbers)])
    assert all(torch.equal(first, second) for first, second in zip(*runs, strict=True))
