"""Accepted segments on their way into a batch, and the order in which a batch holds them (rules S1, C8)."""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attract.collection.seating import GameSeats, Seating
from attract.schema.episodes import Episode, Episodes


@dataclass(frozen=True, eq=False)
class AcceptedBlock:
    """The segments of one accepted block: one row per slot."""

    rows: NDArray[np.int64]
    slot_id: NDArray[np.int64]
    first_step: NDArray[np.int64]
    """[k] each."""
    lease_id: int
    policy_version: int
    worker_id: int
    local: bool
    """Played on a host of the admin's own, by a worker that was not found wrong lately (rule C7)."""
    valid_steps: int
    episodes: Episodes
    seats: GameSeats | None = None
    """Who played the agents of its games; None: the version that it learned for."""
    steps_before: int = 0
    """Steps that each of its games took before it with these players."""


@dataclass(frozen=True, eq=False)
class ClosedBatch:
    """One update's segments, sorted by (slot, first step)."""

    batch_id: int
    version: int
    """The learner's version when the update begins."""
    rows: tuple[int, ...]
    verify_rows: tuple[int, ...]
    verify: Literal["sample", "all"]
    worker_id: NDArray[np.int64]
    """Who played each of `rows`."""
    valid_steps: int
    rows_by_policy: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """The rows of each policy, in the order of `rows`: every lease gives each policy all of its slots."""

    def worker_of(self, row: int) -> int | None:
        """Who played a row; None when it is not of this batch."""
        place = self._place_of.get(row)
        return None if place is None else int(self.worker_id[place])

    @cached_property
    def _place_of(self) -> dict[int, int]:
        return {row: place for place, row in enumerate(self.rows)}


class Pool:
    """Accepted segments that no update holds yet. Owned by the core.

    One batch is filling; in `async`, full ones may be sealed and wait before it.
    """

    def __init__(self) -> None:
        self._blocks: list[AcceptedBlock] = []
        self._sealed: deque[list[AcceptedBlock]] = deque()
        self.num_segments = 0
        """Segments in the batch that is filling."""

    @property
    def num_sealed(self) -> int:
        """Batches that are full and wait."""
        return len(self._sealed)

    def add(self, block: AcceptedBlock) -> None:
        """One more accepted block."""
        self._blocks.append(block)
        self.num_segments += len(block.rows)

    def seal(self) -> None:
        """Seal the current batch; later blocks fill the next one."""
        self._sealed.append(self._take_filling())

    def take(self) -> list[AcceptedBlock]:
        """The batch that has waited longest, else everything there is."""
        return self._sealed.popleft() if self._sealed else self._take_filling()

    def drop_unusable(self, lowest: int, highest: int) -> list[AcceptedBlock]:
        """Take out the blocks whose version is above `highest`, or below `lowest` in the batch now filling.

        Each batch before it is trained one version earlier, and so takes what is one version older.
        """
        gone: list[AcceptedBlock] = []
        kept: list[list[AcceptedBlock]] = []
        for before, blocks in enumerate([self._blocks, *reversed(self._sealed)]):
            fresh = range(lowest - before, highest + 1)
            gone += [block for block in blocks if block.policy_version not in fresh]
            kept.insert(0, [block for block in blocks if block.policy_version in fresh])
        self._blocks = kept.pop()
        self._sealed = deque(part for part in kept if part)
        self.num_segments = sum(len(block.rows) for block in self._blocks)
        return gone

    def drop_workers(self, worker_ids: Collection[int]) -> list[AcceptedBlock]:
        """Take out what these workers played."""
        gone = [
            block for part in (self._blocks, *self._sealed) for block in part if block.worker_id in worker_ids
        ]
        self._blocks = [block for block in self._blocks if block.worker_id not in worker_ids]
        kept = ([block for block in part if block.worker_id not in worker_ids] for part in self._sealed)
        self._sealed = deque(part for part in kept if part)
        self.num_segments = sum(len(block.rows) for block in self._blocks)
        return gone

    def _take_filling(self) -> list[AcceptedBlock]:
        blocks, self._blocks, self.num_segments = self._blocks, [], 0
        return blocks


