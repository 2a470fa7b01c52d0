"""A policy of dense layers alone, forward and backward into kept buffers, without autograd."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attract.policy.dense import NARROW_INPUTS, ReluLayer, TanhLayer
from attract.policy.network import Policy

Views = Callable[..., tuple[Tensor, Tensor]]
"""Where the weights of a parameter, or of several joined along the first axis, are kept, and its gradient."""


@dataclass(frozen=True, slots=True)
class Dense:
    """One layer: [out, in] weights and [out] biases, and where their gradients go."""

    weight: Tensor
    weight_gradient: Tensor
    bias: Tensor
    bias_gradient: Tensor

    def set_gradients(self, inputs: Tensor, by_outputs: Tensor) -> None:
        """From [N, in] inputs and the loss's gradient by [N, out] outputs before the activation."""
        if self.weight.shape[1] < NARROW_INPUTS:
            self.weight_gradient.copy_(torch.mm(inputs.t(), by_outputs).t())
        else:
            torch.mm(by_outputs.t(), inputs, out=self.weight_gradient)
        torch.sum(by_outputs, 0, out=self.bias_gradient)


class Column:
    """Hidden layers, one after the other, and the linear outputs on top of the last.

    Args:
        layers: below the outputs; may be none.
        is_tanh: their activation; else it is ReLU.
        head: the outputs.
    """

    def __init__(self, layers: Sequence[Dense], *, is_tanh: bool, head: Dense) -> None:
        self._layers = layers
        self._is_tanh = is_tanh
        self._head = head
        self._head_bias = head.bias.unsqueeze(1)
        self._minus_one = torch.tensor(-1.0)
        self._hidden: list[Tensor] = []
        self._gradients: list[Tensor] = []

    def forward(self, inputs: Tensor, outputs: Tensor) -> None:
        """Write the [R, N] outputs of [N, F] inputs."""
        self._make_room(len(inputs))
        below = inputs
        for layer, hidden in zip(self._layers, self._hidden, strict=True):
            if self._is_tanh:
                # tanh as `TanhLayer` has it.
                torch.addmm(layer.bias, below, layer.weight.t(), beta=2.0, alpha=2.0, out=hidden).sigmoid_()
                torch.add(self._minus_one, hidden, alpha=2.0, out=hidden)
            else:
                torch.addmm(layer.bias, below, layer.weight.t(), out=hidden).relu_()
            below = hidden
        torch.addmm(self._head_bias, self._head.weight, below.t(), out=outputs)

    def backward(self, inputs: Tensor, by_outputs: Tensor) -> None:
        """Set all gradients, from the inputs of the last `forward` and the loss's [R, N] gradient."""
        head = self._head
        torch.mm(by_outputs, self._hidden[-1] if self._hidden else inputs, out=head.weight_gradient)
        torch.sum(by_outputs, 1, out=head.bias_gradient)
        above, weight = by_outputs.t(), head.weight
        for place in reversed(range(len(self._layers))):
            layer, hidden, gradient = self._layers[place], self._hidden[place], self._gradients[place]
            torch.mm(above, weight, out=gradient)
            if self._is_tanh:
                torch.ops.aten.tanh_backward.grad_input(gradient, hidden, grad_input=gradient)
            else:
                torch.ops.aten.threshold_backward.grad_input(gradient, hidden, 0.0, grad_input=gradient)
            layer.set_gradients(self._hidden[place - 1] if place > 0 else inputs, gradient)
            above, weight = gradient, layer.weight

    def _make_room(self, num_rows: int) -> None:
        if self._hidden and len(self._hidden[0]) == num_rows:
            return
        sizes = [len(layer.bias) for layer in self._layers]
        self._hidden = [torch.empty(num_rows, size) for size in sizes]
        self._gradients = [torch.empty(num_rows, size) for size in sizes]


class DensePolicy:
    """A policy's network as columns: one for both heads, or one each.

    Args:
        policy: one that `is_dense`.
        views: where its parameters and their gradients are.
        heads: on its trunk and on its value trunk; None: its own.
    """

    def __init__(
        self, policy: Policy, views: Views, heads: tuple[nn.Linear, nn.Linear] | None = None
    ) -> None:
        policy_head, value_head = heads or (policy.policy_head, policy.value_head)
        self.num_policy_rows = policy_head.out_features
        self.num_rows = self.num_policy_rows + value_head.out_features

        def layer_of(*linears: nn.Linear) -> Dense:
            weight, weight_gradient = views(*(linear.weight for linear in linears))
            bias, bias_gradient = views(*(linear.bias for linear in linears))
            return Dense(weight, weight_gradient, bias, bias_gradient)

        def column(trunk: nn.Sequential, *heads: nn.Linear) -> Column:
            layers = [layer_of(layer) for layer in trunk if isinstance(layer, nn.Linear)]
            is_tanh = any(isinstance(layer, TanhLayer) for layer in trunk)
            return Column(layers, is_tanh=is_tanh, head=layer_of(*heads))

        rows = slice(0, self.num_policy_rows), slice(self.num_policy_rows, self.num_rows)
        self._columns = (
            [(column(policy.trunk, policy_head, value_head), slice(0, self.num_rows))]
            if policy.value_trunk is None
            else [
                (column(policy.trunk, policy_head), rows[0]),
                (column(policy.value_trunk, value_head), rows[1]),
            ]
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """[R, N] from [N, F]: the outputs of the policy's head, and then those of the value's."""
        outputs = torch.empty(self.num_rows, len(inputs))
        for column, rows in self._columns:
            column.forward(inputs, outputs[rows])
        return outputs

    def backward(self, inputs: Tensor, by_outputs: Tensor) -> None:
        """Set the gradients, from the inputs of the last `forward` and the loss's [R, N] gradient."""
        for column, rows in self._columns:
            column.backward(inputs, by_outputs[rows])


def is_dense(policy: Policy) -> bool:
    """Whether nothing but dense layers stands between the observations and the heads."""
    trunks = (policy.trunk, *(() if policy.value_trunk is None else (policy.value_trunk,)))
    layers = [layer for trunk in trunks for layer in trunk]
    return (
        policy.core is None
        and not policy.encoders
        and all(type(layer) in (TanhLayer, ReluLayer) for layer in layers)
    )


def parameter_blocks(
    policy: Policy, heads: tuple[nn.Linear, nn.Linear] | None = None
) -> list[Sequence[Tensor]]:
    """All parameters, each once; those of heads on one trunk together, so that one product does for both.

    Args:
        policy: one that `is_dense`.
        heads: see `DensePolicy`.
    """
    joined = heads or (policy.policy_head, policy.value_head)
    spread = policy.action_log_std
    blocks: list[Sequence[Tensor]] = [[head.weight for head in joined], [head.bias for head in joined]]
    if policy.value_trunk is not None:
        blocks = [[parameter] for block in blocks for parameter in block]
    if spread is not None:
        blocks.append([spread])
    trunks = (policy.trunk, *(() if policy.value_trunk is None else (policy.value_trunk,)))
    return [[parameter] for trunk in trunks for parameter in trunk.parameters()] + blocks
