"""Leases: single-use orders for one rollout, and when they lapse (rules C1, C3)."""

import statistics
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attract.collection.seating import GameSeats
from attract.schema.messages import ParameterDistribution, Purpose, Recording, ReplayOrder
from attract.schema.recorded_episode import RecordedEpisode

SILENCE_SECONDS: Final = 15.0
"""Rule C3: shortest time without progress after which a lease lapses."""
SILENCE_SEGMENTS: Final = 3.0
"""Rule C3: the same, in median segment times."""
GRACE_SECONDS: Final = 2.0
"""Rule C3: how long a closed socket's leases wait for a reconnect."""
START_SECONDS: Final = 60.0
"""Rule C3: shortest time for the first block of a worker that has never played: it may still be loading."""
BLOCK_SECONDS: Final = 15.0
"""Rule C3: shortest time in which the next block must come, whatever steps are reported ..."""
BLOCK_SEGMENTS: Final = 5.0
"""... and the same in segment times: the median, or the worker's own where that is longer."""
SLOWEST: Final = 10.0
"""A worker's own segment time counts up to so many medians."""
UNKNOWN_BLOCK_SECONDS: Final = 600.0
"""The time for a block while no segment time is known."""


@dataclass(frozen=True)
class Lesson:
    """What games are started with from some moment on (rule C6): a lesson's name and its parameters."""

    lesson_id: str | None = None
    parameters: Mapping[str, ParameterDistribution] = field(default_factory=dict[str, ParameterDistribution])


@dataclass(eq=False)
class Recordings:
    """Training episodes of one version that wait until all its leases are played."""

    version: int = -1
    episodes: list[RecordedEpisode] = field(default_factory=list[RecordedEpisode])
    done: int = -1
    """The newest version whose episodes were handed on: its later leases are not asked."""
    asked: int = -1
    """The newest version whose leases ask for episodes."""

    def ask(self, version: int, every: int) -> bool:
        """Whether a lease of this version asks: of each `every` versions the first that a lease has."""
        if version // every > self.asked // every:
            self.asked = version
        return version == self.asked and version > self.done


@dataclass(eq=False)
class Lease:
    """One open order; belongs to one worker, whose slots are a contiguous range."""

    worker_id: int
    purpose: Purpose
    version: int
    """Policy version that plays it."""
    first_slot: int
    num_slots: int
    num_segments: int
    """Segments per slot; 0 for `evaluate`."""
    local: bool
    lease_id: int = 0
    """0 until it is issued."""
    last_seen_at: float = 0.0
    """When its steps last grew, a block of it was accepted, or it came to the front of its worker's queue.

    Reported steps can only shorten the deadline of a lease with blocks: see `LeaseBook.deadline`.
    """
    most_steps: int = 1 << 53
    """Steps of each slot that it asks for; `evaluate`: those its episodes may have one after another."""
    steps: int = 0
    """Most that its worker has reported; never more than `most_steps`."""
    block_at: float = 0.0
    """When a block of it was last accepted, or it came to the front."""
    episodes: tuple[int, ...] = ()
    """Indices of the evaluation episodes; `evaluate` only."""
    lesson: Lesson = field(default_factory=Lesson)
    """Taken over at each of its games' next `start()`."""
    replays: tuple[ReplayOrder, ...] = ()
    """`replay` only: what is to be played again (rule C10)."""
    record: Recording = "none"
    """Which of its episodes its worker sends."""
    recorded: list[RecordedEpisode] = field(default_factory=list[RecordedEpisode])
    """Those that came; they count once the lease is played to its end."""
    had_refusals: bool = False
    """Whether a block of it came and was refused."""
    asked_at: float | None = None
    """When its worker asked a program outside that has not answered: it stands still. None: none is asked."""
    issued_at: float = 0.0
    sends_blocks: bool = True
    """Whether its worker sends blocks: an evaluation has none, those of central inference are made here."""
    may_load: bool = False
    """Whether its worker may still be loading the game: it has never played, and let no lease lapse."""
    is_awaited: bool = True
    """Whether batches wait for it: not before the first block of a worker that has never played (rule C3)."""
    own_seconds: float = 0.0
    """How long a segment took its worker so far; 0: not known."""
    front_since: float | None = None
    """When it came to the front; None while it is queued behind another."""
    seats: GameSeats | None = None
    """Who plays the agents of its games; None: its version plays them all."""
    before: int = 0
    """Steps that each of its games took before it with the same seats."""
    received: NDArray[np.bool_] = field(init=False)
    """[num_segments, num_slots]: which segments were accepted, each at most once (rule C1).

    Those of slots that do not learn never come."""
    remaining: int = field(init=False)
    """Segments that may still come; each has a row reserved."""

    def __post_init__(self) -> None:
        self.received = np.zeros((self.num_segments, self.num_slots), np.bool_)
        seats = () if self.seats is None else self.seats.seats
        for place, seat in enumerate(seats):
            self.received[:, place :: len(seats)] = not seat.learns
        self.remaining = self.received.size - int(np.count_nonzero(self.received))

    @property
    def opponents(self) -> frozenset[tuple[str, int]]:
        """Id and version of each policy that its seats name."""
        seats = () if self.seats is None else self.seats.seats
        return frozenset((seat.policy_id, seat.policy_version) for seat in seats if seat.script is None)

    def bring_to_front(self, now: float) -> None:
        """Its worker plays it from now on: only now does silence count."""
        if self.front_since is None:
            self.front_since = self.last_seen_at = self.block_at = now

    def progressed(self, steps: int, now: float, *, is_first: bool) -> None:
        """Its worker reports the steps that it has played; only an increase counts.

        `is_first`: the worker has played nothing yet, and may still be loading.
        """
        grown = min(steps, self.most_steps)
        if grown > self.steps:
            self.steps, self.last_seen_at = grown, now
        elif is_first and self.front_since is not None and now < self.front_since + START_SECONDS:
            self.last_seen_at = now


