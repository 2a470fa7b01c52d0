"""Which recorded episodes a run keeps: of those that came at once, and of all when there are too many."""

import heapq
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from attract.schema.recorded_episode import EpisodeEntry, EpisodeRole, RecordedEpisode

MAX_STARRED = 200
MAX_FAILURES = 50


@dataclass(frozen=True)
class EpisodeLimits:
    """How much a run keeps. Zero of either: nothing."""

    max_bytes: int
    max_episodes: int


def extremes(
    episodes: Sequence[RecordedEpisode], returns: Sequence[float] = ()
) -> list[tuple[EpisodeRole, RecordedEpisode]]:
    """The best, the worst and the median of some episodes by their mean return, each episode once.

    Args:
        episodes: of which one is the best, and one the worst; perhaps with others left out.
        returns: of all that were played, whose median is meant; empty: those of `episodes`.
    """
    if not episodes:
        return []
    by_return = sorted(episodes, key=lambda episode: episode.mean_return)
    middle = statistics.median(returns or [episode.mean_return for episode in episodes])
    roles: list[tuple[EpisodeRole, RecordedEpisode]] = [("best", by_return[-1])]
    if len(by_return) > 1:
        roles.append(("worst", by_return[0]))
    if between := by_return[1:-1]:
        roles.append(("median", min(between, key=lambda episode: abs(episode.mean_return - middle))))
    return roles


def is_protected(entry: EpisodeEntry) -> bool:
    """Whether only a person removes it: a starred episode, and the first of each kind of failure."""
    return entry.starred or entry.source == "failure"


def surplus(entries: Sequence[EpisodeEntry], limits: EpisodeLimits) -> list[EpisodeEntry]:
    """The episodes to remove until the rest fits the limits, in the order in which they go.

    Training episodes and medians go first, until half as many of them are left as of the others. Of each of
    the two kinds the one goes whose neighbours lie closest together, and the oldest of several: the rest
    spreads evenly over the run, with the oldest and the newest. Protected episodes never go.

    Args:
        entries: oldest first.
        limits: of the run.
    """
    num_bytes, number = sum(entry.num_bytes for entry in entries), len(entries)
    plain = [(place, entry) for place, entry in enumerate(entries) if not is_protected(entry)]
    lesser = _Spread([(place, entry) for place, entry in plain if _is_lesser(entry)])
    others = _Spread([(place, entry) for place, entry in plain if not _is_lesser(entry)])
    removed: list[EpisodeEntry] = []
    while (num_bytes > limits.max_bytes or number > limits.max_episodes) and lesser.size + others.size:
        entry = (lesser if 2 * lesser.size > others.size else others).remove()
        removed.append(entry)
        num_bytes, number = num_bytes - entry.num_bytes, number - 1
    return removed


def _is_lesser(entry: EpisodeEntry) -> bool:
    return entry.source == "training" or entry.role == "median"


class _Spread:
    """Episodes in a row, from which the one in the tightest place is removed again and again."""

    def __init__(self, places: list[tuple[int, EpisodeEntry]]) -> None:
        self._entries = [entry for _, entry in places]
        # Where the steps are not known, each is as far from the one before as the next.
        known = all(entry.agent_steps is not None for entry in self._entries)
        self._at = [entry.agent_steps or 0 if known else place for place, entry in places]
        last = self.size = len(places)
        self._before, self._after = list(range(-1, last - 1)), list(range(1, last + 1))
        self._is_gone = [False] * last
        self._heap = [(self._gap(index), index) for index in range(last)]
        heapq.heapify(self._heap)

    def remove(self) -> EpisodeEntry:
        while True:
            gap, index = heapq.heappop(self._heap)
            if not self._is_gone[index] and gap == self._gap(index):
                break
        self._is_gone[index] = True
        self.size -= 1
        before, after = self._before[index], self._after[index]
        if before >= 0:
            self._after[before] = after
            heapq.heappush(self._heap, (self._gap(before), before))
        if after < len(self._entries):
            self._before[after] = before
            heapq.heappush(self._heap, (self._gap(after), after))
        return self._entries[index]

    def _gap(self, index: int) -> float:
        """Steps between the neighbours; the newest has no end, the oldest goes next to last."""
        before, after = self._before[index], self._after[index]
        if after == len(self._entries):
            return float("inf")
        return self._at[after] - self._at[before] if before >= 0 else float(1 << 60)
