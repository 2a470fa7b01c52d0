"""The games that a segment's blocks claim: their steps and where episodes end; read by `plausibility`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attract.schema.frames import malformed
from attract.schema.messages import Block, EpisodeColumns


@dataclass(frozen=True, eq=False)
class Claim:
    """What one block, or several of one segment, say of k slots; [horizon, k] unless told otherwise."""

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
        shape = block.valid.shape
        return cls(
            places=places,
            first_step=np.frombuffer(block.first_step.data, "<i4").astype(np.int64),
            reward=np.frombuffer(block.reward.data, "<f4").reshape(shape),
            terminated=np.frombuffer(block.terminated.data, np.bool_).reshape(shape),
            truncated=np.frombuffer(block.truncated.data, np.bool_).reshape(shape),
            valid=np.frombuffer(block.valid.data, np.bool_).reshape(shape),
            ticks=np.frombuffer(block.executed_ticks.data, "<u2").reshape(shape),
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
    places = np.concatenate([part.places for part in parts])
    order = np.argsort(places)

    def columns(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(arrays, axis=1)[:, order]

    def episodes(name: str) -> list[Any]:
        return list(chain.from_iterable(getattr(part.episodes, name) for part in parts))

    names = ("instance_id", "episode", "step", "returns", "length_steps", "length_ticks", "end_reason")
    return Claim(
        places=places[order],
        first_step=np.concatenate([part.first_step for part in parts])[order],
        reward=columns([part.reward for part in parts]),
        terminated=columns([part.terminated for part in parts]),
        truncated=columns([part.truncated for part in parts]),
        valid=columns([part.valid for part in parts]),
        ticks=columns([part.ticks for part in parts]),
        episodes=EpisodeColumns.model_construct(None, **{name: episodes(name) for name in names}),
    )


class Ends:
    """Where episodes end in a block of whole games: those that are told of, and steps in which a game failed.

    `count` of them are told, in the order of the block's columns; `game` is the place of each among the
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
            raise malformed("block.episodes.step: two episodes end in one step", fix="one ends in a step")
        failed = self._failed(claim.valid)
        marks = np.sort(np.concatenate([places, failed])) if len(failed) else np.sort(places)
        self.marks = np.unique(marks)
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
        """[count] steps of each episode that is told; [games] steps of the ones left open."""
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
