"""Builds segments from one group's steps, as workers do from their own (rules E1-E5, E8, E9, S2, S3, S4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attract.experience.layout import RECURRENT_STATE
from attract.schema.episode_results import EpisodeColumns, EpisodeResult
from attract.schema.episodes import columns_of
from attract.schema.messages import Block, FinalObservations, Lease
from attract.schema.step_numbers import DECIDED_NUMBERS, OUTCOME_NUMBERS, STEP_NUMBERS
from attract.schema.tensor import from_numpy
from attract.vector.batch import StepBatch, VectorLayout


@dataclass(frozen=True, eq=False)
class Decision:
    """The policy's outputs for a group's observations; [k, ...] each, finite."""

    action: NDArray[Any]
    """As it travels: int32, or float32 in unit space (rule P6); zeros for slots that are not active."""
    log_prob: NDArray[np.float32]
    value: NDArray[np.float32]
    state: NDArray[np.float32]
    """[k, state_size]: the recurrent state after these observations."""


@dataclass(frozen=True, eq=False)
class Finals:
    """Final observations of a segment's truncated steps, and the states after them (rules E2, E4, E8)."""

    step: NDArray[np.int32]
    column: NDArray[np.int32]
    observation: Mapping[str, NDArray[Any]]
    state: NDArray[np.float32]


