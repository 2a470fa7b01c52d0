"""Action distributions as stateless objects on the policy's outputs; with the worker's own formulas."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from attract.errors import ConfigurationError

MASKED_LOGIT = -1e9
"""Stands for minus infinity: its probability is exactly 0, and 0 * log-probability stays 0 instead of NaN."""


class ActionDistribution(Protocol):
    """What the learner, the evaluation and the export need of a distribution; holds no tensors."""

    output_name: str
    """Name of the policy's output in the ONNX graph."""
    num_outputs: int
    """Numbers per step the policy puts out."""

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[N] log-probabilities of the actions and [N] entropies in nats, float32, with gradient."""
        ...

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """Actions drawn with the given uniforms in [0, 1)."""
        ...

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """The most probable actions."""
        ...


def mask_logits(logits: Tensor, action_mask: Tensor | None) -> Tensor:
    """Logits with forbidden actions at `MASKED_LOGIT`.

    Args:
        logits: [..., A] float32.
        action_mask: [..., A] bool, True where allowed; None: all are.
    """
    return logits if action_mask is None else logits.masked_fill(~action_mask, MASKED_LOGIT)


def categorical_log_prob(logits: Tensor, actions: Tensor, action_mask: Tensor | None = None) -> Tensor:
    """Log-probabilities, log softmax(logits)[action].

    Args:
        logits: [..., A] float32.
        actions: [...] integer in [0, A).
        action_mask: [..., A] bool, True where allowed.

    Returns: [...] float32, about -1e9 for a forbidden action.
    """
    log_probs = torch.log_softmax(mask_logits(logits, action_mask), dim=-1)
    return log_probs.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)


def categorical_entropy(logits: Tensor, action_mask: Tensor | None = None) -> Tensor:
    """- sum_a p_a log p_a in nats over the allowed actions; [...] float32 from [..., A]."""
    log_probs = torch.log_softmax(mask_logits(logits, action_mask), dim=-1)
    return -(log_probs.exp() * log_probs).sum(-1)


def categorical_sample(logits: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
    """The smallest a whose cumulative weight exceeds u times the total weight (inverse CDF).

    w_a = exp(logit_a - max logit) and its running sum in float64, from the float32 logits, in order of a;
    the same rule as the worker's sampler (C5, C9). A forbidden action weighs 0 and is never drawn.

    Args:
        logits: [..., A] float32.
        uniforms: [...] float, in [0, 1).
        action_mask: [..., A] bool, True where allowed.

    Returns: [...] int64.
    """
    masked = mask_logits(logits, action_mask).double()
    cumulative = torch.cumsum(torch.exp(masked - masked.amax(-1, keepdim=True)), dim=-1)
    thresholds = uniforms.double().unsqueeze(-1) * cumulative[..., -1:]
    return (cumulative <= thresholds).sum(-1)


class Categorical:
    """One integer in [0, n), from n logits."""

    output_name = "logits"

    def __init__(self, num_actions: int) -> None:
        self.num_outputs = num_actions

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[N] log-probabilities and [N] entropies from [N, A] logits and [N] int64 actions."""
        # [A, N]: with few actions torch's softmax and sum are several times faster along the first axis.
        log_probs = torch.log_softmax(mask_logits(outputs, action_mask).t().contiguous(), dim=0)
        chosen = log_probs.gather(0, actions.unsqueeze(0)).squeeze(0)
        return chosen, -(log_probs.exp() * log_probs).sum(0)

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """See `categorical_sample`."""
        return categorical_sample(outputs, uniforms, action_mask)

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[...] int64, the first of the largest logits."""
        return mask_logits(outputs, action_mask).argmax(-1)


def resolve_distribution(action_space: Mapping[str, Any]) -> ActionDistribution:
    """The distribution for an action space as JSON (`{"kind": "discrete", "n": 2, ...}`).

    Raises: ConfigurationError: for a kind no policy is built for, naming those there are.
    """
    kind = action_space.get("kind")
    if kind == "discrete":
        return Categorical(int(action_space["n"]))
    raise ConfigurationError(
        f"no policy for actions of kind {kind!r}",
        setting="game.action",
        fix="kinds that can be trained: 'discrete'",
    )
