"""Whether a block can follow what its worker sent before: everything that can be told without playing again.

Each slot's steps go on where they stopped; an episode's return is the sum of its rewards, its length the
number of its steps, its end where the flags say.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import Lease
from attract.schema.frames import malformed
from attract.schema.messages import Block, EpisodeColumns

RETURN_SLACK: Final = 1e-5
"""Of the sum of |reward|: rewards travel as 32 bits, returns are summed in 64."""


@dataclass(frozen=True)
class GameLimits:
    """What the game says of its episodes."""

    num_agents: int
    ticks_per_step: int
    most_steps: int
    """Steps after which an episode ends by the time limit; 0: there is none."""


class _Open:
    """Where the games of one worker stand: [slots] or [instances] each."""

    def __init__(self, num_slots: int, num_agents: int) -> None:
        self.next_step = np.full(num_slots, -1, np.int64)
        """The number of the step after the last one accepted; -1 before the first."""
        self.reward = np.zeros(num_slots)
        self.magnitude = np.zeros(num_slots)
        """Sums of the open episode's rewards, and of their absolute values."""
        self.steps = np.zeros(num_slots // num_agents, np.int64)
        """Steps of the open episode, as far as they were seen."""
        self.next_episode = np.zeros(num_slots // num_agents, np.int64)
        """The number after that of the last episode that was told."""
        self.is_known = np.zeros(num_slots // num_agents, np.bool_)
        """Whether all of the open episode was seen."""


class Plausibility:
    """Remembers the open episodes of every worker; owned by the acceptance."""

    def __init__(self, limits: GameLimits, horizon: int) -> None:
        self._limits = limits
        self._horizon = horizon
        self._open: dict[int, _Open] = {}

    def check(self, lease: Lease, block: Block, columns: slice | NDArray[np.int64]) -> None:
        """Take in a block of a training lease that will be accepted.

        Args:
            lease: what it is played under.
            block: as `check_block` passed it, of whole columns of that lease.
            columns: places of its slots among the lease's.

        Raises: ProtocolError: naming the field that cannot be so; then nothing is remembered of the block.
        """
        state = self._open.get(lease.worker_id)
        if state is None:
            state = self._open[lease.worker_id] = _Open(lease.num_slots, self._limits.num_agents)
        places = np.arange(lease.num_slots)[columns] if isinstance(columns, slice) else columns
        first_step = np.frombuffer(block.first_step.data, "<i4").astype(np.int64)
        self._check_first_step(lease, block.segment_index, state, places, first_step)
        follows = first_step == state.next_step[places]
        agents = self._limits.num_agents
        games = places[::agents] // agents
        is_whole = agents == 1 or (
            len(places) % agents == 0
            and bool((places.reshape(-1, agents) == games[:, None] * agents + np.arange(agents)).all())
        )
        if not is_whole:
            # Of a game whose agents travel apart nothing is known; its next whole block begins anew.
            state.next_step[places] = first_step + self._horizon
            state.is_known[places // agents], state.steps[places // agents] = False, 0
            return
        is_known = (state.is_known[games] & follows[::agents]) | (first_step[::agents] == 0)
        goes_on = follows[::agents] & (first_step[::agents] > 0)
        carried = is_known & goes_on
        of_slots = np.repeat(carried, agents)
        told = block.episodes
        ends = _Ends(self._horizon, agents, block, games + lease.first_slot // agents)
        if agents == 1:
            _check_flags(ends, block, self._limits.ticks_per_step)
        steps, open_steps = ends.lengths(np.where(goes_on, state.steps[games], 0))
        self._check_lengths(told, ends, steps, is_known)
        self._check_open(open_steps)
        episode = np.array(told.episode, np.int64)
        _check_numbers(episode, ends.game, state.next_episode[games])
        rewards = np.frombuffer(block.reward.data, "<f4").reshape(block.reward.shape)
        sums, open_reward = ends.sums(rewards, np.where(of_slots, state.reward[places], 0.0))
        sizes, open_size = ends.sums(np.abs(rewards), np.where(of_slots, state.magnitude[places], 0.0))
        self._check_returns(told, ends, sums, sizes, is_known)
        state.next_step[places] = first_step + self._horizon
        state.reward[places], state.magnitude[places] = open_reward, open_size
        state.steps[games], state.is_known[games] = open_steps, is_known | ends.has_any
        np.maximum.at(state.next_episode, games[ends.game], episode + 1)

    def forget(self, worker_id: int) -> None:
        """A block that was taken in is withdrawn: where its worker's games stand is not known any more."""
        self._open.pop(worker_id, None)

    def _check_first_step(
        self,
        lease: Lease,
        segment: int,
        state: _Open,
        places: NDArray[np.int64],
        first_step: NDArray[np.int64],
    ) -> None:
        base = first_step - segment * self._horizon
        if lease.first_steps is None:
            lease.first_steps = np.full(lease.num_slots, -1, np.int64)
        known = lease.first_steps[places]
        wrong = ((known >= 0) & (known != base)) | (base < 0) | (first_step < state.next_step[places])
        if np.count_nonzero(wrong):
            column = int(np.flatnonzero(wrong)[0])
            raise malformed(
                f"block.first_step: {int(first_step[column])} in column {column}",
                fix="a slot's steps are counted through: those of a lease follow each other (rule S2)",
            )
        lease.first_steps[places] = base

    def _check_lengths(
        self,
        told: EpisodeColumns,
        ends: "_Ends",
        steps: NDArray[np.int64],
        is_known: NDArray[np.bool_],
    ) -> None:
        if not ends.count:
            return
        said = np.array(told.length_steps, np.int64)
        ticks = np.array(told.length_ticks, np.int64)
        per_step, most = self._limits.ticks_per_step, self._limits.most_steps
        wrong = ends.is_finished & ((ticks > said * per_step) | (ticks <= (said - 1) * per_step))
        _refuse("length_ticks", ticks, wrong, "every step but the last runs all its ticks (rule T2)")
        is_sure = ends.is_finished & (is_known[ends.game] | ~ends.is_first)
        _refuse("length_steps", said, is_sure & (said != steps), "an episode's length is that of its steps")
        if most:
            wrong = ends.is_finished & ((said > most) | (ends.is_at_limit & (said != most)))
            _refuse("length_steps", said, wrong, f"the time limit is {most} steps, for whoever reaches it")

    def _check_open(self, open_steps: NDArray[np.int64]) -> None:
        # Where the beginning was not seen, the episode has these steps and more.
        most = self._limits.most_steps
        if most and len(open_steps) and int(open_steps.max()) > most:
            raise malformed(
                f"block.truncated: an episode of {int(open_steps.max())} steps goes on",
                fix=f"the time limit ends it after {most} steps",
            )

    def _check_returns(
        self,
        told: EpisodeColumns,
        ends: "_Ends",
        sums: NDArray[np.float64],
        sizes: NDArray[np.float64],
        is_known: NDArray[np.bool_],
    ) -> None:
        if not ends.count:
            return
        said = np.array(told.returns).reshape(ends.count, self._limits.num_agents)
        is_sure = ends.is_finished & (is_known[ends.game] | ~ends.is_first)
        wrong = is_sure[:, None] & (np.abs(said - sums) > RETURN_SLACK * (1.0 + sizes))
        if np.count_nonzero(wrong):
            episode, agent = (int(one) for one in np.argwhere(wrong)[0])
            raise malformed(
                f"block.episodes.returns: {said[episode, agent]:g}, its rewards come to "
                f"{sums[episode, agent]:g}",
                fix="an episode's return is the sum of its rewards (rule T2)",
            )


class _Ends:
    """Where episodes end in a block of whole games: those that are told of, and steps in which a game failed.

    `count` of them are told, in the order of the block's columns; `game` is the place of each among the
    block's games.
    """

    def __init__(self, horizon: int, num_agents: int, block: Block, instances: NDArray[np.int64]) -> None:
        told = block.episodes
        self.count = len(told.instance_id)
        self._horizon, self._agents, self._games = horizon, num_agents, len(instances)
        place_of = {instance: place for place, instance in enumerate(instances.tolist())}
        self.game = np.array([place_of[one] for one in told.instance_id], np.int64)
        self.step = np.array(told.step, np.int64)
        self.is_finished = np.array([one != "cut" for one in told.end_reason], np.bool_)
        self.is_at_limit = np.array([one == "time_limit" for one in told.end_reason], np.bool_)
        places = self.game * horizon + self.step
        if len(np.unique(places)) != self.count:
            raise malformed("block.episodes.step: two episodes end in one step", fix="one ends in a step")
        failed = self._failed(block)
        marks = np.sort(np.concatenate([places, failed])) if len(failed) else np.sort(places)
        self._marks = np.unique(marks)
        """[m] ascending: game * horizon + step of each end."""
        self._mark_of_told = np.searchsorted(self._marks, places)
        mark_game = self._marks // horizon
        self._mark_is_first = np.ones(len(self._marks), np.bool_)
        self._mark_is_first[1:] = mark_game[1:] != mark_game[:-1]
        self.is_first = self._mark_is_first[self._mark_of_told]
        """[count]: whether the episode may have begun before the block."""
        self.has_any = np.zeros(self._games, np.bool_)
        self.has_any[mark_game] = True

    def _failed(self, block: Block) -> NDArray[np.int64]:
        valid = np.frombuffer(block.valid.data, np.uint8)
        if np.count_nonzero(valid) == valid.size:
            return np.empty(0, np.int64)
        nobody = ~valid.reshape(self._horizon, self._games, self._agents).any(axis=2)
        step, game = np.nonzero(nobody)
        return game * self._horizon + step

    def lengths(self, before: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[count] steps of each episode that is told; [games] steps of the ones left open."""
        marks, horizon = self._marks, self._horizon
        if not len(marks):
            return np.empty(0, np.int64), before + horizon
        game = marks // horizon
        begin = np.where(self._mark_is_first, game * horizon - before[game], 0)
        begin[1:] = np.where(self._mark_is_first[1:], begin[1:], marks[:-1] + 1)
        steps = marks + 1 - begin
        last = np.full(self._games, -1, np.int64)
        last[game] = marks
        is_open = np.where(last >= 0, (np.arange(self._games) + 1) * horizon - 1 - last, before + horizon)
        return steps[self._mark_of_told], is_open

    def sums(
        self, numbers: NDArray[Any], before: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[count, agents] sums over each episode that is told; [slots] those of the ones left open.

        Args:
            numbers: [horizon, slots].
            before: [slots] what the open episodes had come to.
        """
        if not len(self._marks):
            return np.empty((0, self._agents)), before + numbers.sum(axis=0, dtype=np.float64)
        horizon, agents = self._horizon, self._agents
        flat = np.ascontiguousarray(numbers.T).reshape(-1)
        game, step = self._marks // horizon, self._marks % horizon
        slot = (game[:, None] * agents + np.arange(agents)).reshape(-1)
        end = slot * horizon + np.repeat(step, agents)
        starts = np.unique(
            np.concatenate([np.arange(numbers.shape[1]) * horizon, end[end % horizon < horizon - 1] + 1])
        )
        pieces = np.add.reduceat(flat, starts, dtype=np.float64)
        slot_of = starts // horizon
        begins_column = starts % horizon == 0
        pieces[begins_column] += before[slot_of[begins_column]]
        at = np.searchsorted(starts, end, "right") - 1
        told = pieces[at].reshape(-1, agents)[self._mark_of_told]
        last = np.searchsorted(starts, (np.arange(numbers.shape[1]) + 1) * horizon - 1, "right") - 1
        is_open = pieces[last]
        is_open[slot[np.repeat(step, agents) == horizon - 1]] = 0.0
        return told, is_open


def _check_numbers(episode: NDArray[np.int64], game: NDArray[np.int64], first: NDArray[np.int64]) -> None:
    """What was played once is not told again: a game's episodes have ever higher numbers."""
    if not len(episode):
        return
    pairs = np.stack((game, episode))
    _refuse("episode", episode, episode < first[game], "a game's episodes are counted through (rule C5)")
    if np.unique(pairs, axis=1).shape[1] < len(episode):
        raise malformed(
            "block.episodes.episode: one twice", fix="a game's episodes are counted through (rule C5)"
        )


def _check_flags(ends: _Ends, block: Block, ticks_per_step: int) -> None:
    """Games of one agent: an episode is told of exactly where a flag is, and says which."""
    shape = block.terminated.shape
    terminated = np.frombuffer(block.terminated.data, np.bool_).reshape(shape)
    truncated = np.frombuffer(block.truncated.data, np.bool_).reshape(shape)
    ended = terminated | truncated
    if np.count_nonzero(ended) != ends.count or not bool(ended[ends.step, ends.game].all()):
        raise malformed(
            f"block.episodes.step: {ends.count} episodes, {np.count_nonzero(ended)} steps with an end",
            fix="each end is told of, in its own step (rule E1)",
        )
    if ends.count:
        is_terminated = np.array([one == "terminated" for one in block.episodes.end_reason], np.bool_)
        if bool((terminated[ends.step, ends.game] != is_terminated).any()):
            raise malformed(
                "block.episodes.end_reason: not what the flags say", fix="`terminated` where that flag is set"
            )
    ticks = np.frombuffer(block.executed_ticks.data, "<u2").reshape(shape)
    if int(ticks.min()) < ticks_per_step:
        valid = np.frombuffer(block.valid.data, np.bool_).reshape(shape)
        if bool(((ticks < ticks_per_step) & valid & ~ended).any()):
            raise malformed(
                "block.executed_ticks: a step stops before its last tick and nothing ends",
                fix="only an episode's last step is shorter (rule T2)",
            )


def _refuse(field: str, said: NDArray[np.int64], wrong: NDArray[np.bool_], fix: str) -> None:
    if np.count_nonzero(wrong):
        raise malformed(f"block.episodes.{field}: {int(said[wrong][0])}", fix=fix)
