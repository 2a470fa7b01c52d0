"""A policy's parameters, their gradients and Adam's moments, each as one vector while an update lasts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor

from attract.learner.algorithms.adam import Adam

ALIGNMENT = 16
"""Floats: where a parameter begins that need not follow another one, a cache line begins."""
_MOMENTS = ("exp_avg", "exp_avg_sq")


class FlatParameters:
    """Puts parameters into one vector, and takes them back: a context manager, on the learner's main thread.

    Inside, the parameters are views of `weights`, so that every reader of the network sees what was learned.
    Afterwards they are the tensors that they were before, and Adam's state is what torch's own steps would
    have left: checkpoints, averaging and the other path know nothing of vectors.

    Args:
        optimizer: Adam over `blocks`, and nothing else.
        blocks: of the parameters, each once; those of a block follow each other without a gap.
        still: those of them that have no gradient: neither they nor what Adam keeps of them moves.
    """

    def __init__(
        self, optimizer: Adam, blocks: Sequence[Sequence[Tensor]], still: Sequence[Tensor] = ()
    ) -> None:
        self._parameters = [parameter for block in blocks for parameter in block]
        self._homes = [parameter.data for parameter in self._parameters]
        self._places: dict[Tensor, int] = {}
        size = 0
        for block in blocks:
            for parameter in block:
                self._places[parameter] = size
                size += parameter.numel()
            size = -(-size // ALIGNMENT) * ALIGNMENT
        self.weights, self.gradients, self._mean, self._square = torch.zeros(4, size).unbind()
        resting = set(still)
        self._groups = [
            _Group(group, [parameter for parameter in group["params"] if parameter not in resting])
            for group in optimizer.param_groups
        ]
        self._optimizer = optimizer
        self._has_stepped = False

    def __enter__(self) -> Self:
        for parameter, home in zip(self._parameters, self._homes, strict=True):
            view = self.view(self.weights, parameter)
            view.copy_(home)
            parameter.data = view
        for group in self._groups:
            for parameter in group.parameters:
                if state := self._optimizer.state.get(parameter):
                    for moments, key in zip((self._mean, self._square), _MOMENTS, strict=True):
                        self.view(moments, parameter).copy_(state[key])
            self._gather(group)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for parameter, home in zip(self._parameters, self._homes, strict=True):
            home.copy_(parameter.data)
            parameter.data = home
        if not self._has_stepped:
            return
        for group in self._groups:
            for parameter, age in group.ages.items():
                state = self._optimizer.state[parameter]
                if not state:
                    state["step"] = torch.zeros(())
                    state |= {key: torch.empty_like(parameter) for key in _MOMENTS}
                state["step"].copy_(age)
                for moments, key in zip((self._mean, self._square), _MOMENTS, strict=True):
                    state[key].copy_(self.view(moments, parameter))

    def view(self, vector: Tensor, *block: Tensor) -> Tensor:
        """A parameter in one of the vectors, in its shape; several are joined along the first axis."""
        start = self._places[block[0]]
        shape = (sum(parameter.shape[0] for parameter in block), *block[0].shape[1:])
        return vector[start : start + sum(parameter.numel() for parameter in block)].view(shape)

    def step(self, max_norm: float) -> Tensor:
        """Cut the gradients to `max_norm`, as `clip_grad_norm_` does, and take Adam's step along them.

        Returns: their norm before that, a scalar.
        """
        norm = torch.linalg.vector_norm(self.gradients)
        share = max_norm / (float(norm) + 1e-6)
        if share < 1.0:
            self.gradients.mul_(share)
        self._has_stepped = True
        for group in self._groups:
            if not group.weights:
                continue
            for age in group.distinct_ages:
                age.add_(1.0)
            beta1, beta2 = group.settings["betas"]
            # The kernel of `Adam` itself, without its bookkeeping: the same bits.
            torch.ops.aten._fused_adam_(
                group.weights,
                group.gradients,
                group.mean,
                group.square,
                [],
                group.steps,
                lr=group.settings["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=0.0,
                eps=group.settings["eps"],
                amsgrad=False,
                maximize=False,
            )
        return norm

    def _gather(self, group: "_Group") -> None:
        """Cut the vectors into runs of parameters of one group that took equally many steps."""
        state, ages = self._optimizer.state, dict[float, Tensor]()
        runs: list[tuple[int, int, Tensor]] = []
        previous: Tensor | None = None
        moving = set(group.parameters)
        for parameter in self._parameters:
            if parameter not in moving:
                previous = None
                continue
            steps = float(state[parameter]["step"]) if state.get(parameter) else 0.0
            age = group.ages[parameter] = ages.setdefault(steps, torch.tensor(steps))
            start = self._places[parameter]
            end = start + parameter.numel()
            if age is previous:
                # The gap between two blocks is zero and stays so.
                start = runs.pop()[0]
            runs.append((start, end, age))
            previous = age
        group.distinct_ages = list(ages.values())
        group.steps = [age for _, _, age in runs]
        vectors = (self.weights, self.gradients, self._mean, self._square)
        group.weights, group.gradients, group.mean, group.square = (
            [vector[start:end] for start, end, _ in runs] for vector in vectors
        )


@dataclass(slots=True)
class _Group:
    """Parameters of one group of the optimizer that move, and the runs of the vectors that they make up."""

    settings: Mapping[str, Any]
    parameters: Sequence[Tensor]
    ages: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    """Adam's step counts: scalars, the same one for parameters of one age."""
    distinct_ages: list[Tensor] = field(default_factory=list[Tensor])
    steps: list[Tensor] = field(default_factory=list[Tensor])
    """One entry per run of parameters, as in the four lists that follow."""
    weights: list[Tensor] = field(default_factory=list[Tensor])
    gradients: list[Tensor] = field(default_factory=list[Tensor])
    mean: list[Tensor] = field(default_factory=list[Tensor])
    square: list[Tensor] = field(default_factory=list[Tensor])
