import pytest
import torch
from torch import nn

from attract.policy.recurrent import GruCore, LstmCore, create_core

INPUTS, SIZE, STEPS, SEGMENTS = 5, 4, 7, 3


def core_and_torchs(name):
    """A core of ours with random weights, and torch's own module with the same."""
    core = create_core(name, INPUTS, SIZE, torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(2)
    for tensor in core.state_dict().values():
        tensor.copy_(torch.randn(tensor.shape, generator=generator))
    theirs = nn.LSTM(INPUTS, SIZE) if name == "lstm" else nn.GRU(INPUTS, SIZE)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(core.inputs.weight)
        theirs.weight_hh_l0.copy_(core.hidden.weight)
        theirs.bias_ih_l0.copy_(core.inputs.bias)
        # Our LSTM has one bias where torch's has two that are added up.
        theirs.bias_hh_l0.copy_(torch.zeros(4 * SIZE) if name == "lstm" else core.hidden.bias)
    return core, theirs


def run_torchs(theirs, inputs, state):
    """[T, S, SIZE] outputs and the packed state after, [h, c] or [h]."""
    if isinstance(theirs, nn.LSTM):
        hidden, cell = (part.unsqueeze(0).contiguous() for part in state.chunk(2, 1))
        outputs, (hidden, cell) = theirs(inputs, (hidden, cell))
        return outputs, torch.cat((hidden[0], cell[0]), 1)
    outputs, hidden = theirs(inputs, state.unsqueeze(0))
    return outputs, hidden[0]


def numbers(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_S3_unrolling_from_a_state_equals_torchs_own_module(name):
    core, theirs = core_and_torchs(name)
    inputs, state = numbers(STEPS, SEGMENTS, INPUTS, seed=3), numbers(SEGMENTS, core.state_size, seed=4)
    never = torch.zeros(STEPS, SEGMENTS, dtype=torch.bool)
    states = core.unroll(inputs, state, never)
    outputs, last = run_torchs(theirs, inputs, state)
    torch.testing.assert_close(states[..., :SIZE], outputs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(states[-1], last, rtol=1e-5, atol=1e-6)
    # Another start gives other outputs: the state is used.
    assert not torch.allclose(core.unroll(inputs, torch.zeros_like(state), never), states, atol=1e-2)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_S4_each_episode_begins_with_zeros_and_equals_torchs_run_over_it_alone(name):
    core, theirs = core_and_torchs(name)
    inputs, state = numbers(STEPS, SEGMENTS, INPUTS, seed=3), numbers(SEGMENTS, core.state_size, seed=4)
    reset_after = torch.zeros(STEPS, SEGMENTS, dtype=torch.bool)
    # Segment 0: an end after step 2; segment 1: ends after steps 0 and 5; segment 2: after its last step.
    reset_after[2, 0] = reset_after[0, 1] = reset_after[5, 1] = reset_after[6, 2] = True
    states = core.unroll(inputs, state, reset_after)
    pieces = {0: [(0, 3), (3, 7)], 1: [(0, 1), (1, 6), (6, 7)], 2: [(0, 7)]}
    for segment, ranges in pieces.items():
        for start, stop in ranges:
            first = state[segment : segment + 1] if start == 0 else torch.zeros(1, core.state_size)
            outputs, last = run_torchs(theirs, inputs[start:stop, segment : segment + 1], first)
            mine = states[start:stop, segment]
            torch.testing.assert_close(mine[:, :SIZE], outputs[:, 0], rtol=1e-5, atol=1e-6)
            # The state after the last step is given as it was before it was zeroed (E4 reads it).
            torch.testing.assert_close(mine[-1], last[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_S4_gradients_equal_torchs_and_stop_at_an_episodes_end(name):
    core, theirs = core_and_torchs(name)
    inputs, state = numbers(STEPS, SEGMENTS, INPUTS, seed=3), numbers(SEGMENTS, core.state_size, seed=4)
    weights = numbers(STEPS, SEGMENTS, SIZE, seed=5)
    never = torch.zeros(STEPS, SEGMENTS, dtype=torch.bool)
    (core.unroll(inputs, state, never)[..., :SIZE] * weights).sum().backward()
    (run_torchs(theirs, inputs, state)[0] * weights).sum().backward()
    torch.testing.assert_close(core.inputs.weight.grad, theirs.weight_ih_l0.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(core.hidden.weight.grad, theirs.weight_hh_l0.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(core.inputs.bias.grad, theirs.bias_ih_l0.grad, rtol=1e-4, atol=1e-5)
    # What follows an end says nothing about what came before it.
    inputs.requires_grad_()
    ended = never.clone()
    ended[3] = True
    core.unroll(inputs, state, ended)[4:].sum().backward()
    assert not inputs.grad[:4].any() and inputs.grad[4:].all()


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_S5_what_a_state_holds_at_a_reset_does_not_matter_afterwards(name):
    core, _ = core_and_torchs(name)
    inputs, state = numbers(STEPS, SEGMENTS, INPUTS, seed=3), numbers(SEGMENTS, core.state_size, seed=4)
    inputs[1, 0] = torch.nan  # an invalid step, followed by valid ones
    reset_after = torch.zeros(STEPS, SEGMENTS, dtype=torch.bool)
    reset_after[0, 0] = reset_after[1, 0] = True
    assert core.unroll(inputs, state, reset_after)[2:].isfinite().all()


def test_a_fresh_core_remembers():
    for core in (
        LstmCore(INPUTS, SIZE, torch.Generator().manual_seed(0)),
        GruCore(INPUTS, SIZE, torch.Generator().manual_seed(0)),
    ):
        # torch's order of gates: second is the LSTM's forget gate and the GRU's update gate, both keep.
        biases = core.inputs.bias.view(core.num_gates, SIZE)
        assert biases[1].tolist() == [1.0, 2.0, 3.0, 4.0] and not biases[[0, 2]].any()
        for gate in core.hidden.weight.chunk(core.num_gates):
            torch.testing.assert_close(gate @ gate.T, torch.eye(SIZE), rtol=0, atol=1e-6)
