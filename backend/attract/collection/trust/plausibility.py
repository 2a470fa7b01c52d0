"""Whether a block can follow what its worker sent before: everything that shows without playing again.

Each slot's steps go on where they stopped; an episode's return is the sum of its rewards, its length the
number of its steps, its end where the flags say. A game whose agents travel in several blocks is looked at
when the last of a segment has come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import Lease
from attract.errors import ProtocolError
from attract.schema.frames import malformed
from attract.schema.messages import Block, EpisodeColumns
from attract.schema.tensor import view

RETURN_SLACK: Final = 1e-5
"""Tolerance as a share of the sum of |reward|: rewards travel as 32 bits, returns are summed in 64."""


@dataclass(frozen=True, eq=False)
class Claim:
    """Numbers that one block, or several of one segment, claim for k slots; [horizon, k] unless stated."""

    places: NDArray[np.int64]
    """[k] of the slots among their lease's."""
    first_step: NDArray[np.int64]
    """[k]."""
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    ticks: NDArray[np.uint16]
    episodes: EpisodeColumns

    @classmethod
    def of(cls, block: Block, places: NDArray[np.int64]) -> Self:
        """What a block that `check_block` passed says."""
        return cls(
            places=places,
            first_step=view(block.first_step).astype(np.int64),
            reward=view(block.reward),
            terminated=view(block.terminated).view(np.bool_),
            truncated=view(block.truncated).view(np.bool_),
            valid=view(block.valid).view(np.bool_),
            ticks=view(block.executed_ticks),
            episodes=block.episodes,
        )

    def is_whole(self, num_agents: int) -> bool:
        """Whether it has all agents of each of its games, side by side."""
        if num_agents == 1:
            return True
        if len(self.places) % num_agents:
            return False
        games = self.places[::num_agents] // num_agents
        wanted = games[:, None] * num_agents + np.arange(num_agents)
        return bool((self.places.reshape(-1, num_agents) == wanted).all())


def joined_claim(parts: Sequence[Claim]) -> Claim:
    """What several blocks of one segment say, in the order of their slots."""
    order = np.argsort(np.concatenate([part.places for part in parts]))

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)[..., order]

    names = ("instance_id", "episode", "step", "returns", "length_steps", "length_ticks", "end_reason")
    columns = {name: [*chain.from_iterable(getattr(part.episodes, name) for part in parts)] for name in names}
    arrays = ("places", "first_step", "reward", "terminated", "truncated", "valid", "ticks")
    return Claim(
        **{name: joined(name) for name in arrays}, episodes=EpisodeColumns.model_construct(None, **columns)
    )


