"""Evaluations: fixed episodes split over workers, their results put back in order."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from attract.collection.effects import EvaluationDone
from attract.collection.leases import Lesson
from attract.schema.api import EvaluationView
from attract.schema.episode_results import EpisodeResult
from attract.schema.frames import malformed
from attract.schema.messages import Recording, Seat, Seed
from attract.schema.recorded_episode import RecordedEpisode

MAX_RETURNS = 100
"""Returns of single episodes that a view has."""
MAX_RECORDED_BYTES: Final = 256 << 20
"""Recorded episodes that one evaluation holds until it is done; more are dropped."""
MAX_SHARE: Final = 8
"""Episodes of a lease: as many pages as a worker plays side by side. Results come with each lease, so that an
evaluation shows progress and can be ended early."""


@dataclass(eq=False)
class Evaluation:
    """One evaluation under way: each episode is waiting, leased, or has its result."""

    num_episodes: int
    deterministic: bool
    seed: Seed
    version: int
    """The policy version under test; the same for every episode."""
    record: Recording = "none"
    """Which of its episodes are kept."""
    seats: tuple[Seat, ...] = ()
    """Who plays each agent; empty: the version plays them all."""
    lesson: Lesson | None = None
    """What its games are started with; None: as those of all evaluations."""
    waiting: list[int] = field(init=False)
    """Indices not leased, ascending."""
    share: int = 0
    """Episodes per lease, fixed when the first is issued."""
    confirmed: bool = True
    """Whether workers of the admin's own alone play it."""
    _leased: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    _results: dict[int, EpisodeResult] = field(default_factory=dict[int, EpisodeResult])
    _recorded: list[RecordedEpisode] = field(default_factory=list[RecordedEpisode])
    _recorded_bytes: int = 0

    def __post_init__(self) -> None:
        self.waiting = list(range(self.num_episodes))

    @property
    def num_done(self) -> int:
        """Episodes that have their result."""
        return len(self._results)

    def next_share(self, num_workers: int) -> list[int]:
        """The indices of the next lease: `num_workers` workers share all of them about evenly, in rounds."""
        if not self.share:
            num_rounds = -(-self.num_episodes // (max(1, num_workers) * MAX_SHARE))
            self.share = -(-self.num_episodes // (max(1, num_workers) * num_rounds))
        return self.waiting[: self.share]

    def has_leased(self, lease_id: int) -> bool:
        """Whether that lease is one of its own, and open."""
        return lease_id in self._leased

    def lease(self, lease_id: int, indices: list[int]) -> None:
        """These episodes are played under that lease."""
        self.waiting = [index for index in self.waiting if index not in set(indices)]
        self._leased[lease_id] = indices

    def lapse(self, lease_id: int) -> None:
        """The episodes of that lease wait again, for another."""
        self.waiting = sorted(self.waiting + self._leased.pop(lease_id))

    def complete(
        self, lease_id: int, results: list[EpisodeResult], recorded: Iterable[RecordedEpisode] = ()
    ) -> None:
        """The results of a lease, and what it sent of its episodes.

        Raises: ProtocolError: when it is not one result per episode.
        """
        indices = self._leased[lease_id]
        if len(results) != len(indices):
            raise malformed(
                f"evaluation_result.episodes: {len(results)} results",
                fix=f"lease {lease_id} asked for {len(indices)} episodes",
            )
        del self._leased[lease_id]
        self._results.update(zip(indices, results, strict=True))
        for episode in recorded:
            self._recorded_bytes += len(episode.actions.data) + len(episode.marks.hashes)
            if self._recorded_bytes <= MAX_RECORDED_BYTES:
                self._recorded.append(episode)

    def done(self) -> EvaluationDone | None:
        """The whole, once every episode has its result; else None."""
        return None if self.num_done < self.num_episodes else self.so_far()

    def so_far(self) -> EvaluationDone:
        """The evaluation over the episodes that have their result; at least one.

        Only whole leases count: among episodes that begin together the short ones end first.
        """
        results = tuple(self._results[index] for index in sorted(self._results))
        by_agent = np.array([result.returns for result in results], np.float64)
        returns = by_agent.mean(axis=1)
        view = EvaluationView(
            policy_version=self.version,
            episodes=len(results),
            return_mean=float(returns.mean()),
            return_std=float(returns.std()),
            length_mean=float(np.mean([result.length_steps for result in results])),
            deterministic=self.deterministic,
            confirmed=self.confirmed,
            returns=returns[:MAX_RETURNS].tolist(),
            agent_return_means=by_agent.mean(axis=0).tolist() if by_agent.shape[1] > 1 else [],
        )
        return EvaluationDone(view, results, tuple(self._recorded))
