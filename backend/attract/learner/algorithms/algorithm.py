"""The seam: all that the learner's process, policies, checkpoints and averaging know of an algorithm."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.policy.network import Policy
from attract.schema.philox import derive_seed

ALGORITHM_PREFIXES = ("return_statistics", "exploration.", "values.")
"""Prefixes of the tensors and moments that algorithms and wrappers keep beside the network's."""

ExtraLoss = Callable[[torch.Generator], Tensor]
"""A term that is added to the loss of each minibatch; its generator is the update's own."""


@dataclass(frozen=True, slots=True)
class Learnable:
    """One policy of a run, as an algorithm gets it."""

    policy: Policy
    """Already on its device; only the algorithm changes its parameters, in place."""
    distribution: ActionDistribution
    seed: int
    """Seed of the run."""
    policy_id: str | None = None
    """Name of one policy among several; None: the sole one."""
    num_agents: int = 1
    """Number of agents in one game, whatever their policies."""

    @property
    def device(self) -> torch.device:
        """Device of the policy."""
        return next(self.policy.parameters()).device

    def generator(self, stream: str) -> torch.Generator:
        """A CPU generator of a stream of this policy's own; the same seed and names give the same numbers."""
        own = "" if self.policy_id is None else f"/{self.policy_id}"
        return torch.Generator().manual_seed(stream_seed(self.seed, f"{stream}{own}"))


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run before an update: the input of schedules (rule P10)."""

    policy_version: int = 0
    agent_steps: int = 0
    schedule_steps: int | None = None
    """None: schedules are constant."""
    is_awaited: Callable[[], bool] = field(default=lambda: False, compare=False)
    """Whether the next batch is full by now and waits for this update, as it may in `async`."""


@dataclass(frozen=True, slots=True)
class Report:
    """Result of one update of one policy."""

    metrics: Mapping[str, float]
    """The policy's own, under the names that dashboards and TensorBoard show."""
    shared_metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """The same for all policies of a run: scheduled hyperparameters."""
    entropy: float | None = None
    """Entropy of the action distribution before the update, nats, mean over the steps learned from; None:
    the algorithm does not compute it."""

    def with_metrics(self, more: Mapping[str, float]) -> Self:
        """The same with more metrics of the policy's own."""
        return replace(self, metrics={**self.metrics, **more})


@dataclass(frozen=True, slots=True)
class AlgorithmState:
    """State of an algorithm between two updates, besides the policy's weights and `moments`. Not copied."""

    tensors: Mapping[str, Tensor]
    """By their names in a checkpoint, each of which begins with one of `ALGORITHM_PREFIXES`."""
    optimizer: Mapping[str, Tensor]
    """By `<parameter>/<key>`: what averaging averages. Empty before the first update."""
    document: Mapping[str, Any]
    """JSON values."""


class Algorithm(Protocol):
    """The algorithm of one policy: state besides the network, and updates. On the learner's main thread.

    An update takes place within `undone_on_failure`; what its batch adds to running statistics counts from
    `commit` on.
    """

    @property
    def moments(self) -> Mapping[str, RunningMoments]:
        """Running moments besides those of observations, by their name in a checkpoint.

        Trainers that average with each other merge them, so they are replaced from outside; the keys stay.
        """
        ...

    @moments.setter
    def moments(self, moments: Mapping[str, RunningMoments]) -> None: ...

    @property
    def uses_log_probs(self) -> bool:
        """Whether it learns from the log-probabilities of a batch: then rule C7 compares those of workers."""
        ...

    def can_learn_from(self, batch: Batch) -> bool:
        """Whether any of its steps is learned from."""
        ...

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        """One update from verified segments.

        Args:
            batch: with at least one step to learn from.
            progress: before the update.
            extra_loss: what a wrapper adds to the loss of each minibatch.

        Raises: NonFiniteUpdateError: a number is not finite; the update is half done, as after any other
            exception.
        """
        ...

    def commit(self) -> Mapping[str, RunningMoments]:
        """The last update counts, if there was one since the last call.

        Returns: what its batch adds to `moments`, by the same keys; the caller merges it.
        """
        ...

    def snapshot(self) -> Callable[[], None]:
        """A function that undoes all later changes to the policy's weights and to its own state."""
        ...

    def state(self) -> AlgorithmState:
        """For a checkpoint, or for an average with other trainers."""
        ...

    def load_state(self, state: AlgorithmState) -> None:
        """Take over a state, whose mappings may hold more than is its own (rule D2).

        Raises: KeyError, TypeError, ValueError, RuntimeError: when something of it is missing or spoilt.
        """
        ...


@contextmanager
def undone_on_failure(*algorithms: Algorithm) -> Generator[None]:
    """Whatever the block changes of these algorithms and their policies is undone if it fails (rule P8)."""
    undo = [algorithm.snapshot() for algorithm in algorithms]
    try:
        yield
    except BaseException:
        for restore in undo:
            restore()
        raise


@runtime_checkable
class HasExperience(Protocol):
    """An `Algorithm` that draws from experience of many updates, which outlives the learner on request."""

    @property
    def save_minutes(self) -> float | None:
        """Minutes between two saves of its experience; None: it is never saved."""
        ...

    def experience(self) -> tuple[Mapping[str, Tensor], dict[str, Any]]:
        """Its experience as tensors on the CPU and JSON values. Not copied."""
        ...

    def restore_experience(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> int:
        """Take over what `experience` gave, before the first update.

        Returns: how many steps can be learned from.
        Raises: KeyError, TypeError, ValueError, RuntimeError: it does not fit; nothing was taken over.
        """
        ...


@dataclass(frozen=True, slots=True)
class AlgorithmChoice:
    """An algorithm with its settings, ready to be made for each policy of a run."""

    name: str
    normalize_observations: bool
    """Whether its policies carry observation normalisers (rule P7)."""
    create: Callable[[Learnable], Algorithm]
    """The algorithm for one policy, at version 0; the same seed gives the same bits."""
    resume_note: str | None = None
    """What a resumed run is without, a sentence, unless it was saved as `HasExperience`; None: nothing."""


def run_metrics(reports: Mapping[str, Report], *, is_sole: bool) -> dict[str, float]:
    """Metrics of an update about the policies that it changed, by policy id.

    Args:
        reports: of each policy that was updated.
        is_sole: whether the run has one policy, whose names stay plain; else they are `<name>/<policy id>`.
    """
    found: dict[str, float] = {}
    for report in reports.values():
        found |= report.shared_metrics
    for policy_id, report in reports.items():
        own = "" if is_sole else f"/{policy_id}"
        found |= {f"{name}{own}": value for name, value in report.metrics.items()}
    return found


def stream_seed(run_seed: int, name: str) -> int:
    """64 bits for a named stream of a run."""
    seed = derive_seed(run_seed, name)
    return seed.low | seed.high << 32