class Promised(Collection[int]):
    """Segments that each open training lease may still give if batches wait for it: a view."""

    def __init__(self, leases: Mapping[int, Lease]) -> None:
        self._leases = leases

    def __len__(self) -> int:
        return len(self._leases)

    def __iter__(self) -> Iterator[int]:
        return iter([lease.remaining for lease in self._leases.values()])

    def __contains__(self, segments: object) -> bool:
        return segments in list(self)


class LeaseBook:
    """All leases of a run: ids rise and are never used again; a lease that is not open any more is spent."""

    def __init__(self, first_id: int = 1) -> None:
        self._open: dict[int, Lease] = {}
        self._training: dict[int, Lease] = {}
        self.promised = Promised(self._training)
        """What the open training leases may still give that batches wait for."""
        self.silence_seconds = SILENCE_SECONDS
        """Rule C3: max(15 s, 3 x the median segment time)."""
        self._usual_seconds: float | None = None
        """Median segment time of the last leases that were finished."""
        self._patience = 1.0
        """Factor of the time for a block: doubled whenever no worker's blocks come in time."""
        self._last_block_at = float("-inf")
        self._first_id = self._next_id = first_id
        self._segment_seconds: deque[float] = deque(maxlen=101)
        self.num_lapsed = 0

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._open.values())

    def __len__(self) -> int:
        return len(self._open)

    def issue(self, lease: Lease, now: float) -> Lease:
        """Open a lease under an id that no lease had before."""
        lease.lease_id = self._next_id
        lease.issued_at = lease.last_seen_at = now
        self._next_id += 1
        self._open[lease.lease_id] = lease
        if lease.purpose == "train" and lease.is_awaited:
            self._training[lease.lease_id] = lease
        return lease

    def get(self, lease_id: int) -> Lease | None:
        """The open lease of that id; None when it is spent or never was."""
        return self._open.get(lease_id)

    def is_spent(self, lease_id: int) -> bool:
        """Whether the id was issued and is not open any more."""
        return self._first_id <= lease_id < self._next_id and lease_id not in self._open

    def spend(self, lease: Lease) -> None:
        """Its one use is over: nothing more of it is accepted."""
        del self._open[lease.lease_id]
        self._training.pop(lease.lease_id, None)

    def spend_all(self) -> None:
        """Nothing is accepted any more."""
        self._open.clear()
        self._training.clear()

    def played(self, lease: Lease, now: float) -> None:
        """Learn from a finished lease how long a segment takes."""
        if lease.front_since is not None and lease.num_segments:
            self._segment_seconds.append((now - lease.front_since) / lease.num_segments)
            usual = self._usual_seconds = statistics.median(self._segment_seconds)
            self.silence_seconds = max(SILENCE_SECONDS, SILENCE_SEGMENTS * usual)
            self._patience = 1.0

    def block_came(self, lease: Lease, now: float) -> None:
        """A block of it was accepted, which renews it."""
        lease.last_seen_at = lease.block_at = self._last_block_at = now
        if not lease.is_awaited:
            lease.is_awaited = True
            self._training[lease.lease_id] = lease

    def block_seconds(self, lease: Lease) -> float:
        """Rule C3: in so long the next block of it must come."""
        if self._usual_seconds is None:
            return UNKNOWN_BLOCK_SECONDS * self._patience
        usual = min(max(self._usual_seconds, lease.own_seconds), SLOWEST * self._usual_seconds)
        shortest = START_SECONDS if lease.may_load else BLOCK_SECONDS
        return max(shortest, BLOCK_SEGMENTS * usual) * self._patience

    def deadline(self, lease: Lease) -> float | None:
        """When it lapses if nothing renews it; None while it is queued behind another.

        Steps renew only what has no blocks. Where blocks are to come, steps must grow too meanwhile, so that
        a worker that has died is not waited for as long as one that plays.
        """
        if lease.front_since is None:
            return None
        silence = lease.last_seen_at + self.silence_seconds
        return min(silence, lease.block_at + self.block_seconds(lease)) if lease.sends_blocks else silence

    def stalled(self, lease: Lease, now: float) -> None:
        """It lapsed at its deadline. If no block came meanwhile, segments may take longer from now on."""
        if now >= lease.block_at + self.block_seconds(lease) and self._last_block_at <= lease.block_at:
            self._patience *= 2.0
