"""Action distributions as stateless objects on the policy's outputs; with the worker's own formulas."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from attract.errors import ConfigurationError

MASKED_LOGIT = -1e9
"""Stands for minus infinity: its probability is exactly 0, and 0 * log-probability stays 0 instead of NaN."""


class ActionDistribution(Protocol):
    """What the learner, the evaluation and the export need of a distribution; holds no tensors."""

    output_names: tuple[str, ...]
    """Names in the ONNX graph of the equal parts, one after the other, of what the policy puts out."""
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
            actions: [N] int64; or [N, components], int64 or, if continuous, float32.
            action_mask: [N, num_outputs] bool, True where allowed; None: all are.

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


class Categorical:
    """One integer in [0, n), from n logits; drawn with one uniform."""

    output_names: tuple[str, ...] = ("logits",)
    num_draws = 1

    def __init__(self, num_actions: int) -> None:
        self.num_outputs = num_actions

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N] int64."""
        # [A, N]: with few actions torch's softmax and sum are several times faster along the first axis.
        return _categorical_columns(mask_logits(outputs, action_mask).t().contiguous(), actions)

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[...] int64 from [..., 1] uniforms; see `categorical_sample`."""
        return categorical_sample(outputs, uniforms.squeeze(-1), action_mask)

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[...] int64, the first of the largest logits."""
        return mask_logits(outputs, action_mask).argmax(-1)


class MultiCategorical:
    """Independent integers in [0, nvec[c]), from their logits in turn; component c has uniform c."""

    output_names: tuple[str, ...] = ("logits",)

    def __init__(self, nvec: Sequence[int]) -> None:
        self.nvec = list(nvec)
        self.num_outputs = sum(nvec)
        self.num_draws = len(nvec)

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N, components] int64, both sums over components."""
        logits = mask_logits(outputs, action_mask).t().contiguous().split(self.nvec)
        parts = [
            _categorical_columns(part, chosen)
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


class Bernoulli:
    """n independent bits, 1 with probability sigmoid(logit); bit c has uniform c. Knows no masks."""

    output_names: tuple[str, ...] = ("logits",)

    def __init__(self, num_bits: int) -> None:
        self.num_outputs = num_bits
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


class DiagonalGaussian:
    """Independent normal numbers in unit space, where -1 and 1 stand for the bounds of the game's box.

    The outputs are the means and then the logarithms of the standard deviations. Actions are kept, and their
    density is taken, as they were sampled; only what the game gets is clipped (rule P6). Knows no masks.
    """

    output_names: tuple[str, ...] = ("mean", "log_std")

    def __init__(self, size: int) -> None:
        self.num_outputs = 2 * size
        self.num_draws = 2 * size

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `ActionDistribution`; `actions` are [N, size] float32, both sums over components.

        log N(a) = -((a - mean) / std)^2 / 2 - log std - log(2 pi) / 2; entropy log std + (1 + log(2 pi)) / 2.
        """
        refuse_mask(action_mask)
        mean, log_std = outputs.t().contiguous().chunk(2)
        deviations = (actions.t() - mean) * torch.exp(-log_std)
        spread = log_std.sum(0)
        size = mean.shape[0]
        log_probs = -0.5 * deviations.square().sum(0) - spread - size * HALF_LOG_TWO_PI
        return log_probs, spread + size * (0.5 + HALF_LOG_TWO_PI)

    def sample(self, outputs: Tensor, uniforms: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., size] float32: mean + std z, z by Box and Muller (1958), in float64.

        z = sqrt(-2 ln(1 - u)) cos(2 pi u') with the uniforms of draws 2 c and 2 c + 1 for component c.
        """
        refuse_mask(action_mask)
        mean, log_std = outputs.double().chunk(2, -1)
        pairs = uniforms.double().unflatten(-1, (-1, 2))
        radius = torch.sqrt(-2.0 * torch.log1p(-pairs[..., 0]))
        return (mean + torch.exp(log_std) * (radius * torch.cos(2.0 * math.pi * pairs[..., 1]))).float()

    def mode(self, outputs: Tensor, action_mask: Tensor | None = None) -> Tensor:
        """[..., size] float32: the means, not clipped."""
        refuse_mask(action_mask)
        return outputs.chunk(2, -1)[0]


HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
"""Of the logarithm of a normal density."""


def resolve_distribution(action_space: Mapping[str, Any]) -> ActionDistribution:
    """The distribution for an action space as JSON (`{"kind": "discrete", "n": 2, ...}`).

    Raises: ConfigurationError: for a kind no policy is built for, naming those there are; for a box that is
        not float32 or has no bounds.
    """
    kind = action_space.get("kind")
    builder = _BUILDERS.get(str(kind))
    if builder is None:
        raise ConfigurationError(
            f"no policy for actions of kind {kind!r}",
            setting="game.action",
            fix=f"kinds that can be trained: {', '.join(repr(name) for name in _BUILDERS)}",
        )
    return builder(action_space)


def _gaussian(space: Mapping[str, Any]) -> DiagonalGaussian:
    if space.get("dtype", "float32") != "float32" or space.get("low") is None or space.get("high") is None:
        raise ConfigurationError(
            f"box actions of dtype {space.get('dtype')!r} from {space.get('low')!r} to {space.get('high')!r}",
            setting="game.action",
            fix="continuous actions are float32 with both bounds: the policy acts in units of their range",
        )
    return DiagonalGaussian(math.prod(space["shape"]))


_BUILDERS: dict[str, Callable[[Mapping[str, Any]], ActionDistribution]] = {
    "discrete": lambda space: Categorical(int(space["n"])),
    "multi_discrete": lambda space: MultiCategorical([int(n) for n in space["nvec"]]),
    "multi_binary": lambda space: Bernoulli(int(space["n"])),
    "box": _gaussian,
}


def _categorical_columns(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """[N] log-probabilities and [N] entropies from [A, N] logits and [N] int64 actions."""
    log_probs = torch.log_softmax(logits, dim=0)
    chosen = log_probs.gather(0, actions.unsqueeze(0)).squeeze(0)
    return chosen, -(log_probs.exp() * log_probs).sum(0)


def refuse_mask(action_mask: Tensor | None) -> None:
    """Raises: RuntimeError: when there is a mask, of actions that know none."""
    if action_mask is not None:
        raise RuntimeError("expected a mask for discrete choices only, got one for other actions")
