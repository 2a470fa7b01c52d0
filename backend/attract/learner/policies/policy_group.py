"""All policies of a run, trained in lockstep: each from its own rows alone, all to the next version."""

from collections.abc import Mapping, Sequence

import torch

from attract.experience.batch import Batch, load_batch
from attract.experience.store import SegmentStore
from attract.learner.algorithms.algorithm import Progress, Report, undone_on_failure
from attract.learner.checkpoints.checkpoint import Checkpoint
from attract.learner.policies.policy_state import matching_state
from attract.learner.policies.training_state import TrainingState
from attract.learner.verification import Verifier
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
    """

    def __init__(self, state: TrainingState, game: GameDescription, num_versions: int) -> None:
        self._state = state
        distribution = build_distribution(game)
        self._verifiers = {
            policy_id: Verifier(
                policy_state.policy,
                distribution,
                num_versions,
                compares_log_probs=policy_state.algorithm.uses_log_probs,
            )
            for policy_id, policy_state in state.policies.items()
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
        for policy_id, policy_state in self._state.policies.items():
            self._verifiers[policy_id].remember(self._state.policy_version, policy_state.policy.state_dict())

    def remember_saved(self, checkpoint: Checkpoint) -> None:
        """Keep the policies of an earlier version of this run. Raises: CheckpointError: they do not fit."""
        for policy_id, part in self._state.parts(checkpoint).items():
            weights = matching_state(part, self._state.policies[policy_id].policy)
            self._verifiers[policy_id].remember(checkpoint.policy_version, weights)

    def load(self, store: SegmentStore, message: Warmup | Train, device: torch.device) -> dict[str, Batch]:
        """The rows of each policy that has any, by its id."""
        policy_ids = list(self._state.policies)
        sole = {policy_ids[0]: message.rows}
        shares: Mapping[str, Sequence[int]] = message.rows_by_policy or sole
        if sorted(shares) != sorted(policy_ids):
            raise RuntimeError(f"expected rows of {sorted(policy_ids)}, got rows of {sorted(shares)}")
        return {
            policy_id: load_batch(store, shares[policy_id], device)
            for policy_id in policy_ids
            if shares[policy_id]
        }

    def verify(
        self, batches: Mapping[str, Batch], message: Train
    ) -> tuple[dict[str, Batch], list[RejectedRow]]:
        """The batches without the rows that contradict their policy version, and those rows (rule C7)."""
        verified: dict[str, Batch] = {}
        rejected: list[RejectedRow] = []
        for policy_id, batch in batches.items():
            tolerance = self._state.policies[policy_id].tolerance
            verified[policy_id], refused = self._verifiers[policy_id].verify(
                batch, message.verify_rows, tolerance, extent=message.verify
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
        algorithms = {policy_id: self._state.policies[policy_id].algorithm for policy_id in batches}
        reports: dict[str, Report] = {}
        # In turns, since an update that is awaited ends early.
        first, order = progress.policy_version % max(1, len(batches)), list(batches)
        with undone_on_failure(*algorithms.values()):
            for policy_id in (*order[first:], *order[:first]):
                batch = batches[policy_id].at_version(progress.policy_version)
                reports[policy_id] = algorithms[policy_id].update(batch, progress)
        return reports

    def gather(self, batches: Mapping[str, Batch]) -> None:
        """Let the next version of each of these policies normalise by what it saw too (rule P7)."""
        for policy_id, batch in batches.items():
            policy_state = self._state.policies[policy_id]
            policy_state.gather(policy_state.policy.moments(batch.observation, batch.valid))
