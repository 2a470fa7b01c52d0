"""Named choices and boxes in one action: the product of what `multi_discrete` and `box` are."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated
from attract.policy.action_kinds import box, multi_discrete
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.kind import ActionKind, Space
from attract.policy.action_kinds.multi_discrete import MultiCategorical

if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder


class Mixed:
    """Independent choices and normal numbers; of outputs, draws and actions the choices' come first."""

    output_names: tuple[str, ...] = (*MultiCategorical.output_names, *DiagonalGaussian.output_names)

    def __init__(self, choices: MultiCategorical, numbers: DiagonalGaussian) -> None:
        self.choices, self.numbers = choices, numbers
        self.output_sizes = (*choices.output_sizes, *numbers.output_sizes)
        self.num_outputs = choices.num_outputs + numbers.num_outputs
        self.num_draws = choices.num_draws + numbers.num_draws
        self._outputs = [choices.num_outputs, numbers.num_outputs]
        self._draws = [choices.num_draws, numbers.num_draws]

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N, components] float32, both sums over components."""
        of_choices, of_numbers = outputs.split(self._outputs, -1)
        chosen, moved = self._parts(actions)
        one = self.choices.log_prob_and_entropy(of_choices, chosen, action_mask)
        other = self.numbers.log_prob_and_entropy(of_numbers, moved)
        return one[0] + other[0], one[1] + other[1]

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., components] float32."""
        of_choices, of_numbers = outputs.split(self._outputs, -1)
        for_choices, for_numbers = uniforms.split(self._draws, -1)
        chosen = self.choices.sample(of_choices, for_choices, action_mask)
        return torch.cat((chosen.float(), self.numbers.sample(of_numbers, for_numbers)), -1)

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., components] float32: the likeliest choices and the means."""
        of_choices, of_numbers = outputs.split(self._outputs, -1)
        return torch.cat(
            (self.choices.mode(of_choices, action_mask).float(), self.numbers.mode(of_numbers)), -1
        )

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        of_choices, of_numbers = outputs.split(self._outputs)
        chosen, moved = self._parts(actions)
        one = self.choices.with_gradient(of_choices, chosen, action_mask)
        other = self.numbers.with_gradient(of_numbers, moved, None)
        return Evaluated(
            one.log_probs + other.log_probs,
            one.entropies + other.entropies,
            lambda by_log_prob, by_entropy: torch.cat(
                (one.gradient(by_log_prob, by_entropy), other.gradient(by_log_prob, by_entropy))
            ),
        )

    def _parts(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        count = len(self.choices.nvec)
        return actions[..., :count].long(), actions[..., count:]


def _parts_of(space: Space) -> tuple[list[int], dict[str, Any]]:
    """Choices of each component, and all boxes as one, each by the sorted names of the parts."""
    parts: list[Space] = [part for _, part in sorted(space["spaces"].items())]
    boxes = [part for part in parts if part["kind"] == "box"]
    nvec = [int(n) for part in parts if part["kind"] != "box" for n in part.get("nvec") or [part["n"]]]
    low, high = (np.concatenate([box.bound_of(own, name) for own in boxes]) for name in ("low", "high"))
    return nvec, {"shape": [len(low)], "low": low, "high": high}


def _distribution(space: Space) -> Mixed:
    nvec, numbers = _parts_of(space)
    return Mixed(MultiCategorical(nvec), DiagonalGaussian(numbers["shape"][0]))


def _write_action(graph: "GraphBuilder", space: Space, logits: str) -> tuple[int, ...]:
    nvec, numbers = _parts_of(space)
    chosen = multi_discrete.write_choices(graph, nvec, logits)
    moved = box.write_numbers(graph, numbers, "action_numbers")
    graph.join([graph.cast(chosen, "float32"), moved], "action")
    return (len(nvec) + numbers["shape"][0],)


KIND = ActionKind(
    distribution=_distribution,
    action={
        "dtype": "float32",
        "meaning": "most probable choice of each component, then the means in the game's units; "
        "parts by sorted name, those with choices before boxes",
    },
    meanings={**multi_discrete.KIND.meanings, **box.KIND.meanings},
    write_action=_write_action,
)
