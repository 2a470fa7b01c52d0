"""Recurrent cores, LSTM and GRU, whose state is one packed vector per slot."""

from typing import Literal

import torch
from torch import Tensor, nn

from attract.policy.lstm_unroll import unroll_lstm

RecurrentName = Literal["lstm", "gru"]

KEEPING_BIASES = (1.0, 4.0)
"""First bias of the gate that keeps the state, from the first unit's to the last's: a fresh network
remembers over 4 to 55 steps. Spread after Tallec and Ollivier 2018 (arXiv:1804.11188), section 2; with 1 in
every unit (Jozefowicz et al. 2015) what lies more than a segment back is lost before it can be learned."""


class RecurrentCore(nn.Module):
    """One layer of cells; the first `size` numbers of its packed state are its output.

    Weights are those of two linear layers, `inputs` and `hidden`, gates stacked in torch's order.
    """

    num_gates: int
    has_hidden_bias: bool
    state_parts: int
    """Vectors of `size` numbers in the packed state."""

    def __init__(self, num_inputs: int, size: int, generator: torch.Generator) -> None:
        super().__init__()
        self.size = size
        self.inputs = nn.Linear(num_inputs, self.num_gates * size)
        self.hidden = nn.Linear(size, self.num_gates * size, bias=self.has_hidden_bias)
        for layer in (self.inputs, self.hidden):
            for gate in layer.weight.detach().chunk(self.num_gates):
                nn.init.orthogonal_(gate, generator=generator)
        nn.init.zeros_(self.inputs.bias)
        self.inputs.bias.detach()[size : 2 * size] = torch.linspace(*KEEPING_BIASES, size)
        if self.has_hidden_bias:
            nn.init.zeros_(self.hidden.bias)

    @property
    def state_size(self) -> int:
        return self.state_parts * self.size

    def cell(self, gates: Tensor, state: Tensor) -> Tensor:
        """[N, state_size] after one step, from [N, gates * size] = `inputs(x)` and the state before it."""
        raise NotImplementedError

    def unroll(self, inputs: Tensor, state: Tensor, reset_after: Tensor) -> Tensor:
        """States after each step of S segments, the state zeroed between steps after an end (rule S4).

        One cell after the other by autograd; the LSTM overrides it with a faster unroll of the same result.

        Args:
            inputs: [T, S, num_inputs] float32; finite, even where a step is invalid.
            state: [S, state_size] float32, before the first step (rule S3).
            reset_after: [T, S] bool; where it holds, the next step begins with zeros.

        Returns: [T, S, state_size] float32, each before zeroing.
        """
        gates = self.inputs(inputs)
        states: list[Tensor] = []
        for step_gates, reset in zip(gates.unbind(0), reset_after.unsqueeze(-1).unbind(0), strict=True):
            state = self.cell(step_gates, state)
            states.append(state)
            state = state.masked_fill(reset, 0.0)
        return torch.stack(states)


class LstmCore(RecurrentCore):
    """i, f, g, o; packed state [h, c].

    c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). Source: Hochreiter and Schmidhuber 1997
    with the forget gate of Gers et al. 2000; the weights are `torch.nn.LSTM`'s, its two biases added up.
    """

    num_gates = 4
    has_hidden_bias = False
    state_parts = 2

    def unroll(self, inputs: Tensor, state: Tensor, reset_after: Tensor) -> Tensor:
        return unroll_lstm(
            inputs, self.inputs.weight, self.inputs.bias, self.hidden.weight, state, reset_after
        )

    def cell(self, gates: Tensor, state: Tensor) -> Tensor:
        hidden, cell = state.chunk(2, dim=1)
        enter, keep, new, leave = torch.addmm(gates, hidden, self.hidden.weight.t()).chunk(4, dim=1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
        return torch.cat((torch.sigmoid(leave) * torch.tanh(cell), cell), dim=1)


class GruCore(RecurrentCore):
    """r, z, n; packed state [h].

    h' = (1 - sigmoid(z)) tanh(n_x + sigmoid(r) n_h) + sigmoid(z) h. Source: Cho et al. 2014
    (arXiv:1406.1078) in the form of `torch.nn.GRU`, whose weights these are.
    """

    num_gates = 3
    has_hidden_bias = True
    state_parts = 1

    def cell(self, gates: Tensor, state: Tensor) -> Tensor:
        reset_in, keep_in, new_in = gates.chunk(3, dim=1)
        reset_hidden, keep_hidden, new_hidden = self.hidden(state).chunk(3, dim=1)
        keep = torch.sigmoid(keep_in + keep_hidden)
        new = torch.tanh(new_in + torch.sigmoid(reset_in + reset_hidden) * new_hidden)
        return new + keep * (state - new)


def create_core(name: RecurrentName, num_inputs: int, size: int, generator: torch.Generator) -> RecurrentCore:
    kind = LstmCore if name == "lstm" else GruCore
    return kind(num_inputs, size, generator)