def sorted_rows(blocks: Iterable[AcceptedBlock]) -> NDArray[np.int64]:
    """Rows of all segments by (slot, first step), whatever order they arrived in (rule C8); [S]."""
    return _column(blocks, "rows")[_order(blocks)]


def rows_of_policies(blocks: list[AcceptedBlock], seating: Seating) -> dict[str, tuple[int, ...]]:
    """The rows of each policy by its id, each in the order of `sorted_rows`."""
    if not blocks:
        return dict.fromkeys(seating.policy_ids, ())
    order = _order(blocks)
    policy = seating.index_of(_column(blocks, "slot_id")[order])
    return _by_policy(_column(blocks, "rows")[order], policy, seating)


def close_batch(
    blocks: list[AcceptedBlock], *, batch_id: int, version: int, secret: int, seating: Seating
) -> ClosedBatch:
    """The batch of these blocks.

    One segment per lease and policy of a local host is to be verified (rule C7), drawn from `secret` and the
    batch's number. The run's seed would not do: every worker is told it, and could lie in the others.
    """
    order = _order(blocks)
    rows = _column(blocks, "rows")[order]
    sizes = [len(block.rows) for block in blocks]
    lease_id = np.repeat([block.lease_id for block in blocks], sizes)[order]
    worker_id = np.repeat([block.worker_id for block in blocks], sizes)[order]
    local = np.repeat([block.local for block in blocks], sizes)[order]
    shuffled = np.random.default_rng([secret, batch_id]).permutation(len(rows))
    policy = seating.index_of(_column(blocks, "slot_id")[order])
    order_and_policy = lease_id * len(seating.policy_ids) + policy
    _, first = np.unique(order_and_policy[shuffled], return_index=True)
    chosen = np.zeros(len(rows), np.bool_)
    chosen[shuffled[first]] = True
    chosen |= ~local
    return ClosedBatch(
        batch_id=batch_id,
        version=version,
        rows=tuple(rows.tolist()),
        verify_rows=tuple(rows[chosen].tolist()),
        verify="sample" if local.all() else "all",
        worker_id=worker_id,
        valid_steps=sum(block.valid_steps for block in blocks),
        rows_by_policy=_by_policy(rows, policy, seating),
    )


def episodes_in_order(blocks: Iterable[AcceptedBlock], num_learning: int) -> Episodes:
    """All episode results by (instance, step at which they ended), never by arrival (rule C8).

    Each has the returns of the agents that learned from it.
    """
    found: list[tuple[int, int, Episode]] = []
    for block in blocks:
        instances = block.slot_id // block.episodes.num_agents
        start = dict(zip(instances.tolist(), block.first_step.tolist(), strict=True))
        found += [
            (episode.instance_id, start[episode.instance_id] + episode.step, episode)
            for episode in counted(block, num_learning)
        ]
    found.sort(key=lambda entry: entry[:2])
    return Episodes.of((episode for _, _, episode in found), num_learning)


def counted(block: AcceptedBlock, num_learning: int) -> Episodes:
    """Its episodes as they are counted: with the returns of the agents that learn from them."""
    if block.seats is None and num_learning == block.episodes.num_agents:
        return block.episodes
    return Episodes.of(_counted(block, num_learning), num_learning)


def _counted(block: AcceptedBlock, num_learning: int) -> Iterable[Episode]:
    for episode in block.episodes:
        # Of a guest all agents learn, of the others so many.
        learning = range(num_learning) if block.seats is None else block.seats.learning(episode.instance_id)
        yield episode._replace(returns=[episode.returns[agent] for agent in learning])


def _by_policy(
    rows: NDArray[np.int64], policy: NDArray[np.int64], seating: Seating
) -> dict[str, tuple[int, ...]]:
    return {
        policy_id: tuple(rows[policy == index].tolist()) for index, policy_id in enumerate(seating.policy_ids)
    }


def _order(blocks: Iterable[AcceptedBlock]) -> NDArray[np.int64]:
    return np.lexsort((_column(blocks, "first_step"), _column(blocks, "slot_id")))


def _column(blocks: Iterable[AcceptedBlock], name: str) -> NDArray[np.int64]:
    return np.concatenate([getattr(block, name) for block in blocks])
