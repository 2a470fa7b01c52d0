"""Recomputes what the workers claim: log-probabilities and values under the behaviour policy (rule C7)."""

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Self

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.policy.network import Policy
from attract.schema.learner import RejectedRow

TOLERANCE_FLOOR = 1e-4
TOLERANCE_FACTOR = 10.0
CALIBRATION_CHECKS = 64
LARGEST_TOLERANCE = TOLERANCE_FLOOR * TOLERANCE_FACTOR
"""A segment that differs by more is no rounding, while calibrating and after: a worker that is wrong by
nearly as much from the start must not make room for ten times that."""


MAX_SLOTS_REMEMBERED = 65_536


class VersionHistory:
    """Weights and normaliser of the newest versions, so that a late segment is judged by what acted.

    Of recurrent policies also where the segments recomputed last ended, slot by slot: there the next begins.

    Args:
        policy: the network whose shape all versions have; copied, never touched.
        distribution: how its outputs become actions.
        num_versions: how many are kept: `max_policy_lag` + 1.
    """

    def __init__(self, policy: Policy, distribution: ActionDistribution, num_versions: int) -> None:
        self._behaviour_policy = copy.deepcopy(policy)
        self._distribution = distribution
        self._num_versions = num_versions
        self._states: dict[int, dict[str, Tensor]] = {}
        device = next(self._behaviour_policy.parameters()).device
        no_slots = torch.empty(0, dtype=torch.int64, device=device)
        self._ends = SlotEnds(no_slots, no_slots, torch.empty((0, policy.state_size), device=device))

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep a copy of the state dict; the oldest beyond the number kept is forgotten."""
        self._states[policy_version] = {name: tensor.detach().clone() for name, tensor in state.items()}
        for version in sorted(self._states)[: -self._num_versions]:
            del self._states[version]

    def __contains__(self, policy_version: int) -> bool:
        return policy_version in self._states

    @torch.no_grad()
    def recompute(self, batch: Batch) -> tuple[Batch, Tensor]:
        """The batch with log-probabilities and values recomputed, each segment under its own version.

        A recurrent segment is unrolled from the state it says it began with. That state in turn is recomputed
        where it can be: zeros at a slot's first step, else what the slot's segment before it, in this batch
        or an earlier one, ended with. So every state that is trained on follows from observations.

        Returns: the batch, and [S] bool: whose versions are still known; the others keep what they had.
        """
        known = torch.zeros(batch.num_segments, dtype=torch.bool, device=batch.valid.device)
        log_prob, value = batch.log_prob.clone(), batch.value.clone()
        final_value, bootstrap = batch.final_value.clone(), batch.bootstrap_value.clone()
        next_states = torch.zeros(
            (batch.num_segments, self._behaviour_policy.state_size), device=batch.valid.device
        )
        for version in torch.unique(batch.policy_version).tolist():
            if version not in self._states:
                continue
            chosen = batch.policy_version == version
            known |= chosen
            self._behaviour_policy.load_state_dict(self._states[version])
            mine = batch if bool(chosen.all()) else batch.keep_segments(chosen)
            said = evaluate_batch(self._behaviour_policy, self._distribution, mine)
            log_prob[:, chosen], value[:, chosen] = said.log_probs, said.values
            final_value[:, chosen], bootstrap[chosen] = said.final_values, said.bootstrap_value
            next_states[chosen] = said.next_states
        recomputed = replace(
            batch,
            log_prob=log_prob,
            value=value,
            final_value=final_value,
            bootstrap_value=bootstrap,
            recurrent_state=self._first_states(batch, next_states, known),
        )
        return recomputed, known

    def _first_states(self, batch: Batch, next_states: Tensor, known: Tensor) -> dict[str, Tensor]:
        """The state before each segment, recomputed where it can be; remembers where slots end."""
        if not batch.recurrent_state:
            return {}
        slots, starts = batch.slot_id.long(), batch.first_step.long()
        states = self._ends.states_at(slots, starts, batch.recurrent_state[RECURRENT_STATE])
        # Those that end in this batch come before what is remembered of earlier ones.
        here = SlotEnds.of(slots[known], starts[known] + batch.num_steps, next_states[known])
        states = here.states_at(slots, starts, states).masked_fill((starts == 0).unsqueeze(1), 0.0)
        self._ends = self._ends.followed_by(here.newest(), at_most=MAX_SLOTS_REMEMBERED)
        return {RECURRENT_STATE: states}


@dataclass(frozen=True, slots=True)
class SlotEnds:
    """In which recurrent state slots stood at which of their steps; n of them, oldest first."""

    slots: Tensor
    steps: Tensor
    """[n] int64, each below 2^31."""
    states: Tensor
    """[n, state_size] float32, before that step."""

    @classmethod
    def of(cls, slots: Tensor, steps: Tensor, states: Tensor) -> Self:
        """In the order of slots and steps."""
        order = torch.argsort(_place(slots, steps), stable=True)
        return cls(slots[order], steps[order], states[order])

    def states_at(self, slots: Tensor, steps: Tensor, otherwise: Tensor) -> Tensor:
        """[S, state_size], the state of each slot ([S]) at its step ([S]); where unknown, its `otherwise`."""
        if self.slots.numel() == 0:
            return otherwise
        places, order = torch.sort(_place(self.slots, self.steps), stable=True)
        wanted = _place(slots, steps)
        found = torch.searchsorted(places, wanted, right=True).sub_(1).clamp_(min=0)
        is_known = (places[found] == wanted).unsqueeze(1)
        return torch.where(is_known, self.states[order[found]], otherwise)

    def newest(self) -> Self:
        """Each slot at its last step alone; in the order of slots, as they are in."""
        is_last = torch.ones_like(self.slots, dtype=torch.bool)
        is_last[:-1] = self.slots[1:] != self.slots[:-1]
        return type(self)(self.slots[is_last], self.steps[is_last], self.states[is_last])

    def followed_by(self, later: "SlotEnds", *, at_most: int) -> "SlotEnds":
        """Both, of a slot in both the later; the oldest beyond `at_most` are forgotten."""
        stays = ~torch.isin(self.slots, later.slots)
        pairs = ((self.slots, later.slots), (self.steps, later.steps), (self.states, later.states))
        return SlotEnds(*(torch.cat((old[stays], new))[-at_most:] for old, new in pairs))


def _place(slots: Tensor, steps: Tensor) -> Tensor:
    """One number for slot and step, ordered by both."""
    return (slots << 32) + steps


def largest_differences(claimed: Batch, recomputed: Batch, *, log_probs: bool = True) -> Tensor:
    """Per segment, the largest |claimed - recomputed| / max(1, |recomputed|) of any number that is compared.

    Values of valid steps and, with `log_probs`, their log-probabilities, final values where an episode was
    truncated, the bootstrap value, the recurrent state before the first step. Invalid steps do not matter,
    whatever they hold.

    Returns: [S] float32; infinite where a number is not finite.
    """
    valid = claimed.valid
    cut_short = valid & claimed.truncated & ~claimed.terminated
    per_step = torch.stack(
        [
            _difference(claimed.log_prob, recomputed.log_prob, valid & log_probs),
            _difference(claimed.value, recomputed.value, valid),
            _difference(claimed.final_value, recomputed.final_value, cut_short),
        ]
    )
    bootstrap = _difference(claimed.bootstrap_value, recomputed.bootstrap_value, valid[-1])
    largest = torch.maximum(per_step.amax((0, 1)), bootstrap)
    for key, state in claimed.recurrent_state.items():
        difference = _difference(state, recomputed.recurrent_state[key], valid[0].unsqueeze(1))
        largest = torch.maximum(largest, difference.amax(1))
    return largest


def _difference(claimed: Tensor, recomputed: Tensor, where: Tensor) -> Tensor:
    difference = (claimed - recomputed).abs() / recomputed.abs().clamp(min=1.0)
    difference = torch.nan_to_num(difference, nan=torch.inf, posinf=torch.inf)
    return torch.where(where, difference, 0.0)


@dataclass(slots=True)
class Tolerance:
    """Tolerance for rounding: 10 times the largest difference of the first checks, from 1e-4 to 1e-3."""

    num_checks: int = 0
    largest_difference: float = 0.0

    @property
    def limit(self) -> float:
        """The largest difference accepted now."""
        if self.num_checks < CALIBRATION_CHECKS:
            return LARGEST_TOLERANCE
        calibrated = max(TOLERANCE_FLOOR, TOLERANCE_FACTOR * self.largest_difference)
        return min(LARGEST_TOLERANCE, calibrated)

    def accept(self, difference: float) -> bool:
        """Whether a segment with this difference may be trained on; learns from it while calibrating."""
        accepted = difference <= self.limit
        if accepted and self.num_checks < CALIBRATION_CHECKS:
            self.num_checks += 1
            self.largest_difference = max(self.largest_difference, difference)
        return accepted


def verify(
    batch: Batch,
    wanted: Collection[int],
    history: VersionHistory,
    tolerance: Tolerance,
    *,
    replace_numbers: bool,
    compares_log_probs: bool = True,
) -> tuple[Batch, dict[int, float]]:
    """The batch without the segments that contradict their policy version (rule C7).

    Args:
        batch: as it came.
        wanted: rows of the store whose segments are recomputed; all of the batch with `replace_numbers`.
        history: the versions that acted; a segment of one that is not there is left out.
        tolerance: what counts as rounding; learns while it calibrates.
        replace_numbers: give the recomputed numbers instead of those that came.
        compares_log_probs: as well as values.

    Returns: the batch, and the rows that were left out with their largest difference.
    """
    if not wanted:
        return batch, {}
    rows, device = frozenset(wanted), batch.valid.device
    chosen = torch.tensor([row in rows for row in batch.rows], device=device)
    checked = batch if bool(chosen.all()) else batch.keep_segments(chosen)
    recomputed, known = history.recompute(checked)
    found = largest_differences(checked, recomputed, log_probs=compares_log_probs)
    differences = torch.where(known, found, torch.inf)
    refused = {
        row: difference
        for row, difference in zip(checked.rows, differences.tolist(), strict=True)
        if not tolerance.accept(difference)
    }
    if replace_numbers:
        batch = recomputed
    if refused:
        kept = torch.tensor([row not in refused for row in batch.rows], device=device)
        batch = batch.keep_segments(kept)
    return batch, refused


class Verifier:
    """Judges the rows of one policy by the versions that may have acted (rule C7).

    Args:
        policy: the network whose shape all versions have; copied.
        distribution: how the network's outputs become actions.
        num_versions: how many versions are remembered, to judge late segments by: `max_policy_lag` + 1.
        compares_log_probs: as well as values. An algorithm that learns from none may play by logits of any
            size, and the larger they are, the more rounding there is in a log-probability.
    """

    def __init__(
        self,
        policy: Policy,
        distribution: ActionDistribution,
        num_versions: int,
        *,
        compares_log_probs: bool = True,
    ) -> None:
        self._history = VersionHistory(policy, distribution, num_versions)
        self._compares_log_probs = compares_log_probs
        self._suspects: set[int] = set()
        """Workers that had a segment refused."""

    def remember(self, policy_version: int, state: Mapping[str, Tensor]) -> None:
        """Keep the state dict that plays as that version."""
        self._history.remember(policy_version, state)

    def verify(
        self,
        batch: Batch,
        verify_rows: Collection[int],
        tolerance: Tolerance,
        *,
        extent: Literal["sample", "all"],
    ) -> tuple[Batch, list[RejectedRow]]:
        """The batch without the rows that are refused; where `all` are recomputed, it has our own numbers.

        After one refused row of a worker, all its rows of this batch and of later ones are recomputed.
        """
        worker_of = dict(zip(batch.rows, batch.worker_id.tolist(), strict=True))
        version_of = dict(zip(batch.rows, batch.policy_version.tolist(), strict=True))
        rows = set(batch.rows)
        wanted = rows.intersection(verify_rows) if extent == "sample" else rows
        judge = partial(
            verify, history=self._history, tolerance=tolerance, compares_log_probs=self._compares_log_probs
        )
        batch, refused = judge(batch, wanted, replace_numbers=extent == "all")
        # A version that is not known here any more is no fault of the worker's.
        self._suspects |= {worker_of[row] for row in refused if version_of[row] in self._history}
        if extent == "sample":
            rest = {row for row in batch.rows if worker_of[row] in self._suspects} - wanted
            batch, more = judge(batch, rest, replace_numbers=False)
            refused |= more
        rejected = [
            RejectedRow(row=row, largest_difference=by, is_blamed=version_of[row] in self._history)
            for row, by in refused.items()
        ]
        return batch, rejected
