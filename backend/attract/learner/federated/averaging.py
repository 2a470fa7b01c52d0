"""Federated averaging: what one trainer brings to a round, and what all of them take away from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments

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


class FederatedAveraging(Protocol):
    """N trainers that become their average; used by the learner's main thread alone."""

    def join(self, share: Share) -> Round:
        """Begin together: all trainers get the weights of the first. Only for new runs.

        Raises: FederationError: when another trainer does not come, or is of another kind.
        """
        ...

    def average(self, share: Share, lineage: Lineage) -> Round:
        """The next round: the average of all that take part, bit-identical for each of them.

        Trainers that are gone or late are left out. A trainer of another lineage contributes nothing, and
        takes over the weights of the others. If this trainer is alone there: its own share.

        Raises: FederationError: when this trainer is of another kind than the others.
        """
        ...

    def leave(self) -> None:
        """Leave in good order: the others get a message, and go on without this one."""
        ...

    def close(self) -> None:
        """Hang up; without `leave` before it, the others notice after a while."""
        ...


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


def to_vector(share: Share) -> Tensor:
    """All numbers of a share as one [n] float64 vector, by sorted name; exact for float32."""
    parts = [share.weights[name] for name in sorted(share.weights)]
    parts += [share.optimizer[name] for name in sorted(share.optimizer)]
    for seen in (share.gathered, share.common):
        for _, moments in sorted(seen.items()):
            parts += [torch.tensor([moments.count]), moments.mean, moments.squared_deviations]
    return torch.cat([part.detach().to("cpu", torch.float64).reshape(-1) for part in parts])


def from_vector(vector: Tensor, like: Share) -> Share:
    """The share that `to_vector` made `vector` of; names and shapes are those of `like`."""
    at = 0

    def take(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        nonlocal at
        size = int(torch.Size(shape).numel())
        part = vector[at : at + size].reshape(tuple(shape)).to(dtype)
        at += size
        return part.clone()

    weights = {
        name: take(like.weights[name].shape, like.weights[name].dtype) for name in sorted(like.weights)
    }
    optimizer = {
        name: take(like.optimizer[name].shape, like.optimizer[name].dtype) for name in sorted(like.optimizer)
    }

    def take_moments(like: Mapping[str, RunningMoments]) -> dict[str, RunningMoments]:
        found: dict[str, RunningMoments] = {}
        for key, moments in sorted(like.items()):
            count = float(take((1,), torch.float64))
            mean = take(moments.mean.shape, torch.float64)
            found[key] = RunningMoments(count, mean, take(moments.mean.shape, torch.float64))
        return found

    return Share(weights, optimizer, take_moments(like.gathered), take_moments(like.common))


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0].double()
    for tensor in tensors[1:]:
        total = total + tensor.double()
    return (total / len(tensors)).to(tensors[0].dtype)


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).amax(0)
