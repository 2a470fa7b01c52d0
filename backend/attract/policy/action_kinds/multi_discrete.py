"""Several choices at once: a categorical distribution for each, and the most probable choice of each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated, choice_with_gradient, without_forbidden
from attract.algorithm.distributions import categorical_sample, log_probs_and_entropies, mask_logits
from attract.policy.action_kinds.kind import ActionKind, Space

if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder


class MultiCategorical:
    """Independent integers in [0, nvec[c]), from their logits in turn; component c has uniform c."""

    output_names: tuple[str, ...] = ("logits",)

    def __init__(self, nvec: Sequence[int]) -> None:
        self.nvec = list(nvec)
        self.num_outputs = sum(nvec)
        self.output_sizes = (self.num_outputs,)
        self.num_draws = len(nvec)

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N, components] int64, both sums over components."""
        logits = mask_logits(outputs, action_mask).t().contiguous().split(self.nvec)
        parts = [
            log_probs_and_entropies(part, chosen)
            for part, chosen in zip(logits, actions.t().contiguous(), strict=True)
        ]
        first, second = (torch.stack(column).sum(0) for column in zip(*parts, strict=True))
        return first, second

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., components] int64; see `categorical_sample`."""
        parts = mask_logits(outputs, action_mask).split(self.nvec, -1)
        return torch.stack(
            [categorical_sample(part, uniforms[..., place]) for place, part in enumerate(parts)], -1
        )

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., components] int64, of each the first of its largest logits."""
        parts = mask_logits(outputs, action_mask).split(self.nvec, -1)
        return torch.stack([part.argmax(-1) for part in parts], -1)

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        logits = outputs if action_mask is None else mask_logits(outputs, action_mask.t())
        choices = [
            choice_with_gradient(part, chosen.unsqueeze(0))
            for part, chosen in zip(logits.split(self.nvec), actions.t(), strict=True)
        ]
        evaluated = Evaluated(
            torch.stack([choice.log_probs for choice in choices]).sum(0),
            torch.stack([choice.entropies for choice in choices]).sum(0),
            lambda by_log_prob, by_entropy: torch.cat(
                [choice.gradient(by_log_prob, by_entropy) for choice in choices]
            ),
        )
        return evaluated if action_mask is None else without_forbidden(evaluated, ~action_mask.t())


def _write_action(graph: "GraphBuilder", space: Space, logits: str) -> tuple[int, ...]:
    nvec = list(space["nvec"])
    graph.cast(write_choices(graph, nvec, logits), "int32", "action")
    return (len(nvec),)


def write_choices(graph: "GraphBuilder", nvec: list[int], logits: str) -> str:
    """Adds the nodes of each component's most probable choice; returns their name, [batch, components]."""
    # Not `GraphBuilder.split`, whose names are those of the policy's own nodes.
    names = [f"action_logits_{place}" for place in range(len(nvec))]
    parts = graph.add("Split", [logits], names, "action_split", axis=1, split=nvec)
    indices = [
        graph.node("ArgMax", [part], f"action_index_{place}", axis=1, keepdims=1)
        for place, part in enumerate(parts)
    ]
    return graph.join(indices, "action_indices")


KIND = ActionKind(
    distribution=lambda space: MultiCategorical([int(n) for n in space["nvec"]]),
    action={"dtype": "int32", "meaning": "most probable choice of each component"},
    meanings={"logits": "logarithms of the choices' weights, component after component"},
    write_action=_write_action,
)
