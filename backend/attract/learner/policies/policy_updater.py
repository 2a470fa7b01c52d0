"""One policy of a run in training: what its rows are judged by, and its part of an update (rules C7, P7)."""

from collections.abc import Collection, Mapping
from typing import Literal

from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Progress, Report
from attract.learner.group.cells import SINGLE_PROCESS, LearnerGroup
from attract.learner.group.moments import merged
from attract.learner.policies.policy_state import PolicyState
from attract.learner.verification import VersionHistory, verify
from attract.schema.learner import RejectedRow


class PolicyUpdater:
    """Sole user of one policy's state; gets that policy's rows alone. On the learner's main thread.

    Args:
        state: changed in place.
        distribution: how the network's outputs become actions.
        num_versions: how many versions are remembered, to judge late segments by: `max_policy_lag` + 1.
        group: of learners that normalise by what all of them see.
    """

    def __init__(
        self,
        state: PolicyState,
        distribution: ActionDistribution,
        num_versions: int,
        group: LearnerGroup = SINGLE_PROCESS,
    ) -> None:
        self.state = state
        self._group = group
        self._history = VersionHistory(state.policy, distribution, num_versions)
        self._suspects: set[int] = set()
        """Workers that had a segment refused."""

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep the state dict that plays as that version."""
        self._history.remember(policy_version, state)

    def verify(
        self, batch: Batch, verify_rows: Collection[int], *, extent: Literal["sample", "all"]
    ) -> tuple[Batch, list[RejectedRow]]:
        """Rule C7; without trust all rows are recomputed, and the batch returned has our own numbers.

        After one refused row of a worker, all its rows of this batch and of later ones are recomputed.
        """
        worker_of = dict(zip(batch.rows, batch.worker_id.tolist(), strict=True))
        version_of = dict(zip(batch.rows, batch.policy_version.tolist(), strict=True))
        rows = set(batch.rows)
        wanted = rows.intersection(verify_rows) if extent == "sample" else rows
        batch, refused = self._verified(batch, wanted, replace_numbers=extent == "all")
        # A version that is not known here any more is no fault of the worker's.
        self._suspects |= {worker_of[row] for row in refused if version_of[row] in self._history}
        if extent == "sample":
            rest = {row for row in batch.rows if worker_of[row] in self._suspects} - wanted
            batch, more = self._verified(batch, rest, replace_numbers=False)
            refused |= more
        rejected = [
            RejectedRow(row=row, largest_difference=by, is_blamed=version_of[row] in self._history)
            for row, by in refused.items()
        ]
        return batch, rejected

    def _verified(
        self, batch: Batch, wanted: Collection[int], *, replace_numbers: bool
    ) -> tuple[Batch, dict[int, float]]:
        tolerance = self.state.tolerance
        return verify(batch, wanted, self._history, tolerance, replace_numbers=replace_numbers)

    def update(self, batch: Batch, progress: Progress) -> Report:
        """One update on verified rows; `progress` is that before it.

        Raises: NonFiniteUpdateError: the update was undone (rule P8).
        """
        return self.state.algorithm.update(batch.at_version(progress.policy_version), progress)

    def gather(self, batch: Batch) -> None:
        """Let the next version normalise by this batch too (rules P7, P11).

        Args:
            batch: of a warm-up, or that of the last update, which succeeded.
        """
        observed = {
            key: RunningMoments.of(batch.observation[key], batch.valid)
            for key in self.state.observation_statistics
        }
        self.state.gather(merged(self._group, observed))
