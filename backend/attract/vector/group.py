"""One group of slots: what it sees, what its last step brought, and from whom that is still awaited."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.errors import ConfigurationError
from attract.schema.episode_results import EpisodeResult
from attract.schema.frames import malformed
from attract.schema.messages import Observe, StepOutcome, Tensor
from attract.schema.step_numbers import OUTCOME_NUMBERS
from attract.schema.tensor import step_numbers, to_flags, to_numpy
from attract.vector.batch import StepBatch, VectorLayout

NO_COLUMNS: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Part:
    """One worker's games of one group."""

    worker_id: int
    group: int
    instance_ids: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepRequest:
    """Message to a worker: step its games of a group with these actions, or (None) observe only."""

    worker_id: int
    group: int
    action: NDArray[Any] | None
    """[k, ...] for the part's slots."""


@dataclass(eq=False)
class GroupMember:
    """A part with its columns in its group."""

    part: Part
    columns: slice
    ordered_at: float | None = None
    """Time of the request that is not answered yet; None: no answer is awaited."""
    is_lost: bool = False
    has_reported: bool = False
    """Whether it was seen before: from then on its steps are numbered without gaps."""


class Group:
    """Owned by a `VectorCore`; its arrays have one entry per slot, parts side by side."""

    def __init__(
        self,
        layout: VectorLayout,
        index: int,
        first_row: int,
        parts: Sequence[Part],
        *,
        tells_terminal: bool = False,
    ) -> None:
        self.index = index
        self._tells_terminal = tells_terminal
        self.members: list[GroupMember] = []
        self._layout = layout
        slot_ids: list[NDArray[np.int64]] = []
        at = 0
        for part in parts:
            ids = part.instance_ids[:, None] * layout.num_agents + np.arange(layout.num_agents)
            slot_ids.append(ids.reshape(-1))
            self.members.append(GroupMember(part, slice(at, at + ids.size)))
            at += ids.size
        self.slot_id = np.concatenate(slot_ids)
        self.slots = slice(first_row, first_row + at)
        self._numbers: dict[str, NDArray[Any]] = {
            "slot_step": np.zeros(at, np.int64),
            "active": np.zeros(at, np.bool_),
            "episode": np.zeros(at, np.int64),
            "episode_step": np.zeros(at, np.int64),
            **{name: np.zeros(at, dtype) for name, dtype in OUTCOME_NUMBERS.items()},
        }
        if layout.mask_size:
            self._numbers["action_mask"] = np.ones((at, layout.mask_size), np.bool_)
        self._observation = {
            key: np.zeros((at, *shape), dtype) for key, (dtype, shape) in layout.observations.items()
        }
        self._num_outcomes = 0
        self._finals: list[tuple[NDArray[np.int64], Mapping[str, NDArray[Any]]]] = []
        self._episodes: list[EpisodeResult] = []
        self._step_seconds = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether no answer is awaited."""
        return all(member.ordered_at is None for member in self.members)

    def members_of(self, worker_id: int) -> Iterator[GroupMember]:
        """The worker's part, one at most."""
        return (member for member in self.members if member.part.worker_id == worker_id)

    def order(self, actions: NDArray[Any] | None, now: float) -> list[StepRequest]:
        """Ask every part but the lost ones, whose step brings nothing."""
        self._finals.clear()
        self._episodes.clear()
        self._step_seconds = 0.0
        orders: list[StepRequest] = []
        for member in self.members:
            if member.is_lost:
                self._invalidate(member)
                continue
            member.ordered_at = now
            own = None if actions is None else actions[member.columns]
            orders.append(StepRequest(member.part.worker_id, self.index, own))
        return orders

    def lose(self, member: GroupMember) -> None:
        """Mark a part's awaited step as invalid, and every later one."""
        member.is_lost = True
        self._numbers["active"][member.columns] = False
        if member.ordered_at is not None:
            member.ordered_at = None
            self._invalidate(member)

    def take(self, member: GroupMember, message: Observe) -> None:
        """Check a part's answer, then copy it to its columns.

        Raises: ProtocolError: naming what does not fit the game; nothing has changed then.
        """
        layout, columns = self._layout, member.columns
        num_slots, num_games = columns.stop - columns.start, len(member.part.instance_ids)
        new: dict[str, NDArray[Any]] = {"active": to_flags(message.active, "observe.active", (num_slots,))}
        for name in ("episode", "episode_step"):
            per_game = to_numpy(getattr(message, name), f"observe.{name}", "int32", (num_games,))
            new[name] = np.repeat(per_game, layout.num_agents)
        if layout.mask_size:
            if message.action_mask is None:
                raise malformed("observe.action_mask: missing", fix="this game has an action mask")
            shape = (num_slots, layout.mask_size)
            new["action_mask"] = to_flags(message.action_mask, "observe.action_mask", shape)
        observation = self._observations(message.observation, "observation", num_slots)
        outcome = message.outcome
        if outcome is not None:
            self._check_step(member, message.step)
            new |= _outcome(outcome, num_slots, layout.ticks_per_step)
            if outcome.episodes:
                # Reported in the block of the worker that has that instance, and by no other worker.
                _check_episodes(outcome.episodes, member.part.instance_ids, layout.num_agents)
            ended = new["truncated"] | (new["terminated"] & self._tells_terminal)
            column, finals = self._finals_of(outcome, ended)
            if len(column):
                self._finals.append((column + columns.start, finals))
            self._episodes += outcome.episodes
            self._step_seconds = max(self._step_seconds, outcome.step_seconds)
        for name, values in new.items():
            self._numbers[name][columns] = values
        for key, values in observation.items():
            self._observation[key][columns] = values
        self._numbers["slot_step"][columns] = message.step
        member.ordered_at = None
        member.has_reported = True

    def deliver(self, *, counted: bool) -> StepBatch:
        """The received outcomes, as views; `counted` unless they only answer a request to observe."""
        self._num_outcomes += counted
        columns = [column for column, _ in self._finals]
        final_observation = {
            key: np.concatenate([finals[key] for _, finals in self._finals])
            if columns
            else np.zeros((0, *shape), dtype)
            for key, (dtype, shape) in self._layout.observations.items()
        }
        numbers = self._numbers
        return StepBatch(
            group=self.index,
            slots=self.slots,
            slot_id=self.slot_id,
            num_outcomes=self._num_outcomes,
            slot_step=numbers["slot_step"],
            observation=self._observation,
            action_mask=numbers.get("action_mask"),
            active=numbers["active"],
            episode=numbers["episode"],
            episode_step=numbers["episode_step"],
            **{name: numbers[name] for name in OUTCOME_NUMBERS},
            final_column=np.concatenate(columns) if columns else NO_COLUMNS,
            final_observation=final_observation,
            episodes=tuple(self._episodes),
            step_seconds=self._step_seconds,
        )

    def _invalidate(self, member: GroupMember) -> None:
        """The step brought nothing; what was seen last stays."""
        for name in OUTCOME_NUMBERS:
            self._numbers[name][member.columns] = 0

    def _check_step(self, member: GroupMember, step: int) -> None:
        before = int(self._numbers["slot_step"][member.columns.start])
        if member.has_reported and step != before + 1:
            raise malformed(
                f"observe.step: {step} after {before}", fix="one more with each outcome (rule S2)"
            )

    def _finals_of(
        self, outcome: StepOutcome, ended: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], Mapping[str, NDArray[Any]]]:
        expected = np.flatnonzero(ended)
        if outcome.final_column is None:
            if len(expected):
                raise malformed("observe.final_column: missing", fix=f"rule E2: {self._which_finals()}")
            return NO_COLUMNS, {}
        column = to_numpy(outcome.final_column, "observe.final_column", "int32", (None,))
        if not np.array_equal(np.sort(column), expected):
            raise malformed(
                f"observe.final_column: {column[:8].tolist()}",
                fix=f"rule E2: {self._which_finals()}",
            )
        return column.astype(np.int64), self._observations(
            outcome.final_observation, "final_observation", len(column)
        )

    def _which_finals(self) -> str:
        kinds = "terminated and truncated" if self._tells_terminal else "truncated"
        return f"the {kinds} columns, once each"

    def _observations(self, tensors: dict[str, Tensor], name: str, rows: int) -> dict[str, NDArray[Any]]:
        wanted = self._layout.observations
        if set(tensors) != set(wanted):
            raise malformed(f"observe.{name}: keys {sorted(tensors)[:8]}", fix=f"keys are {list(wanted)}")
        return {
            key: to_numpy(tensors[key], f"observe.{name}.{key}", np.dtype(dtype), (rows, *shape))
            for key, (dtype, shape) in wanted.items()
        }


