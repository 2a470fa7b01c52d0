"""Replays of segments: the order to play one again, and the comparison with what was claimed (rule C10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import Lesson
from attract.schema.episodes import Episode, Episodes
from attract.schema.messages import Block, EpisodeTerms, ReplayOrder, Tensor
from attract.schema.tensor import from_numpy, view

MAX_HISTORY_BYTES: Final = 256 * 1024
"""Actions of one episode of one instance that are kept; a longer one cannot be played again."""
LAST_EPISODE: Final = 2**32 - 1
"""A stream is named by 32 bits of it (rule C5)."""
TOLERANCE: Final = 1e-5
"""Floats of two browsers agree within this times max(1, |x|): engines differ in the last bits of a sine."""

Columns = tuple[Block, NDArray[np.int64]]
"""A block, and the columns of it that one instance has, in the order of its agents."""


@dataclass(frozen=True, eq=False)
class Play:
    """One segment of one instance as its game decided it, agents in order; arrays are copies."""

    steps: Mapping[str, NDArray[Any]]
    """[horizon, agents, ...] each: flags, ticks, rewards, masks, observations as `obs.<key>`."""
    after: Mapping[str, NDArray[Any]]
    """[agents, ...] each: observations after the last step."""
    finals: Mapping[tuple[int, int], Mapping[str, NDArray[Any]]]
    """By (step, agent): observations before the reset."""
    action: NDArray[Any]
    """[horizon, agents, ...]."""
    episodes: tuple[Episode, ...]
    """Those that ended, in order."""

    @property
    def num_failed(self) -> int:
        """Steps in which the game failed: no agent took part."""
        return int(np.count_nonzero(~self.steps["valid"].astype(np.bool_).any(axis=1)))


@dataclass(eq=False)
class History:
    """The running episode of one instance from its start, as replays of its next segment need it."""

    next_step: int = 0
    """The slots' own step counter where the next segment begins if nothing is missing."""
    is_known: bool = True
    episode: int = 0
    begun: Lesson | None = None
    """Under which that episode was started; None before the first."""
    actions: list[NDArray[Any]] = field(default_factory=list[NDArray[Any]])
    """[steps, agents, ...] each, one after the other, since it began."""
    num_bytes: int = 0

    def take(
        self, first_step: int, lesson: Lesson, action: NDArray[Any], ended: Episode | None, failed_at: int
    ) -> "Beginning | None":
        """Follow one more segment.

        Args:
            first_step: the slots' own step counter at its first step.
            lesson: of the lease that it was played for.
            action: [horizon, agents, ...], a copy.
            ended: the last episode that ended in it, as its worker says.
            failed_at: the last step in which the game failed; -1 when it did not.

        Returns: where the segment begins; None when that is not known.
        """
        if first_step < self.next_step:
            return None
        if self.begun is None:
            self.begun, self.is_known = lesson, first_step == 0
        elif first_step != self.next_step:
            self.forget()
        self.next_step = first_step + len(action)
        beginning = Beginning(self.episode, self.begun, tuple(self.actions)) if self.is_known else None
        if ended is not None:
            # What its worker says of the number is checked when it is played again.
            self.forget()
            self.episode, self.begun = ended.episode + 1, lesson
            self.is_known = self.episode <= LAST_EPISODE
            action = action[ended.step + 1 :]
        if failed_at > (-1 if ended is None else ended.step):
            # Games that cannot start are passed over: only the next episode that ends says which it was.
            self.forget()
        elif self.is_known and len(action):
            self.actions.append(action)
            self.num_bytes += action.nbytes
            if self.num_bytes > MAX_HISTORY_BYTES:
                self.forget()
        return beginning

    def forget(self) -> None:
        """The running episode cannot be played again."""
        self.is_known = False
        self.actions = []
        self.num_bytes = 0


@dataclass(frozen=True, eq=False)
class Beginning:
    """How an instance came to where a segment begins."""

    episode: int
    begun: Lesson
    actions: tuple[NDArray[Any], ...]


def order_of(instance_id: int, first_step: int, begin: Beginning, lesson: Lesson, play: Play) -> ReplayOrder:
    """The order to play that segment again."""
    action = np.concatenate([*begin.actions, play.action])
    return ReplayOrder(
        instance_id=instance_id,
        episode=begin.episode,
        first_step=first_step,
        num_before=len(action) - len(play.action),
        action=from_numpy(action),
        begun=_terms(begin.begun),
        terms=_terms(lesson),
    )


def play_of(parts: Sequence[Columns], num_agents: int) -> Play:
    """What blocks that `check_block` passed say of one instance: together they have all of its agents."""
    order = np.argsort(np.concatenate([view(block.slot_id)[columns] for block, columns in parts]))

    def joined(tensors: Sequence[Tensor], axis: int) -> NDArray[Any]:
        taken = [
            np.take(view(tensor), columns, axis) for tensor, (_, columns) in zip(tensors, parts, strict=True)
        ]
        return np.take(np.concatenate(taken, axis) if len(taken) > 1 else taken[0], order, axis)

    first = parts[0][0]
    names = ["valid", "terminated", "truncated", "executed_ticks", "reward"]
    names += ["action_mask"] if first.action_mask is not None else []
    steps = {name: joined([getattr(block, name) for block, _ in parts], 1) for name in names}
    after: dict[str, NDArray[Any]] = {}
    for key in first.observation:
        steps[f"obs.{key}"] = joined([block.observation[key] for block, _ in parts], 1)
        after[key] = joined([block.bootstrap_observation[key] for block, _ in parts], 0)
    finals: dict[tuple[int, int], dict[str, NDArray[Any]]] = {}
    episodes: list[Episode] = []
    for block, columns in parts:
        slots = view(block.slot_id)
        instance = int(slots[columns[0]]) // num_agents
        episodes += [
            episode for episode in Episodes(block.episodes, num_agents) if episode.instance_id == instance
        ]
        finals |= _finals(block, columns, slots % num_agents)
    episodes.sort(key=lambda episode: episode.step)
    action = joined([block.action for block, _ in parts], 1)
    return Play(steps, after, finals, action, tuple(episodes))


