"""One policy of a run in training: what its rows are judged by, and its part of an update (rules C7, P7)."""

from collections.abc import Collection, Mapping

from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.policy_state import PolicyState
from attract.learner.report import UpdateRates, UpdateReport
from attract.learner.update import ppo_update
from attract.learner.update_batch import UpdateBatch
from attract.learner.verification import VersionHistory, verify
from attract.ppo_settings import PpoSettings
from attract.schema.learner import RejectedRow


class PolicyTrainer:
    """Sole user of one policy's state; hears of that policy's rows alone. On the learner's main thread.

    Args:
        state: changed in place.
        distribution: how the network's outputs become actions.
        ppo: of the run.
        num_versions: how many versions are remembered, to judge late segments by: `max_policy_lag` + 1.
    """

    def __init__(
        self, state: PolicyState, distribution: ActionDistribution, ppo: PpoSettings, num_versions: int
    ) -> None:
        self.state = state
        self._distribution = distribution
        self._ppo = ppo
        self._history = VersionHistory(state.policy, distribution, num_versions)

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep the state dict that plays as that version."""
        self._history.remember(policy_version, state)

    def verify(
        self, batch: Batch, verify_rows: Collection[int], *, trust_all: bool
    ) -> tuple[Batch, list[RejectedRow]]:
        """Rule C7; without trust all rows are recomputed, and the batch returned has our own numbers."""
        wanted = set(batch.rows).intersection(verify_rows) if trust_all else batch.rows
        batch, refused = verify(
            batch, wanted, self._history, self.state.tolerance, replace_numbers=not trust_all
        )
        return batch, [RejectedRow(row=row, largest_difference=by) for row, by in refused.items()]

    def can_learn_from(self, batch: Batch) -> bool:
        """Whether a valid step is left past any burn-in."""
        return bool(batch.valid[self._ppo.burn_in_steps :].any())

    def update(self, batch: Batch, policy_version: int, rates: UpdateRates) -> UpdateReport:
        """One update on verified rows; `policy_version` is that before it.

        Raises: NonFiniteUpdateError: the update was undone (rule P8).
        """
        return ppo_update(
            self.state.policy,
            self.state.optimizer,
            UpdateBatch.of(batch, policy_version),
            self._ppo,
            self.state.generator,
            distribution=self._distribution,
            rates=rates,
        )

    def gather(self, batch: Batch) -> None:
        """Let the next version normalise by these observations too (rule P7)."""
        self.state.gather(
            {key: RunningMoments.of(batch.observation[key], batch.valid) for key in self.state.statistics}
        )
