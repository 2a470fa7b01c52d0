"""One choice: a categorical distribution, and the most probable action as the model's output."""

from typing import TYPE_CHECKING

from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated, choice_with_gradient, without_forbidden
from attract.algorithm.distributions import categorical_sample, log_probs_and_entropies, mask_logits
from attract.policy.action_kinds.kind import ActionKind, Space

if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder


class Categorical:
    """One integer in [0, n), from n logits; drawn with one uniform."""

    output_names: tuple[str, ...] = ("logits",)
    num_draws = 1

    def __init__(self, num_actions: int) -> None:
        self.num_outputs = num_actions
        self.output_sizes = (num_actions,)

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N] int64."""
        # [A, N]: with few actions torch's softmax and sum are several times faster along the first axis.
        return log_probs_and_entropies(mask_logits(outputs, action_mask).t().contiguous(), actions)

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[...] int64 from [..., 1] uniforms; see `categorical_sample`."""
        return categorical_sample(outputs, uniforms.squeeze(-1), action_mask)

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[...] int64, the first of the largest logits."""
        return mask_logits(outputs, action_mask).argmax(-1)

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        if action_mask is None:
            return choice_with_gradient(outputs, actions.unsqueeze(0))
        masked = mask_logits(outputs, action_mask.t())
        return without_forbidden(choice_with_gradient(masked, actions.unsqueeze(0)), ~action_mask.t())


def _write_action(graph: "GraphBuilder", space: Space, logits: str) -> tuple[int, ...]:
    index = graph.node("ArgMax", [logits], "action_index", axis=-1, keepdims=0)
    # int32, because an int64 output arrives in JavaScript as BigInt.
    graph.cast(index, "int32", "action")
    return ()


KIND = ActionKind(
    distribution=lambda space: Categorical(int(space["n"])),
    action={"dtype": "int32", "meaning": "most probable action"},
    meanings={"logits": "logarithms of the actions' weights"},
    write_action=_write_action,
)
