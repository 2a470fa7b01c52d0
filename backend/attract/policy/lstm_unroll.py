"""An LSTM along whole segments as one operation with its own gradient: half the work is matrix products."""

from typing import Any

import torch
from torch import Tensor


def unroll_lstm(
    inputs: Tensor,
    input_weight: Tensor,
    bias: Tensor,
    hidden_weight: Tensor,
    state: Tensor,
    reset_after: Tensor,
) -> Tensor:
    """States after each step of S segments, the state zeroed between steps where marked (rule S4).

    Equal within 1e-5 to cells one after the other. One matrix product takes a step's input and state at once,
    one sigmoid all four gates (tanh(z) = 2 sigmoid(2 z) - 1), and no tensor is stored twice for the gradient.

    Args:
        inputs: [T, S, num_inputs] float32; finite, even where a step is invalid.
        input_weight: [4 size, num_inputs], gates in torch's order: i, f, g, o.
        bias: [4 size].
        hidden_weight: [4 size, size].
        state: [S, 2 size], [h, c] at the first step (rule S3).
        reset_after: [T, S] bool; where it holds, the next step begins with zeros.

    Returns: [T, S, 2 size], [h, c] after each step, before zeroing.
    """
    return _UnrolledLstm.apply(inputs, input_weight, bias, hidden_weight, state, reset_after)


class _UnrolledLstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor,
        bias: Tensor,
        hidden_weight: Tensor,
        state: Tensor,
        reset_after: Tensor,
    ) -> Tensor:
        horizon, segments, width = inputs.shape
        size = hidden_weight.shape[1]
        doubled = bias.new_ones(4 * size)
        doubled[2 * size : 3 * size] = 2.0
        weight = (torch.cat((input_weight, hidden_weight), 1) * doubled.unsqueeze(1)).t()
        bias = bias * doubled
        joined = inputs.new_empty((horizon, segments, width + size))
        joined[..., :width] = inputs
        resets = reset_after.unsqueeze(-1)
        states = inputs.new_empty((horizon, segments, 2 * size))
        # A list, not one array of all steps: blocks of this size are handed on from minibatch to minibatch.
        before, gates, squashed = [state], list[Tensor](), list[Tensor]()
        for t in range(horizon):
            joined[t, :, width:] = before[t][:, :size]
            gate = torch.addmm(bias, joined[t], weight).sigmoid_()
            i, f, g, o = gate.chunk(4, 1)
            g.mul_(2.0).sub_(1.0)
            hidden, cell = states[t].chunk(2, 1)
            torch.mul(f, before[t][:, size:], out=cell)
            cell.addcmul_(i, g)
            squash = torch.mul(cell, 2.0).sigmoid_().mul_(2.0).sub_(1.0)
            torch.mul(o, squash, out=hidden)
            gates.append(gate)
            squashed.append(squash)
            before.append(states[t].masked_fill(resets[t], 0.0))
        ctx.save_for_backward(input_weight, hidden_weight, joined, resets, *before[:-1], *gates, *squashed)
        return states

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        input_weight, hidden_weight, joined, resets, *kept = ctx.saved_tensors
        horizon, width, size = joined.shape[0], input_weight.shape[1], hidden_weight.shape[1]
        before, gates, squashed = kept[:horizon], kept[horizon : 2 * horizon], kept[2 * horizon :]
        grad_states = grad_outputs[0]
        grad_inputs = torch.empty_like(joined[..., :width]) if ctx.needs_input_grad[0] else None
        grad_weight = joined.new_zeros((4 * size, width + size))
        grad_bias = joined.new_zeros(4 * size)
        grad_before = torch.zeros_like(grad_states[0])
        # A GPU waits for each launch, so it gets one product of all steps; a CPU is up to 6 % faster with
        # what a step has just left in its cache.
        at_once = is_launch_bound(joined)
        grad_gates = joined.new_empty((horizon if at_once else 1, *gates[0].shape))
        for t in range(horizon - 1, -1, -1):
            gate, squash = gates[t], squashed[t]
            i, f, g, o = gate.chunk(4, 1)
            grad_before.masked_fill_(resets[t], 0.0).add_(grad_states[t])
            grad_hidden, grad_cell = grad_before.chunk(2, 1)
            grad_gate = grad_gates[t if at_once else 0]
            grad_i, grad_f, grad_g, grad_o = grad_gate.chunk(4, 1)
            grad_cell.add_(_through_tanh(grad_hidden * o, squash))
            torch.mul(grad_cell, g, out=grad_i)
            torch.mul(grad_cell, before[t][:, size:], out=grad_f)
            torch.mul(grad_cell, i, out=grad_g)
            torch.mul(grad_hidden, squash, out=grad_o)
            _through_sigmoid_(grad_gate[:, : 2 * size], gate[:, : 2 * size])
            _through_tanh_(grad_g, g)
            _through_sigmoid_(grad_o, o)
            if not at_once:
                torch.addmm(grad_weight, grad_gate.t(), joined[t], out=grad_weight)
                grad_bias.add_(grad_gate.sum(0))
                if grad_inputs is not None:
                    torch.mm(grad_gate, input_weight, out=grad_inputs[t])
            torch.mm(grad_gate, hidden_weight, out=grad_hidden)
            grad_cell.mul_(f)
        if at_once:
            flat = grad_gates.flatten(0, 1)
            grad_weight, grad_bias = flat.t().mm(joined.flatten(0, 1)), flat.sum(0)
            if grad_inputs is not None:
                torch.mm(flat, input_weight, out=grad_inputs.view(-1, width))
        of_inputs, of_hidden = grad_weight.split((width, size), 1)
        return grad_inputs, of_inputs, grad_bias, of_hidden, grad_before, None


def is_launch_bound(tensor: Tensor) -> bool:
    """Whether starting small operations takes most of the device's time, as on a GPU."""
    return tensor.is_cuda


def _through_tanh(grad: Tensor, output: Tensor) -> Tensor:
    """The gradient before a tanh, from the gradient after it and its output; all of one shape and dtype."""
    return torch.ops.aten.tanh_backward(grad, output)


def _through_tanh_(grad: Tensor, output: Tensor) -> None:
    """`_through_tanh` in place of `grad`, which may be a part of a larger tensor."""
    torch.ops.aten.tanh_backward.grad_input(grad, output, grad_input=grad)


def _through_sigmoid_(grad: Tensor, output: Tensor) -> None:
    """The gradient before a sigmoid in place of that after it, from the sigmoid's output."""
    torch.ops.aten.sigmoid_backward.grad_input(grad, output, grad_input=grad)
