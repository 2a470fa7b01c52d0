"""Averaging of trainers: what one brings to a round, and what all of them take away from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import safetensors.torch
import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.learner.checkpoints.state_tensors import moments_by_name, moments_tensors, within

ADAM_STEP = "/step"
"""How the names of Adam's step counts end; they are no means of anything."""


@dataclass(frozen=True)
class Share:
    """One trainer's part of a round, and the result of one: plain tensors on the CPU, in use nowhere else."""

    weights: Mapping[str, Tensor]
    """Float32 parameters by name."""
    optimizer: Mapping[str, Tensor]
    """Adam's state, `<parameter>/<step, exp_avg, exp_avg_sq>`."""
    gathered: Mapping[str, RunningMoments]
    """By observation entry: what this trainer alone has seen since the last round."""
    common: Mapping[str, RunningMoments] = field(default_factory=dict[str, RunningMoments])
    """What all trainers had seen at the last round; in a result, what they have seen now."""


@dataclass(frozen=True)
class Lineage:
    """What weights come from: trainers of equal lineages left their last round with the same bits."""

    rounds: int = 0
    """Number of completed rounds, including those that it did alone."""
    mark: str = ""
    """Names the result of the last of them."""


@dataclass(frozen=True)
class Round:
    """The result of a round, the same for all of its trainers."""

    share: Share
    lineage: Lineage
    trainers: tuple[int, ...]
    """Ranks of the trainers whose shares are in it."""


@dataclass
class FederatedStatistics:
    """Whose observations the statistics of a trainer are made of; owned by its training state.

    Both parts are kept, so that what was seen before a round is not counted again in the next.
    """

    common: Mapping[str, RunningMoments]
    """By observation entry: what all trainers had seen at the last round, the same everywhere."""
    own: Mapping[str, RunningMoments]
    """What this trainer has seen since."""

    def add(self, moments: Mapping[str, RunningMoments]) -> None:
        """More was seen, by this trainer alone."""
        self.own = {
            key: seen.merge(moments[key]) if key in moments else seen for key, seen in self.own.items()
        }

    def take_in(self, common: Mapping[str, RunningMoments]) -> None:
        """A round is done: what all trainers have seen until now is common."""
        self.common = {key: common[key] for key in self.common}
        self.own = {key: RunningMoments.empty(tuple(seen.mean.shape)) for key, seen in self.own.items()}


def average_shares(shares: Sequence[Share]) -> Share:
    """The average of what each trainer brought.

    Weights and Adam's moments are means, in float64, in the trainers' order: all have played equally many
    episodes since the round before, so all weigh the same. Adam's step counts become the largest: its
    moments are as warm as those of the trainer that made most updates. Moments of observations are merged
    exactly (rule P7): what each saw since the last round counts once.

    Args:
        shares: one per trainer, by rank, all with the same names and shapes.

    Source: McMahan et al. 2017 (arXiv:1602.05629), algorithm 1, with equal n_k.
    """
    first = shares[0]
    gathered = dict(first.gathered)
    for share in shares[1:]:
        gathered = {key: moments.merge(share.gathered[key]) for key, moments in gathered.items()}
    return Share(
        weights={name: _mean([share.weights[name] for share in shares]) for name in first.weights},
        optimizer={
            name: _largest([share.optimizer[name] for share in shares])
            if name.endswith(ADAM_STEP)
            else _mean([share.optimizer[name] for share in shares])
            for name in first.optimizer
        },
        gathered=gathered,
        common={key: known.merge(gathered[key]) for key, known in first.common.items()},
    )


def tensors_of(share: Share) -> dict[str, Tensor]:
    """All tensors of a share, by unique names."""
    parts: dict[str, Mapping[str, Tensor]] = {"weights": share.weights, "optimizer": share.optimizer}
    for part, moments in (("gathered", share.gathered), ("common", share.common)):
        parts[part] = dict(
            item for name, seen in moments.items() for item in moments_tensors(name, seen).items()
        )
    return {f"{part}/{name}": tensor for part, found in parts.items() for name, tensor in found.items()}


def share_of(data: bytes) -> Share:
    """The share whose tensors these are, in safetensors' format. Raises: SafetensorError."""
    tensors = safetensors.torch.load(data)
    return Share(
        within(tensors, "weights/"),
        within(tensors, "optimizer/"),
        moments_by_name(within(tensors, "gathered/")),
        moments_by_name(within(tensors, "common/")),
    )


def is_like(share: Share, other: Share) -> bool:
    """Whether both have the same names and shapes, and can be averaged."""
    shapes, others = (
        {name: tensor.shape for name, tensor in tensors_of(each).items()} for each in (share, other)
    )
    return shapes == others


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    # Added in order, so that all round alike.
    total = sum((tensor.double() for tensor in tensors[1:]), tensors[0].double())
    return (total / len(tensors)).to(tensors[0].dtype)


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).amax(0)
