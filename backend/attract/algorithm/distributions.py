"""The protocol of action distributions, stateless objects on the policy's outputs, and shared formulas."""

from typing import Protocol

import torch
from torch import Tensor

MASKED_LOGIT = -1e9
"""Stands for minus infinity: its probability is exactly 0, and 0 * log-probability stays 0 instead of NaN."""


class ActionDistribution(Protocol):
    """Interface of a distribution for learner, evaluation and export; holds no tensors."""

    output_names: tuple[str, ...]
    """Names in the ONNX graph of the parts, one after the other, of what the policy puts out."""
    output_sizes: tuple[int, ...]
    """Numbers per step of each part."""
    num_outputs: int
    """Numbers per step the policy puts out."""
    num_draws: int
    """Uniform numbers per step that `sample` takes."""

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """[N] log-probabilities of the actions and [N] entropies in nats, float32, with gradient.

        Args:
            outputs: [N, num_outputs] float32.
            actions: [N] int64; or [N, components], int64 or, if any is continuous, float32.
            action_mask: [N, logits] bool, True where allowed; None: all are.

        A forbidden action has a log-probability of about -1e9.
        """
        ...

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """Actions, like those of `log_prob_and_entropy`, drawn with [..., num_draws] uniforms in [0, 1)."""
        ...

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """The most probable actions, component by component."""
        ...


def mask_logits(logits: Tensor, action_mask: Tensor | None) -> Tensor:
    """Logits with forbidden actions at `MASKED_LOGIT`.

    Args:
        logits: [..., A] float32.
        action_mask: [..., A] bool, True where allowed; None: all are.
    """
    return logits if action_mask is None else logits.masked_fill(~action_mask, MASKED_LOGIT)


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


def log_probs_and_entropies(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """[N] log-probabilities and [N] entropies from [A, N] logits and [N] int64 actions."""
    log_probs = torch.log_softmax(logits, dim=0)
    chosen = log_probs.gather(0, actions.unsqueeze(0)).squeeze(0)
    return chosen, -(log_probs.exp() * log_probs).sum(0)


def refuse_mask(action_mask: Tensor | None) -> None:
    """Raises: RuntimeError: when there is a mask, of actions that know none."""
    if action_mask is not None:
        raise RuntimeError("expected a mask for discrete choices only, got one for other actions")