def _outcome(outcome: StepOutcome, num_slots: int, ticks_per_step: int) -> dict[str, NDArray[Any]]:
    shape = (num_slots,)
    arrays = step_numbers(outcome, OUTCOME_NUMBERS, "observe", shape)
    if bool((arrays["terminated"] & arrays["truncated"]).any()):
        raise malformed("observe.truncated: set beside terminated", fix="rule E1: terminated wins")
    ticks, valid = arrays["executed_ticks"], arrays["valid"]
    if int(ticks.max()) > ticks_per_step or bool((valid & (ticks == 0)).any()):
        raise malformed(
            f"observe.executed_ticks: {int(ticks.min())} to {int(ticks.max())}",
            fix=f"rule T2: a valid step executes 1 to {ticks_per_step} ticks",
        )
    if np.count_nonzero(valid) < num_slots:
        ended = arrays["terminated"] | arrays["truncated"]
        if bool((~valid & (ended | (arrays["reward"] != 0))).any()):
            raise malformed(
                "observe.reward, observe.terminated, observe.truncated: of an invalid step",
                fix="rule E9: an invalid step has no reward and ends nothing",
            )
    return arrays


def _check_episodes(episodes: list[EpisodeResult], instance_ids: NDArray[np.int64], num_agents: int) -> None:
    left = set(instance_ids.tolist())
    for episode in episodes:
        if episode.instance_id not in left:
            raise malformed(
                f"observe.episodes.instance_id: {episode.instance_id}",
                fix="one episode of each of the group's own instances ends in a step at most",
            )
        left.remove(episode.instance_id)
        if len(episode.returns) != num_agents:
            raise malformed(
                f"observe.episodes.returns: {len(episode.returns)} entries",
                fix=f"a return for each of {num_agents}",
            )


def even_parts(num_games: int, num_groups: int, num_workers: int) -> list[Part]:
    """Games 0 to `num_games` - 1 in `num_groups` ranges, each cut among all workers, as even as can be.

    Raises: ConfigurationError: when there are fewer games than parts.
    """
    if min(num_games, num_groups, num_workers) < 1 or num_games < num_groups * num_workers:
        raise ConfigurationError(
            f"I2: {num_games} games cannot be cut into {num_groups} groups for each of {num_workers} workers",
            setting="num_games",
            fix=f"use at least {max(1, num_groups) * max(1, num_workers)} games",
        )
    bounds = np.linspace(0, num_games, num_groups + 1).astype(int)
    parts: list[Part] = []
    for group in range(num_groups):
        inner = np.linspace(bounds[group], bounds[group + 1], num_workers + 1).astype(int)
        parts += [
            Part(worker, group, np.arange(inner[worker], inner[worker + 1])) for worker in range(num_workers)
        ]
    return parts
