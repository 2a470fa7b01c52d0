"""Which blocks count: each segment once, under an open lease, fresh enough to be trained (rule C1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attract.collection.batches import AcceptedBlock, Pool
from attract.collection.effects import Verdict
from attract.collection.fleet import Worker
from attract.collection.leases import Lease, LeaseBook
from attract.collection.rows import RowAllocator
from attract.collection.seating import Seating
from attract.collection.trust.admit import Bounds
from attract.schema.episodes import Episodes
from attract.schema.frames import malformed
from attract.schema.messages import Block
from attract.schema.tensor import view


@dataclass(frozen=True)
class Fresh:
    """Versions that the next update may still use, both ends included."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest


class Acceptance:
    """Judges blocks, and owns the store's rows and the two pools. Used by the core alone."""

    def __init__(
        self, book: LeaseBook, seating: Seating, capacity: int, bounds: Bounds | None = None
    ) -> None:
        """`bounds` looks at blocks before they count; None: nothing does."""
        self._book = book
        self._seating = seating
        self._bounds = bounds
        self._num_agents = len(seating.seats)
        self.rows = RowAllocator(capacity)
        self.pool = Pool()
        """Segments for updates."""
        self.warmup = Pool()
        """Segments of random play, for the first statistics (rule P7); counted nowhere."""
        self.num_refused = 0
        self.num_accepted = 0
        """Blocks committed to a pool."""
        self._record_leases: set[int] = set()

    def reserve(self, lease: Lease) -> None:
        """Keep a row for every segment the lease may give, so that none arrives to a full store."""
        self.rows.reserved += lease.remaining
        if lease.purpose in ("warmup", "replay"):
            self._record_leases.add(lease.lease_id)

    def release(self, lease: Lease) -> None:
        """Give up the rows of segments that will not come."""
        self.rows.reserved -= lease.remaining

    def offer(self, worker: Worker, block: Block, fresh: Fresh) -> Verdict:
        """Accept the whole block, taking its rows, or refuse it with a reason.

        Raises: ProtocolError: when the slots, segment or version named are not those of the open lease, or
            its numbers are none that the game can give.
        """
        lease = self._book.get(block.lease_id)
        if lease is None:
            reason = "spent lease" if self._book.is_spent(block.lease_id) else "unknown lease"
        elif lease.worker_id != worker.worker_id:
            reason = "lease of another worker"
        else:
            columns, count = self._columns(lease, block), block.slot_id.shape[0]
            received = lease.received[block.segment_index]
            if np.count_nonzero(received[columns]):
                reason = "duplicate"
            elif lease.purpose == "train" and lease.version not in fresh:
                reason = f"too old: played by version {lease.version}, the next update uses {fresh.lowest} up"
            else:
                bounds = self._bounds
                if bounds is not None and (outside := bounds.admit(lease, block)) is not None:
                    reason = f"outside of the game's own box: {outside}"
                    return Verdict(False, None, worker.worker_id, reason, is_outside=True)
                received[columns] = True
                lease.remaining -= count
                self.rows.reserved -= count
                return Verdict(True, self.rows.take(count), worker.worker_id, lease=lease)
        return Verdict(False, None, worker.worker_id, reason)

    def withdraw(self, block: Block, verdict: Verdict) -> None:
        """Undo an accepted offer: the block turned out to be unusable."""
        if verdict.rows is None:
            return
        self.rows.give_back(verdict.rows)
        lease = self._book.get(block.lease_id)
        if lease is not None:
            columns = view(block.slot_id).astype(np.int64) - lease.first_slot
            lease.received[block.segment_index, columns] = False
            lease.remaining += len(columns)
            self.rows.reserved += len(columns)

    def commit(
        self, block: Block, verdict: Verdict, fresh: Fresh, *, local: bool, waits: bool = False
    ) -> AcceptedBlock | None:
        """Put an accepted block, its rows written, into its pool; None when it grew too old meanwhile.

        `local`: whether one segment of each lease is enough to look at (rule C7). `waits`: it goes into no
        pool yet, `admit` follows, or its rows are freed (rule C10).
        """
        if verdict.rows is None:
            raise RuntimeError(f"expected an accepted verdict, got {verdict!r}")
        lease = verdict.lease
        segment_steps = view(block.valid).shape[0]
        accepted = AcceptedBlock(
            rows=verdict.rows,
            slot_id=view(block.slot_id).astype(np.int64),
            first_step=view(block.first_step).astype(np.int64),
            lease_id=block.lease_id,
            policy_version=block.policy_version,
            worker_id=verdict.worker_id,
            local=local,
            valid_steps=num_valid(block),
            episodes=Episodes(block.episodes, self._num_agents),
            seats=None if lease is None else lease.seats,
            steps_before=0 if lease is None else lease.before + block.segment_index * segment_steps,
        )
        if self.is_record(block.lease_id):
            self.warmup.add(accepted)
        elif not waits and not self.admit(accepted, fresh):
            return None
        self.num_accepted += 1
        return accepted

    def admit(self, block: AcceptedBlock, fresh: Fresh) -> bool:
        """Put a block that waited into the pool; False: it grew too old, its rows are free."""
        if block.policy_version in fresh:
            self.pool.add(block)
            return True
        self.rows.give_back(block.rows)
        return False

    def is_record(self, lease_id: int) -> bool:
        """Whether the lease is, or was, for random play or a replay, which count nowhere."""
        return lease_id in self._record_leases

    def num_ticks(self, block: Block) -> int:
        """Executed ticks of the games whose first agent that learns is in the block: all agents share them.

        An agent that takes no part (rule E9) shows none, so each game's is the largest of its agents'.
        """
        ticks = view(block.executed_ticks)
        if self._num_agents > 1:
            slots = view(block.slot_id).astype(np.int64)
            games, game_of_column = np.unique(slots // self._num_agents, return_inverse=True)
            of_games = np.zeros((len(ticks), len(games)), ticks.dtype)
            for agent in range(self._num_agents):
                columns = slots % self._num_agents == agent
                games_here = game_of_column[columns]
                of_games[:, games_here] = np.maximum(of_games[:, games_here], ticks[:, columns])
            lease = self._book.get(block.lease_id)
            seats = None if lease is None else lease.seats
            told_by = games * self._num_agents if seats is None else seats.reporting(games)
            ticks = of_games[:, np.isin(told_by, slots)]
        return int(ticks.sum(dtype=np.int64))

    def _columns(self, lease: Lease, block: Block) -> slice | NDArray[np.int64]:
        """Places of the block's slots among the lease's; a slice where they are neighbours."""
        slots = view(block.slot_id).astype(np.int64)
        columns = slots - lease.first_slot
        # Workers send neighbours, and then the ends say it all.
        is_run = len(columns) > 0 and np.count_nonzero(columns[1:] - columns[:-1] == 1) == len(columns) - 1
        if is_run:
            lowest, highest = int(columns[0]), int(columns[-1])
        else:
            lowest, highest = int(columns.min(initial=0)), int(columns.max(initial=-1))
        if not len(slots) or lowest < 0 or highest >= lease.num_slots:
            last = lease.first_slot + lease.num_slots - 1
            raise malformed(
                f"block.slot_id: {slots[:8].tolist()}",
                fix=f"slots of lease {lease.lease_id} are {lease.first_slot} to {last}",
            )
        if not is_run and len(np.unique(columns)) != len(columns):
            raise malformed("block.slot_id: a slot twice", fix="one column per slot (rule S1)")
        if block.segment_index >= lease.num_segments:
            raise malformed(
                f"block.segment_index: {block.segment_index}",
                fix=f"lease {lease.lease_id} has {lease.num_segments} segments per slot",
            )
        if lease.purpose == "train" and block.policy_version != lease.version:
            raise malformed(
                f"block.policy_version: {block.policy_version}",
                fix=f"lease {lease.lease_id} is played by version {lease.version}",
            )
        if not self._seating.owns(block.policy_id, slots):
            raise malformed(
                f"block.policy_id: {block.policy_id!r} for these slots",
                fix=f"the agents of a game are played by {list(self._seating.seats)}",
            )
        instance_ids = block.episodes.instance_id
        if instance_ids:
            self._check_instances(instance_ids, slots, is_run=is_run)
        if len(block.episodes.returns) != len(instance_ids) * self._num_agents:
            raise malformed(
                f"block.episodes.returns: {len(block.episodes.returns)} entries",
                fix=f"{len(instance_ids)} episodes, each with {self._num_agents} returns",
            )
        return slice(lowest, highest + 1) if is_run else columns

    def _check_instances(self, instance_ids: list[int], slots: NDArray[np.int64], *, is_run: bool) -> None:
        agents = self._num_agents
        if (
            is_run
            and int(slots[0]) // agents <= min(instance_ids)
            and max(instance_ids) <= int(slots[-1]) // agents
        ):
            return
        known: set[int] = set((slots // agents).tolist())
        strange = next((instance_id for instance_id in instance_ids if instance_id not in known), None)
        if strange is not None:
            raise malformed(
                f"block.episodes.instance_id: {strange}", fix="instances that have a slot in this block"
            )


def num_valid(block: Block) -> int:
    """Valid steps of a block whose flags were checked."""
    return int(np.count_nonzero(view(block.valid)))
