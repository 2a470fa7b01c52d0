"""A GRU along whole segments as one operation with its own gradient: half the work is matrix products."""

from typing import Any

import torch
from torch import Tensor

from attract.policy.unrolling import is_launch_bound, through_sigmoid_, through_tanh_


def unroll_gru(
    inputs: Tensor,
    input_weight: Tensor,
    input_bias: Tensor,
    hidden_weight: Tensor,
    hidden_bias: Tensor,
    state: Tensor,
    reset_after: Tensor,
) -> Tensor:
    """States after each step of S segments, the state zeroed between steps after an episode's end (rule S4).

    Equal within 1e-5 to cells one after the other. A step's products are added up in one block of four
    gates, which become what the gradient needs in place, so that nothing is kept twice.

    Args:
        inputs: [T, S, num_inputs] float32; finite, even where a step is invalid.
        input_weight: [3 size, num_inputs], gates in torch's order: r, z, n.
        input_bias: [3 size].
        hidden_weight: [3 size, size].
        hidden_bias: [3 size]; that of n is inside of what r multiplies.
        state: [S, size] before the first step (rule S3).
        reset_after: [T, S] bool; where it holds, the next step begins with zeros.

    Returns: [T, S, size] after each step, before zeroing.
    """
    return _UnrolledGru.apply(
        inputs, input_weight, input_bias, hidden_weight, hidden_bias, state, reset_after
    )


class _UnrolledGru(torch.autograd.Function):
    """A step's gates are n, r, z and m, the hidden state's part of n: n = tanh(x's part + r m).

    So what comes of the inputs, n, r, z, and what comes of the state, r, z, m, are one slice each.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor,
        input_bias: Tensor,
        hidden_weight: Tensor,
        hidden_bias: Tensor,
        state: Tensor,
        reset_after: Tensor,
    ) -> Tensor:
        horizon, segments, _ = inputs.shape
        size = hidden_weight.shape[1]
        of_inputs, of_hidden = input_weight.roll(size, 0).t(), hidden_weight.t()
        bias = torch.cat((input_bias.roll(size), hidden_bias[2 * size :]))
        bias[size : 3 * size] += hidden_bias[: 2 * size]
        bias = bias.expand(segments, 4 * size)
        resets = reset_after.unsqueeze(-1)
        states = inputs.new_empty((horizon, segments, size))
        # Lists, not one array of all steps: blocks of this size are handed on from minibatch to minibatch.
        before, gates = [state], list[Tensor]()
        for t in range(horizon):
            gate = bias.clone(memory_format=torch.contiguous_format)
            by_inputs, by_hidden = gate[:, : 3 * size], gate[:, size:]
            torch.addmm(by_inputs, inputs[t], of_inputs, out=by_inputs)
            torch.addmm(by_hidden, before[t], of_hidden, out=by_hidden)
            gate[:, size : 3 * size].sigmoid_()
            n, r, z, m = gate.chunk(4, 1)
            n.addcmul_(r, m).tanh_()
            torch.lerp(n, before[t], z, out=states[t])
            gates.append(gate)
            before.append(states[t].masked_fill(resets[t], 0.0))
        ctx.save_for_backward(inputs, input_weight, hidden_weight, resets, *before[:-1], *gates)
        return states

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, hidden_weight, resets, *kept = ctx.saved_tensors
        horizon, size = inputs.shape[0], hidden_weight.shape[1]
        before, gates = kept[:horizon], kept[horizon:]
        grad_states = grad_outputs[0]
        of_inputs = input_weight.roll(size, 0)
        grad_inputs = inputs.new_empty(inputs.shape) if ctx.needs_input_grad[0] else None
        grad_of_inputs, grad_of_hidden = torch.zeros_like(input_weight), torch.zeros_like(hidden_weight)
        grad_bias = inputs.new_zeros(4 * size)
        grad_before = torch.zeros_like(before[0])
        # As in the LSTM's unroll: a GPU gets one product of all steps, a CPU what is still in its cache.
        at_once = is_launch_bound(inputs)
        grad_gates = inputs.new_empty((horizon if at_once else 1, *gates[0].shape))
        for t in range(horizon - 1, -1, -1):
            gate, grad_gate = gates[t], grad_gates[t if at_once else 0]
            n, r, z, m = gate.chunk(4, 1)
            grad_n, grad_r, grad_z, grad_m = grad_gate.chunk(4, 1)
            grad_state = grad_before.masked_fill_(resets[t], 0.0).add_(grad_states[t])
            grad_before = grad_state * z
            torch.sub(grad_state, grad_before, out=grad_n)
            through_tanh_(grad_n, n)
            torch.mul(grad_n, m, out=grad_r)
            torch.mul(grad_n, r, out=grad_m)
            torch.sub(before[t], n, out=grad_z)
            grad_z.mul_(grad_state)
            through_sigmoid_(grad_gate[:, size : 3 * size], gate[:, size : 3 * size])
            by_inputs, by_hidden = grad_gate[:, : 3 * size], grad_gate[:, size:]
            if not at_once:
                torch.addmm(grad_of_inputs, by_inputs.t(), inputs[t], out=grad_of_inputs)
                torch.addmm(grad_of_hidden, by_hidden.t(), before[t], out=grad_of_hidden)
                grad_bias.add_(grad_gate.sum(0))
                if grad_inputs is not None:
                    torch.mm(by_inputs, of_inputs, out=grad_inputs[t])
            torch.addmm(grad_before, by_hidden, hidden_weight, out=grad_before)
        if at_once:
            flat = grad_gates.flatten(0, 1)
            by_inputs, by_hidden = flat[:, : 3 * size], flat[:, size:]
            grad_of_inputs = by_inputs.t().mm(inputs.flatten(0, 1))
            grad_of_hidden = by_hidden.t().mm(torch.cat(before))
            grad_bias = flat.sum(0)
            if grad_inputs is not None:
                torch.mm(by_inputs, of_inputs, out=grad_inputs.view(-1, inputs.shape[-1]))
        return (
            grad_inputs,
            grad_of_inputs.roll(-size, 0),
            grad_bias[: 3 * size].roll(-size),
            grad_of_hidden,
            grad_bias[size:],
            grad_before,
            None,
        )
