"""Fully connected layers with their activation, in the order of operations that is fast on a CPU."""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

HIDDEN_GAIN = 2.0**0.5
POLICY_HEAD_GAIN = 0.01
VALUE_HEAD_GAIN = 1.0

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)


def initialise(layer: Layer, gain: float, generator: torch.Generator) -> Layer:
    """The layer with orthogonal weights (Saxe et al. 2014, arXiv:1312.6120) and zero bias."""
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


NARROW_INPUTS = 16
"""Below this many inputs x^T g is several times faster than g^T x for the same weight gradient."""


class TanhLayer(nn.Linear):
    """tanh(x W^T + b).

    On a CPU, tanh(z) is computed as 2 sigmoid(2 z) - 1, which torch vectorises better: less than half the
    time, equal within 3e-7. The factor 2 costs nothing inside the matrix product. Elsewhere, and in the ONNX
    graph, it is the plain operator.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (nn.Linear's own name)
        """[N, out] float32 from [N, in] float32."""
        if not input.is_cpu or torch.compiler.is_exporting():
            return torch.tanh(nn.functional.linear(input, self.weight, self.bias))
        return _TanhLayerOnCpu.apply(input, self.weight, self.bias)


class ReluLayer(nn.Linear):
    """max(0, x W^T + b)."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (nn.Linear's own name)
        """[N, out] float32 from [N, in] float32."""
        return torch.relu(nn.functional.linear(input, self.weight, self.bias))


class BinsLayer(nn.Linear):
    """softmax(x W^T + b) of each group of bins by itself.

    Args:
        num_inputs: of the layer.
        num_groups: of bins.
        num_bins: of each group.
    """

    def __init__(self, num_inputs: int, num_groups: int, num_bins: int) -> None:
        super().__init__(num_inputs, num_groups * num_bins)
        self.num_groups, self.num_bins = num_groups, num_bins
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (nn.Linear's own name)
        """[N, groups * bins] float32 from [N, in] float32."""
        logits = nn.functional.linear(input, self.weight, self.bias)
        return logits.unflatten(1, (self.num_groups, self.num_bins)).softmax(2).flatten(1)


class _TanhLayerOnCpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        outputs = torch.addmm(bias, inputs, weight.t(), beta=2.0, alpha=2.0).sigmoid_()
        outputs.mul_(2.0).sub_(1.0)
        ctx.save_for_backward(inputs, weight, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        inputs, weight, outputs = ctx.saved_tensors
        grad = torch.ops.aten.tanh_backward(grad_outputs[0], outputs)
        grad_inputs = grad @ weight if ctx.needs_input_grad[0] else None
        narrow = weight.shape[1] < NARROW_INPUTS
        grad_weight = (inputs.t() @ grad).t() if narrow else grad.t() @ inputs
        return grad_inputs, grad_weight, grad.sum(0)