class SegmentBuilder:
    """One segment of each of a group's k slots at a time; owned by the collector, one per group.

    In turn: `begin`, then per step `decide` and `outcome`, then once `is_full`: `finish` and `blocks`.
    """

    def __init__(self, layout: VectorLayout, num_slots: int, state_size: int) -> None:
        self.step = 0
        """Outcomes taken so far."""
        self._layout = layout
        self._state_size = state_size
        steps = (layout.horizon, num_slots)
        self._numbers: dict[str, NDArray[Any]] = {
            "action": np.zeros((*steps, *layout.action_shape), layout.action_dtype),
            **{name: np.zeros(steps, dtype) for name, dtype in STEP_NUMBERS.items()},
        }
        if layout.mask_size:
            self._numbers["action_mask"] = np.ones((*steps, layout.mask_size), np.bool_)
        self._observation = {
            key: np.zeros((*steps, *shape), dtype) for key, (dtype, shape) in layout.observations.items()
        }
        self._first_step = np.zeros(num_slots, np.int64)
        self._first_state = np.zeros((num_slots, state_size), np.float32)
        self._state_before = self._first_state
        self._active = np.zeros(num_slots, np.bool_)
        self.slot_id = np.zeros(num_slots, np.int64)
        self.bootstrap_value = np.zeros(num_slots, np.float32)
        """[k], once finished (rule E4)."""
        self._bootstrap: Mapping[str, NDArray[Any]] = {}
        self._final_value = np.zeros(0, np.float32)
        self._finals: list[Finals] = []
        self._finals_joined: Finals | None = None
        self._episodes: list[EpisodeResult] = []

    @property
    def is_full(self) -> bool:
        """Whether all steps of the segment have been taken."""
        return self.step == self._layout.horizon

    def begin(self, batch: StepBatch, state: NDArray[np.float32]) -> None:
        """Start a segment at what the slots see now; `state` [k, state_size] is that before it (rule S3)."""
        self.step = 0
        self.slot_id = batch.slot_id
        self._first_step = batch.slot_step.copy()
        self._first_state = state.copy()
        self._finals = []
        self._finals_joined = None
        self._episodes = []

    def decide(self, batch: StepBatch, decision: Decision, state: NDArray[np.float32]) -> None:
        """Record the slots' observations, masks and actions; `state` is that before the decision."""
        numbers, t = self._numbers, self.step
        for key, values in batch.observation.items():
            self._observation[key][t] = values
        if batch.action_mask is not None:
            # No action is drawn for who does not play: what the game left in its mask means nothing.
            numbers["action_mask"][t] = batch.action_mask | ~batch.active[:, None]
        numbers["action"][t] = decision.action
        for name in DECIDED_NUMBERS:
            numbers[name][t] = getattr(decision, name)
        self._active = batch.active.copy()
        self._state_before = state

    def outcome(self, batch: StepBatch, decision: Decision) -> NDArray[np.float32]:
        """Record the step's outcomes. Returns [k, state_size]: the states the next decision begins with.

        State is zeroed after `terminated` and `truncated` (rule S4), and where a game failed; slots that took
        no part keep theirs. A slot that was active and comes back invalid belongs to a game that failed: its
        step counts nowhere, and the step before is truncated at what the failed one began with.
        """
        numbers, t = self._numbers, self.step
        for name in OUTCOME_NUMBERS:
            numbers[name][t] = getattr(batch, name)
        failed = self._active & ~batch.valid
        if len(batch.final_column):
            column = batch.final_column
            observation = {key: values.copy() for key, values in batch.final_observation.items()}
            self._add_finals(t, column, observation, decision.state[column])
        if t > 0 and failed.any():
            self._end_before_failure(t, np.flatnonzero(failed))
        self._add_episodes(batch, t, failed)
        self.step += 1
        if not self._state_size:
            return self._state_before
        state = np.where(batch.valid[:, None], decision.state, self._state_before)
        state[batch.terminated | batch.truncated | failed] = 0.0
        return state

    def finals(self) -> Finals:
        """The truncated steps whose values `finish` needs, in the order in which it needs them."""
        if self._finals_joined is None:
            parts = self._finals
            self._finals_joined = Finals(
                step=np.concatenate([np.zeros(0, np.int32), *(part.step for part in parts)]),
                column=np.concatenate([np.zeros(0, np.int32), *(part.column for part in parts)]),
                observation={
                    key: np.concatenate(
                        [np.zeros((0, *shape), dtype), *(part.observation[key] for part in parts)]
                    )
                    for key, (dtype, shape) in self._layout.observations.items()
                },
                state=np.concatenate(
                    [np.zeros((0, self._state_size), np.float32), *(part.state for part in parts)]
                ),
            )
        return self._finals_joined

    def finish(
        self,
        batch: StepBatch,
        values: NDArray[np.float32],
        final_values: NDArray[np.float32],
    ) -> None:
        """Set the bootstrap of every slot (rule E4).

        Args:
            batch: of the last step; its observations are the bootstrap observations (rule I1).
            values: [k] of those observations, read with the states after the last step.
            final_values: [n] of `finals()`.
        """
        finals = self.finals()
        bootstrap = np.where(self._numbers["terminated"][-1], np.float32(0.0), values)
        last = finals.step == self._layout.horizon - 1
        bootstrap[finals.column[last]] = final_values[last]
        self.bootstrap_value = bootstrap.astype(np.float32)
        self._bootstrap = {key: values.copy() for key, values in batch.observation.items()}
        self._final_value = final_values.astype(np.float32)

    def blocks(
        self, lease: Lease, segment_index: int, columns: slice, *, first_block: int, max_columns: int
    ) -> list[Block]:
        """The finished segment of some columns, games of one lease, in blocks of at most `max_columns`."""
        starts = range(columns.start, columns.stop, max_columns)
        parts = [slice(start, min(start + max_columns, columns.stop)) for start in starts]
        return [self._block(lease, segment_index, first_block + i, part) for i, part in enumerate(parts)]

    def _block(self, lease: Lease, segment_index: int, block_index: int, columns: slice) -> Block:
        numbers: dict[str, Any] = {
            name: from_numpy(values[:, columns]) for name, values in self._numbers.items()
        }
        state = self._first_state[columns]
        return Block(
            run_id=lease.run_id,
            lease_id=lease.lease_id,
            segment_index=segment_index,
            block_index=block_index,
            policy_id=lease.seats[0].policy_id,
            policy_version=lease.seats[0].policy_version,
            slot_id=from_numpy(self.slot_id[columns].astype(np.int32)),
            first_step=from_numpy(self._first_step[columns].astype(np.int32)),
            observation={key: from_numpy(values[:, columns]) for key, values in self._observation.items()},
            recurrent_state={RECURRENT_STATE: from_numpy(state)} if self._state_size else {},
            bootstrap_observation={key: from_numpy(all_[columns]) for key, all_ in self._bootstrap.items()},
            bootstrap_value=from_numpy(self.bootstrap_value[columns]),
            final_observations=self._finals_of(columns),
            episodes=self._episodes_of(columns),
            action=numbers["action"],
            action_mask=numbers.get("action_mask"),
            **{name: numbers[name] for name in STEP_NUMBERS},
        )

    def _finals_of(self, columns: slice) -> FinalObservations | None:
        finals = self.finals()
        chosen = np.flatnonzero((finals.column >= columns.start) & (finals.column < columns.stop))
        if not len(chosen):
            return None
        return FinalObservations(
            step=from_numpy(finals.step[chosen]),
            column=from_numpy(finals.column[chosen] - np.int32(columns.start)),
            observation={key: from_numpy(values[chosen]) for key, values in finals.observation.items()},
            value=from_numpy(self._final_value[chosen]),
            recurrent_state={RECURRENT_STATE: from_numpy(finals.state[chosen])} if self._state_size else {},
        )

    def _episodes_of(self, columns: slice) -> EpisodeColumns:
        """Each episode is reported with its game's first agent."""
        agents = self._layout.num_agents
        slots = self.slot_id[columns]
        instances = set((slots[slots % agents == 0] // agents).tolist())
        return columns_of([episode for episode in self._episodes if episode.instance_id in instances])

    def _add_finals(
        self,
        step: int,
        column: NDArray[np.int64],
        observation: Mapping[str, NDArray[Any]],
        state: NDArray[np.float32],
    ) -> None:
        steps = np.full(len(column), step, np.int32)
        self._finals.append(Finals(steps, column.astype(np.int32), observation, state))

    def _end_before_failure(self, t: int, column: NDArray[np.int64]) -> None:
        numbers, before = self._numbers, t - 1
        goes_on = (
            ~numbers["terminated"][before, column]
            & ~numbers["truncated"][before, column]
            & numbers["valid"][before, column]
        )
        column = column[goes_on]
        numbers["truncated"][before, column] = True
        observation = {key: values[t, column] for key, values in self._observation.items()}
        self._add_finals(before, column, observation, self._state_before[column])

    def _add_episodes(self, batch: StepBatch, t: int, failed: NDArray[np.bool_]) -> None:
        if not batch.episodes:
            return
        agents = self._layout.num_agents
        broken = set((batch.slot_id[failed] // agents).tolist())
        for episode in batch.episodes:
            if episode.instance_id not in broken:
                self._episodes.append(_at_step(episode, t))
            elif t > 0:
                # Its last good step, if that is of this segment.
                self._episodes.append(_at_step(episode, t - 1))


def _at_step(result: EpisodeResult, step: int) -> EpisodeResult:
    """The same result with the step in the segment at which it counts."""
    return result if result.step == step else result.model_copy(update={"step": step})
