"""Real numbers: a diagonal Gaussian in the unit space of the game's box; the action is its mean."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attract.algorithm.distribution_gradients import Evaluated
from attract.algorithm.distributions import refuse_mask
from attract.errors import ConfigurationError
from attract.policy.action_kinds.kind import ActionKind, Space

if TYPE_CHECKING:
    from attract.policy.graph_builder import GraphBuilder

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
"""Constant in the logarithm of a normal density."""


class DiagonalGaussian:
    """Independent normal numbers in unit space, where -1 and 1 stand for the bounds of the game's box.

    The outputs are the means and then the logarithms of the standard deviations. Actions are kept, and their
    density is taken, as they were sampled; only what the game gets is clipped (rule P6). Knows no masks.
    """

    output_names: tuple[str, ...] = ("mean", "log_std")

    def __init__(self, size: int) -> None:
        self.num_outputs = 2 * size
        self.output_sizes = (size, size)
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

    def with_gradient(self, outputs: Tensor, actions: Tensor, action_mask: Tensor | None) -> Evaluated:
        """See `evaluate_with_gradient`.

        With e = (a - mean) / std: d log p / d mean = e / std, d log p / d log std = e^2 - 1.

        d H / d log std = 1.
        """
        refuse_mask(action_mask)
        size = self.num_outputs // 2
        mean, log_std = outputs[:size], outputs[size:]
        inverse = torch.exp(-log_std)
        deviations = (actions.t() - mean).mul_(inverse)
        squares = deviations.square()
        spread = log_std.sum(0)
        constant = size * HALF_LOG_TWO_PI

        def gradient(by_log_prob: Tensor, by_entropy: float) -> Tensor:
            by_mean = deviations * inverse * by_log_prob
            return torch.cat((by_mean, (squares - 1.0).mul_(by_log_prob).add_(by_entropy)))

        log_probs = squares.sum(0).mul_(-0.5).sub_(spread).sub_(constant)
        return Evaluated(log_probs, spread + (0.5 * size + constant), gradient)


def _distribution(space: Space) -> DiagonalGaussian:
    if space.get("dtype", "float32") != "float32" or space.get("low") is None or space.get("high") is None:
        raise ConfigurationError(
            f"box actions of dtype {space.get('dtype')!r} from {space.get('low')!r} to {space.get('high')!r}",
            setting="game.action",
            fix="continuous actions are float32 with both bounds: the policy acts in units of their range",
        )
    return DiagonalGaussian(math.prod(space["shape"]))


def _write_action(graph: "GraphBuilder", space: Space, _logits: str) -> tuple[int, ...]:
    write_numbers(graph, space, "action")
    return (math.prod(space["shape"]),)


def write_numbers(graph: "GraphBuilder", space: Space, output: str) -> str:
    """Adds the nodes of the means in the game's units; returns `output`, [batch, size]."""
    low, high = (bound_of(space, name) for name in ("low", "high"))
    bounds = [
        graph.constant(f"action_unit_{name}", np.float32(bound))
        for name, bound in (("low", -1.0), ("high", 1.0))
    ]
    clipped = graph.node("Clip", ["mean", *bounds], "action_clipped")
    raised = graph.node("Add", [clipped, bounds[1]], "action_raised")
    half = graph.constant("action_half_range", ((high - low) / 2.0).astype(np.float32))
    scaled = graph.node("Mul", [raised, half], "action_scaled")
    return graph.node("Add", [scaled, graph.constant("action_low", low.astype(np.float32))], output)


def bound_of(space: Space, name: str) -> np.ndarray:
    """[size] float64, one bound per component."""
    size = int(np.prod(space["shape"], dtype=np.int64))
    return np.broadcast_to(np.asarray(space[name], np.float64), (size,))


KIND = ActionKind(
    distribution=_distribution,
    action={
        "dtype": "float32",
        "meaning": "mean in the game's units: low + (clip(mean, -1, 1) + 1) / 2 * (high - low), flat",
    },
    meanings={
        "mean": "in unit space, where -1 and 1 stand for low and high",
        "log_std": "logarithm of the standard deviation, in unit space",
    },
    write_action=_write_action,
)