def difference(claimed: Play, replayed: Play) -> str | None:
    """The first difference between a worker's segment and its replay, in words; None: they agree.

    What a game leaves in the memory of an agent that takes no part means nothing (rule E9).
    """
    valid = claimed.steps["valid"].astype(np.bool_)
    found: list[tuple[int, str]] = []
    for name, values in claimed.steps.items():
        replayed_values = replayed.steps[name]
        differs = _differs(values, replayed_values)
        # All but the flags themselves: only where the agent took part.
        differs &= valid if name in ("executed_ticks", "action_mask") or name.startswith("obs.") else True
        if differs.any():
            step, agent = (int(index) for index in np.argwhere(differs)[0])
            what = _shown(values[step, agent], replayed_values[step, agent])
            found.append((step, f"{name} of agent {agent} at step {step}: {what}"))
    if found:
        return min(found)[1]
    for place, values in claimed.finals.items():
        replayed_values = replayed.finals.get(place)
        if replayed_values is None or any(
            _differs(values[key][None], replayed_values[key][None]).any() for key in values
        ):
            return f"final observation of agent {place[1]} at step {place[0]}"
    if claimed.finals.keys() != replayed.finals.keys():
        return "final observations of other steps"
    ended = (claimed.steps["terminated"] | claimed.steps["truncated"]).astype(np.bool_)[-1]
    # A single agent sees the next episode's first observation; of several one may be away.
    goes_on = valid[-1] & ~ended if valid.shape[1] > 1 else valid[-1]
    for key, values in claimed.after.items():
        count = len(goes_on)
        apart = _differs(values.reshape(count, -1), replayed.after[key].reshape(count, -1))
        if (apart.any(axis=1) & goes_on).any():
            return f"observation {key} after the last step"
    return _episodes_differ(claimed.episodes, replayed.episodes)


def _episodes_differ(claimed: Sequence[Episode], replayed: Sequence[Episode]) -> str | None:
    steps_claimed, steps_replayed = (
        [episode.step for episode in episodes] for episodes in (claimed, replayed)
    )
    if steps_claimed != steps_replayed:
        return f"episodes that end at steps {steps_claimed}: {steps_replayed}"
    for mine, again in zip(claimed, replayed, strict=True):
        for name in ("episode", "length_steps", "length_ticks", "end_reason", "lesson_id"):
            if getattr(mine, name) != getattr(again, name):
                return f"{name} of an episode: {_shown(getattr(mine, name), getattr(again, name))}"
        if not _near(mine.returns, again.returns):
            return f"return of an episode: {_shown(mine.returns[0], again.returns[0])}"
        for name in ("metrics", "reward_terms"):
            one, other = getattr(mine, name), getattr(again, name)
            if one.keys() != other.keys() or not _near(list(one.values()), [other[key] for key in one]):
                return f"{name} of an episode"
    return None


def _near(claimed: Sequence[float], replayed: Sequence[float]) -> bool:
    pair = (np.array([numbers], np.float64) for numbers in (claimed, replayed))
    return len(claimed) == len(replayed) and not _differs(*pair).any()


def _differs(claimed: NDArray[Any], replayed: NDArray[Any]) -> NDArray[np.bool_]:
    """[a, b] of [a, b, ...], or [a] of [a, ...]: whether any number there differs."""
    if claimed.dtype.kind == "f":
        tolerance = max(TOLERANCE, float(np.finfo(claimed.dtype).eps))
        expected = replayed.astype(np.float64)
        away = np.abs(claimed.astype(np.float64) - expected) > tolerance * np.maximum(1.0, np.abs(expected))
    else:
        away = np.not_equal(claimed, replayed)
    if away.ndim <= 2:
        return np.asarray(away, np.bool_)
    return np.asarray(away.reshape(*away.shape[:2], -1).any(axis=2), np.bool_)


def _shown(claimed: Any, replayed: Any) -> str:
    if np.ndim(claimed):
        place = tuple(np.argwhere(np.asarray(claimed) != np.asarray(replayed))[0])
        claimed, replayed = claimed[place], replayed[place]
    if isinstance(claimed, str):
        return f"{claimed}, {replayed}"
    return f"{claimed:.6g} reported, {replayed:.6g} in the replay"


def _finals(
    block: Block, columns: NDArray[np.int64], agents: NDArray[Any]
) -> dict[tuple[int, int], dict[str, NDArray[Any]]]:
    final = block.final_observations
    if final is None:
        return {}
    steps, at = view(final.step), view(final.column)
    arrays = {key: view(tensor) for key, tensor in final.observation.items()}
    return {
        (int(steps[i]), int(agents[at[i]])): {key: array[i].copy() for key, array in arrays.items()}
        for i in np.flatnonzero(np.isin(at, columns)).tolist()
    }


def _terms(lesson: Lesson) -> EpisodeTerms:
    return EpisodeTerms(lesson_id=lesson.lesson_id, parameters=dict(lesson.parameters))