class Ends:
    """Where episodes end in a block of whole games: reported episodes, and steps in which a game failed.

    `count` of them are reported, in the order of the block's columns; `game` is the place of each among the
    block's games.
    """

    def __init__(self, horizon: int, num_agents: int, claim: Claim, instances: NDArray[np.int64]) -> None:
        columns = claim.episodes
        self.count = len(columns.instance_id)
        self._horizon, self._agents, self.num_games = horizon, num_agents, len(instances)
        place_of = {instance: place for place, instance in enumerate(instances.tolist())}
        self.game = np.array([place_of[instance_id] for instance_id in columns.instance_id], np.int64)
        self.step = np.array(columns.step, np.int64)
        self.is_finished = np.array([reason != "cut" for reason in columns.end_reason], np.bool_)
        self.is_at_limit = np.array([reason == "time_limit" for reason in columns.end_reason], np.bool_)
        places = self.game * horizon + self.step
        if len(np.unique(places)) != self.count:
            raise malformed(
                "block.episodes.step: two episodes end in one step", fix="report at most one end per step"
            )
        self.marks = np.unique(np.concatenate([places, self._failed(claim.valid)]))
        """[m] ascending: game * horizon + step of each end."""
        self._mark_of_episode = np.searchsorted(self.marks, places)
        mark_game = self.marks // horizon
        self._mark_is_first = np.ones(len(self.marks), np.bool_)
        self._mark_is_first[1:] = mark_game[1:] != mark_game[:-1]
        self.is_first = self._mark_is_first[self._mark_of_episode]
        """[count]: whether the episode may have begun before the block."""
        self.has_any = np.zeros(self.num_games, np.bool_)
        self.has_any[mark_game] = True

    def _failed(self, valid: NDArray[np.bool_]) -> NDArray[np.int64]:
        if np.count_nonzero(valid) == valid.size:
            return np.empty(0, np.int64)
        is_empty = ~valid.reshape(self._horizon, self.num_games, self._agents).any(axis=2)
        step, game = np.nonzero(is_empty)
        return game * self._horizon + step

    def lengths(self, before: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[count] steps of each reported episode; [games] steps of the open ones."""
        marks, horizon = self.marks, self._horizon
        if not len(marks):
            return np.empty(0, np.int64), before + horizon
        game = marks // horizon
        begin = np.where(self._mark_is_first, game * horizon - before[game], 0)
        begin[1:] = np.where(self._mark_is_first[1:], begin[1:], marks[:-1] + 1)
        steps = marks + 1 - begin
        last = np.full(self.num_games, -1, np.int64)
        last[game] = marks
        is_open = np.where(last >= 0, (np.arange(self.num_games) + 1) * horizon - 1 - last, before + horizon)
        return steps[self._mark_of_episode], is_open

    def sums(
        self, numbers: NDArray[Any], before: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[count, agents] sums over each episode that is told; [slots] those of the ones left open.

        Args:
            numbers: [horizon, slots].
            before: [slots] totals of the open episodes.
        """
        if not len(self.marks):
            return np.empty((0, self._agents)), before + numbers.sum(axis=0, dtype=np.float64)
        horizon, agents = self._horizon, self._agents
        flat = np.ascontiguousarray(numbers.T).reshape(-1)
        game, step = self.marks // horizon, self.marks % horizon
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
        of_episodes = pieces[at].reshape(-1, agents)[self._mark_of_episode]
        last = np.searchsorted(starts, (np.arange(numbers.shape[1]) + 1) * horizon - 1, "right") - 1
        is_open = pieces[last]
        is_open[slot[np.repeat(step, agents) == horizon - 1]] = 0.0
        return of_episodes, is_open


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
        """The number after that of the last reported episode."""
        self.is_known = np.zeros(num_slots // num_agents, np.bool_)
        """Whether all of the open episode was seen."""
        self.segment: tuple[int, int] | None = None
        """Lease and segment of `parts`."""
        self.parts: list[Claim] = []
        """Blocks of one segment whose games are not whole yet."""


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
        claim = Claim.of(block, places)
        self._check_first_step(lease, block.segment_index, state, claim)
        agents = self._limits.num_agents
        if claim.is_whole(agents):
            self._check_games(lease, state, claim)
            return
        segment = (lease.lease_id, block.segment_index)
        if state.segment != segment:
            # Blocks of a segment come one after the other: what is missing of the one before was refused.
            for part in state.parts:
                self._lose_track(state, part)
            state.segment, state.parts = segment, []
        state.parts.append(claim)
        joined = joined_claim(state.parts)
        if joined.is_whole(agents):
            state.segment, state.parts = None, []
            try:
                self._check_games(lease, state, joined)
            except BaseException:
                self._lose_track(state, joined)
                raise

    def _lose_track(self, state: _Open, claim: Claim) -> None:
        games = claim.places // self._limits.num_agents
        state.next_step[claim.places] = claim.first_step + self._horizon
        state.is_known[games], state.steps[games] = False, 0

    def _check_games(self, lease: Lease, state: _Open, claim: Claim) -> None:
        agents, places, first_step = self._limits.num_agents, claim.places, claim.first_step
        games = places[::agents] // agents
        follows = first_step == state.next_step[places]
        is_known = (state.is_known[games] & follows[::agents]) | (first_step[::agents] == 0)
        goes_on = follows[::agents] & (first_step[::agents] > 0)
        carried = np.repeat(is_known & goes_on, agents)
        ends = Ends(self._horizon, agents, claim, games + lease.first_slot // agents)
        is_sure = ends.is_finished & (is_known[ends.game] | ~ends.is_first)
        check_flags = _check_flags if agents == 1 else _check_flags_of_agents
        check_flags(ends, claim, self._limits.ticks_per_step)
        steps, open_steps = ends.lengths(np.where(goes_on, state.steps[games], 0))
        _check_lengths(self._limits, claim.episodes, ends, is_sure, steps, open_steps)
        episode = np.array(claim.episodes.episode, np.int64)
        _check_numbers(episode, ends.game, state.next_episode[games])
        sums, open_reward = ends.sums(claim.reward, np.where(carried, state.reward[places], 0.0))
        sizes, open_size = ends.sums(np.abs(claim.reward), np.where(carried, state.magnitude[places], 0.0))
        _check_returns(claim.episodes, is_sure, sums, sizes)
        state.next_step[places] = first_step + self._horizon
        state.reward[places], state.magnitude[places] = open_reward, open_size
        state.steps[games], state.is_known[games] = open_steps, is_known | ends.has_any
        np.maximum.at(state.next_episode, games[ends.game], episode + 1)

    def forget(self, worker_id: int) -> None:
        """A block that was taken in is withdrawn: where its worker's games stand is not known any more."""
        self._open.pop(worker_id, None)

    def _check_first_step(self, lease: Lease, segment: int, state: _Open, claim: Claim) -> None:
        places, first_step = claim.places, claim.first_step
        wrong = first_step < state.next_step[places]
        base = first_step - segment * self._horizon
        if lease.sends_blocks:
            if lease.first_steps is None:
                lease.first_steps = np.full(lease.num_slots, -1, np.int64)
            known = lease.first_steps[places]
            wrong |= ((known >= 0) & (known != base)) | (base < 0)
        if np.count_nonzero(wrong):
            column = int(np.flatnonzero(wrong)[0])
            raise malformed(
                f"block.first_step: {int(first_step[column])} in column {column}",
                fix="a slot's steps are numbered without gaps, from lease to lease (rule S2)",
            )
        # Under central inference steps are played and lost where a socket breaks within a lease.
        if lease.first_steps is not None:
            lease.first_steps[places] = base


def _check_lengths(
    limits: GameLimits,
    columns: EpisodeColumns,
    ends: Ends,
    is_sure: NDArray[np.bool_],
    steps: NDArray[np.int64],
    open_steps: NDArray[np.int64],
) -> None:
    per_step, most = limits.ticks_per_step, limits.most_steps
    if ends.count:
        said, ticks = np.array(columns.length_steps, np.int64), np.array(columns.length_ticks, np.int64)
        wrong = ends.is_finished & ((ticks > said * per_step) | (ticks <= (said - 1) * per_step))
        _refuse("length_ticks", ticks, wrong, "every step but the last runs all its ticks (rule T2)")
        _refuse("length_steps", said, is_sure & (said != steps), "an episode's length is that of its steps")
        wrong = ends.is_finished & ((said > most) | (ends.is_at_limit & (said != most))) & (most > 0)
        _refuse("length_steps", said, wrong, f"an episode that reaches the time limit has {most} steps")
    # Where the beginning was not seen, the episode has these steps and more.
    if most and len(open_steps) and int(open_steps.max()) > most:
        raise malformed(
            f"block.truncated: an episode of {int(open_steps.max())} steps goes on",
            fix=f"the time limit ends it after {most} steps",
        )


def _check_returns(
    columns: EpisodeColumns,
    is_sure: NDArray[np.bool_],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    said = np.array(columns.returns).reshape(sums.shape)
    wrong = is_sure[:, None] & (np.abs(said - sums) > RETURN_SLACK * (1.0 + sizes))
    if np.count_nonzero(wrong):
        episode, agent = np.argwhere(wrong)[0].tolist()
        raise malformed(
            f"block.episodes.returns: {said[episode, agent]:g}, its rewards come to {sums[episode, agent]:g}",
            fix="an episode's return is the sum of its rewards (rule T2)",
        )


def _check_numbers(episode: NDArray[np.int64], game: NDArray[np.int64], first: NDArray[np.int64]) -> None:
    """An episode is reported once: the numbers of a game's episodes only rise."""
    if not len(episode):
        return
    fix = "a game's episodes are numbered without gaps (rule C5)"
    _refuse("episode", episode, episode < first[game], fix)
    if np.unique(np.stack((game, episode)), axis=1).shape[1] < len(episode):
        raise malformed("block.episodes.episode: one twice", fix=fix)


def _check_flags(ends: Ends, claim: Claim, ticks_per_step: int) -> None:
    """Games of one agent: an episode is reported exactly where a flag is set, and says which."""
    terminated, ticks = claim.terminated, claim.ticks
    ended = terminated | claim.truncated
    if np.count_nonzero(ended) != ends.count or not bool(ended[ends.step, ends.game].all()):
        raise malformed(
            f"block.episodes.step: {ends.count} episodes, {np.count_nonzero(ended)} steps with an end",
            fix="report each end in its own step (rule E1)",
        )
    if ends.count:
        is_terminated = np.array([reason == "terminated" for reason in claim.episodes.end_reason], np.bool_)
        if bool((terminated[ends.step, ends.game] != is_terminated).any()):
            raise malformed(
                "block.episodes.end_reason: not what the flags say", fix="`terminated` where that flag is set"
            )
    if int(ticks.min()) < ticks_per_step and bool(((ticks < ticks_per_step) & claim.valid & ~ended).any()):
        raise _short_step()


def _check_flags_of_agents(ends: Ends, claim: Claim, ticks_per_step: int) -> None:
    """Games of several agents: each agent in an episode's last step ends with it."""
    horizon, num_slots = claim.valid.shape
    agents = num_slots // ends.num_games
    by_game = (horizon, ends.num_games, agents)
    going_on = (claim.valid & ~(claim.terminated | claim.truncated)).reshape(by_game)
    step, game = ends.step[ends.is_finished], ends.game[ends.is_finished]
    if bool(going_on[step, game].any()):
        raise malformed(
            "block.terminated, block.truncated: not set where an episode ends",
            fix="each agent that took part in an episode's last step ends with it (rules E1, E9)",
        )
    short = ((claim.ticks < ticks_per_step) & claim.valid).reshape(by_game).any(axis=2)
    if short.any():
        step, game = np.nonzero(short)
        if not np.isin(game * horizon + step, ends.marks).all():
            raise _short_step()


def _short_step() -> ProtocolError:
    return malformed(
        "block.executed_ticks: a step stops before its last tick and nothing ends",
        fix="only an episode's last step is shorter (rule T2)",
    )


def _refuse(field: str, said: NDArray[np.int64], wrong: NDArray[np.bool_], fix: str) -> None:
    if np.count_nonzero(wrong):
        raise malformed(f"block.episodes.{field}: {int(said[wrong][0])}", fix=fix)
