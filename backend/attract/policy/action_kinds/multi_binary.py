"""Switches: a Bernoulli distribution for each bit, which is set where that is more probable."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated
from attract.algorithm.distributions import refuse_mask
from attract.policy.action_kinds.kind import ActionKind, Space

if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder


class Bernoulli:
    """n independent bits, 1 with probability sigmoid(logit); bit c has uniform c. Knows no masks."""

    output_names: tuple[str, ...] = ("logits",)

    def __init__(self, num_bits: int) -> None:
        self.num_outputs = num_bits
        self.output_sizes = (num_bits,)
        self.num_draws = num_bits

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N, n] integers 0 or 1, both sums over bits."""
        refuse_mask(action_mask)
        logits = outputs.t().contiguous()
        # log sigmoid(l) = -softplus(-l) for a 1, log(1 - sigmoid(l)) = -softplus(l) for a 0.
        chosen = torch.nn.functional.softplus((1.0 - 2.0 * actions.t()) * logits)
        # H = softplus(l) - l sigmoid(l), the same for l and -l: with -|l| large numbers do not cancel.
        unlikely = -logits.abs()
        entropy = torch.nn.functional.softplus(unlikely) - unlikely * torch.sigmoid(unlikely)
        return -chosen.sum(0), entropy.sum(0)

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., n] int64: 1 where u < sigmoid(logit), in float64."""
        refuse_mask(action_mask)
        return (uniforms.double() < torch.sigmoid(outputs.double())).long()

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., n] int64: 1 where the logit is above 0."""
        refuse_mask(action_mask)
        return (outputs > 0.0).long()

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        """See `evaluate_with_gradient`.

        For each bit, d log p(a) / d l = a - sigmoid(l); d H / d l = -l sigmoid(l) (1 - sigmoid(l)).
        """
        refuse_mask(action_mask)
        bits = actions.t().to(outputs.dtype)
        chosen = torch.nn.functional.softplus((1.0 - 2.0 * bits) * outputs)
        unlikely = -outputs.abs()
        rare = torch.sigmoid(unlikely)
        entropies = (torch.nn.functional.softplus(unlikely) - unlikely * rare).sum(0)

        def gradient(by_log_prob: Tensor, by_entropy: float) -> Tensor:
            found = (bits - torch.sigmoid(outputs)).mul_(by_log_prob)
            if by_entropy != 0.0:
                found.addcmul_(outputs, rare * (1.0 - rare), value=-by_entropy)
            return found

        return Evaluated(chosen.sum(0).neg_(), entropies, gradient)


def _write_action(graph: "GraphBuilder", space: Space, logits: str) -> tuple[int, ...]:
    likely = graph.node("Greater", [logits, graph.constant("action_even", np.float32(0.0))], "action_likely")
    graph.cast(likely, "int32", "action")
    return (int(space["n"]),)


KIND = ActionKind(
    distribution=lambda space: Bernoulli(int(space["n"])),
    action={"dtype": "int32", "meaning": "1 for each bit that is more probable than not"},
    meanings={"logits": "log odds of each bit"},
    write_action=_write_action,
)
