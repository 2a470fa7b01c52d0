"""What the unrolls of LSTM and GRU share: gradients through a gate, and how a device takes products."""

import torch
from torch import Tensor


def is_launch_bound(tensor: Tensor) -> bool:
    """Whether a device's time goes into starting small operations: on a GPU."""
    return tensor.is_cuda


def through_tanh(grad: Tensor, output: Tensor) -> Tensor:
    """The gradient before a tanh, from that after it and its output; of one shape and dtype."""
    return torch.ops.aten.tanh_backward(grad, output)


def through_tanh_(grad: Tensor, output: Tensor) -> None:
    """`through_tanh` in place of `grad`, which may be a part of a larger tensor."""
    torch.ops.aten.tanh_backward.grad_input(grad, output, grad_input=grad)


def through_sigmoid_(grad: Tensor, output: Tensor) -> None:
    """The gradient before a sigmoid in place of that after it, from the sigmoid's output."""
    torch.ops.aten.sigmoid_backward.grad_input(grad, output, grad_input=grad)
