"""All policies of a run, trained in lockstep: each from its own rows alone, all to the next version."""

from collections.abc import Callable, Mapping, Sequence

import torch

from attract.experience.batch import Batch, load_batch
from attract.experience.store import SegmentStore
from attract.learner.algorithms.algorithm import Progress, Report
from attract.learner.checkpoints.checkpoint import Checkpoint
from attract.learner.group.cells import SINGLE_PROCESS, LearnerGroup
from attract.learner.policies.policy_state import matching_state
from attract.learner.policies.policy_updater import PolicyUpdater
from attract.learner.policies.training_state import TrainingState
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_distribution
from attract.schema.game import GameDescription
from attract.schema.learner import RejectedRow, Train, Warmup


class PolicyGroup:
    """Works on the policies of a training state; on the learner's main thread.

    Args:
        state: whose policies are changed in place; its version is only read.
        game: that is played.
        num_versions: how many versions are remembered, to judge late segments by: `max_policy_lag` + 1.
        cells: learners that make each update together.
    """

    def __init__(
        self,
        state: TrainingState,
        game: GameDescription,
        num_versions: int,
        cells: LearnerGroup = SINGLE_PROCESS,
    ) -> None:
        self._state = state
        distribution = build_distribution(game)
        self._trainers = {
            policy_id: PolicyUpdater(policy, distribution, num_versions, cells)
            for policy_id, policy in state.policies.items()
        }
        # All policies have the same shape.
        self.patcher = OnnxPatcher(next(iter(state.policies.values())).policy)

    @property
    def num_parameters(self) -> int:
        """Number of parameters of all policies."""
        policies = [state.policy for state in self._state.policies.values()]
        return sum(parameter.numel() for policy in policies for parameter in policy.parameters())

    def onnx(self) -> dict[str, bytes]:
        """The model of each policy as it is now, by its id."""
        return {
            policy_id: self.patcher.patched(policy_state.policy.state_dict())
            for policy_id, policy_state in self._state.policies.items()
        }

    def remember(self) -> None:
        """Keep the behaviour policies of the state's version."""
        for trainer in self._trainers.values():
            trainer.remember(self._state.policy_version, trainer.state.policy.state_dict())

    def remember_saved(self, checkpoint: Checkpoint) -> None:
        """Keep the policies of an earlier version of this run. Raises: CheckpointError: they do not fit."""
        for policy_id, part in self._state.parts(checkpoint).items():
            trainer = self._trainers[policy_id]
            trainer.remember(checkpoint.policy_version, matching_state(part, trainer.state.policy))

    def load(self, store: SegmentStore, message: Warmup | Train, device: torch.device) -> dict[str, Batch]:
        """The rows of each policy that has any, by its id."""
        sole = {next(iter(self._trainers)): message.rows}
        shares: Mapping[str, Sequence[int]] = message.rows_by_policy or sole
        if shares.keys() != self._trainers.keys():
            raise RuntimeError(f"expected rows of {sorted(self._trainers)}, got rows of {sorted(shares)}")
        return {
            policy_id: load_batch(store, shares[policy_id], device)
            for policy_id in self._trainers
            if shares[policy_id]
        }

    def verify(
        self, batches: Mapping[str, Batch], message: Train
    ) -> tuple[dict[str, Batch], list[RejectedRow]]:
        """The batches without the rows that contradict their policy version, and those rows (rule C7)."""
        verified: dict[str, Batch] = {}
        rejected: list[RejectedRow] = []
        for policy_id, batch in batches.items():
            verified[policy_id], refused = self._trainers[policy_id].verify(
                batch, message.verify_rows, extent=message.verify
            )
            rejected += refused
        return verified, rejected

    def trainable(self, batches: Mapping[str, Batch]) -> dict[str, Batch]:
        """The batches that can be learned from. A policy whose agents were away all the time has none."""
        policies = self._state.policies
        return {
            name: batch for name, batch in batches.items() if policies[name].algorithm.can_learn_from(batch)
        }

    def update(self, batches: Mapping[str, Batch], progress: Progress) -> dict[str, Report]:
        """Update each of these policies from its own batch: all of them, or none (rule P8).

        Args:
            batches: from `trainable`; a policy without one stays as it is.
            progress: of the run, before the update (rule P10).

        Raises: NonFiniteUpdateError: a policy could not be updated. All policies are then unchanged, as after
            any other exception.
        """
        undo: list[Callable[[], None]] = []
        reports: dict[str, Report] = {}
        try:
            # In turns, since an update that is awaited ends early.
            first, order = progress.policy_version % max(1, len(batches)), list(batches)
            for number, policy_id in enumerate((*order[first:], *order[:first]), 1):
                batch, trainer = batches[policy_id], self._trainers[policy_id]
                if number < len(batches):
                    # The last one undoes itself.
                    undo.append(trainer.state.undo_point())
                reports[policy_id] = trainer.update(batch, progress)
        except BaseException:
            for restore in undo:
                restore()
            raise
        return reports

    def gather(self, batches: Mapping[str, Batch]) -> None:
        """Let the next version of each of these policies normalise by what it saw too (rule P7)."""
        for policy_id, batch in batches.items():
            self._trainers[policy_id].gather(batch)
