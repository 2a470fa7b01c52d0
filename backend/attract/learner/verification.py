"""Recomputes what the workers claim: log-probabilities and values under the version that acted (rule C7)."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.learner.batch import Batch, Beyond
from attract.policy.network import Policy

TOLERANCE_FLOOR = 1e-4
TOLERANCE_FACTOR = 10.0
CALIBRATION_CHECKS = 64
CALIBRATION_LIMIT = TOLERANCE_FLOOR * TOLERANCE_FACTOR
"""While calibrating, a segment that differs by more is no rounding and teaches nothing."""


class VersionHistory:
    """Weights and normaliser of the newest versions, so that a late segment is judged by what acted.

    Args:
        policy: the network whose shape all versions have; copied, never touched.
        distribution: how its outputs become actions.
        num_versions: how many are kept: `max_policy_lag` + 1.
    """

    def __init__(self, policy: Policy, distribution: ActionDistribution, num_versions: int) -> None:
        self._judge = copy.deepcopy(policy)
        self._distribution = distribution
        self._num_versions = num_versions
        self._states: dict[int, dict[str, Tensor]] = {}

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep a copy of the state dict; the oldest version beyond the number kept is forgotten."""
        self._states[policy_version] = {name: tensor.detach().clone() for name, tensor in state.items()}
        for version in sorted(self._states)[: -self._num_versions]:
            del self._states[version]

    def __contains__(self, policy_version: int) -> bool:
        return policy_version in self._states

    @torch.no_grad()
    def recompute(self, batch: Batch, beyond: Beyond) -> tuple[Batch, Tensor]:
        """The batch with log-probabilities and values recomputed, each segment under its own version.

        Returns: the batch, and [S] bool: whose versions are still known; the others keep what they had.
        """
        known = torch.zeros(batch.num_segments, dtype=torch.bool, device=batch.valid.device)
        log_probs, values = batch.log_probs.clone(), batch.values.clone()
        final_values, bootstrap = batch.final_values.clone(), batch.bootstrap_value.clone()
        for version in torch.unique(batch.policy_version).tolist():
            if version not in self._states:
                continue
            columns = (batch.policy_version == version).nonzero().squeeze(1)
            known[columns] = True
            self._judge.load_state_dict(self._states[version])
            mine = batch if len(columns) == batch.num_segments else batch.keep(columns)
            log_probs[:, columns], values[:, columns] = self._steps(mine)
            ends = self._final_values(beyond, columns, final_values[:, columns])
            final_values[:, columns] = ends
            bootstrap[columns] = self._bootstrap(mine, beyond, columns, ends[-1])
        return (
            replace(
                batch,
                log_probs=log_probs,
                values=values,
                final_values=final_values,
                bootstrap_value=bootstrap,
            ),
            known,
        )

    def _steps(self, batch: Batch) -> tuple[Tensor, Tensor]:
        shape = batch.valid.shape
        outputs, values = self._judge(batch.observations.flatten(0, 1))
        # An invalid step may hold any action; 0 exists in every space.
        actions = torch.where(batch.valid, batch.actions, 0).flatten()
        log_probs, _ = self._distribution.log_prob_and_entropy(outputs, actions)
        return log_probs.view(shape), values.view(shape)

    def _final_values(self, beyond: Beyond, columns: Tensor, claimed: Tensor) -> Tensor:
        steps = beyond.final_step[:, columns]
        entries, which = (steps >= 0).nonzero(as_tuple=True)
        if len(entries):
            observations = beyond.final_observations[entries, columns[which]]
            claimed = claimed.clone()
            claimed[steps[entries, which], which] = self._judge(observations)[1]
        return claimed

    def _bootstrap(self, batch: Batch, beyond: Beyond, columns: Tensor, last_final: Tensor) -> Tensor:
        """Rule E4."""
        after = self._judge(beyond.bootstrap_observations[columns])[1]
        value = torch.where(batch.truncated[-1], last_final, after)
        return value.masked_fill(batch.terminated[-1], 0.0)


def largest_differences(claimed: Batch, recomputed: Batch) -> Tensor:
    """Per segment, the largest |claimed - recomputed| / max(1, |recomputed|) of any number that is used.

    Log-probabilities and values of valid steps, final values where an episode was truncated, the bootstrap
    value. Invalid steps do not matter, whatever they hold.

    Returns: [S] float32; infinite where a number is not finite.
    """
    valid = claimed.valid
    cut_short = valid & claimed.truncated & ~claimed.terminated
    per_step = torch.stack(
        [
            _difference(claimed.log_probs, recomputed.log_probs, valid),
            _difference(claimed.values, recomputed.values, valid),
            _difference(claimed.final_values, recomputed.final_values, cut_short),
        ]
    )
    bootstrap = _difference(claimed.bootstrap_value, recomputed.bootstrap_value, valid[-1])
    return torch.maximum(per_step.amax((0, 1)), bootstrap)


def _difference(claimed: Tensor, recomputed: Tensor, where: Tensor) -> Tensor:
    difference = (claimed - recomputed).abs() / recomputed.abs().clamp(min=1.0)
    difference = torch.nan_to_num(difference, nan=torch.inf, posinf=torch.inf)
    return torch.where(where, difference, 0.0)


@dataclass(slots=True)
class Tolerance:
    """What counts as rounding: 10 times the largest difference of the first checks, at least 1e-4."""

    num_checks: int = 0
    largest_difference: float = 0.0

    @property
    def limit(self) -> float:
        """The largest difference accepted now."""
        if self.num_checks < CALIBRATION_CHECKS:
            return CALIBRATION_LIMIT
        return max(TOLERANCE_FLOOR, TOLERANCE_FACTOR * self.largest_difference)

    def accept(self, difference: float) -> bool:
        """Whether a segment with this difference may be trained on; learns from it while calibrating."""
        accepted = difference <= self.limit
        if accepted and self.num_checks < CALIBRATION_CHECKS:
            self.num_checks += 1
            self.largest_difference = max(self.largest_difference, difference)
        return accepted
