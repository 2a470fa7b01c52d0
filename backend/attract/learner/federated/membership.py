"""Membership of a meeting of trainers, from the entries on the store; time is an argument."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from attract.learner.federated.averaging import Lineage


@dataclass(frozen=True)
class Posting:
    """A trainer's contribution to a meeting."""

    rank: int
    meeting: int
    name: str
    """Its key on the store, and the number of its chunks."""
    chunks: int
    lineage: Lineage


@dataclass(frozen=True)
class Entry:
    """The store's entry of one trainer."""

    beats: int
    """Grows as long as it lives; 0 until it came to this store."""
    posting: Posting | None
    """The last that it brought."""
    gone: str | None
    """Why the others do not wait for it any more; None: they wait for it."""


@dataclass(frozen=True)
class Attendance:
    """Result of one look at the store."""

    present: tuple[Posting, ...]
    """Postings of this meeting, by rank."""
    missing: tuple[int, ...]
    """Ranks that are still awaited."""
    given_up: Mapping[int, str]
    """Ranks that are no longer awaited, with the reason."""
    coordinator: int
    """Rank of the coordinator: the first that is present and alive."""


class Membership:
    """One trainer's view of one meeting, from when it comes there.

    Args:
        rank: its own.
        meeting: number of the meeting.
        lost_seconds: time without a heartbeat after which a trainer is lost.
        timeout_seconds: time limit for a trainer that lives, or has not come yet.
        now: monotonic seconds, as everywhere here.
    """

    def __init__(
        self, rank: int, meeting: int, lost_seconds: float, timeout_seconds: float, now: float
    ) -> None:
        self._rank = rank
        self._meeting = meeting
        self._lost_seconds = lost_seconds
        self._timeout_seconds = timeout_seconds
        self._began = now
        self._beats: dict[int, int] = {}
        self._heard: dict[int, float] = {}

    def call(self, entries: Mapping[int, Entry], now: float) -> Attendance:
        """Who is present, and who is still awaited; call again until none is missing."""
        for rank, entry in entries.items():
            if self._beats.get(rank) != entry.beats:
                self._beats[rank], self._heard[rank] = entry.beats, now
        present = tuple(
            entry.posting
            for _, entry in sorted(entries.items())
            if entry.posting is not None and entry.posting.meeting == self._meeting
        )
        here = {posting.rank for posting in present}
        missing: list[int] = []
        given_up: dict[int, str] = {}
        for rank, entry in sorted(entries.items()):
            if rank in here or entry.gone is not None:
                continue
            if entry.beats > 0 and self._is_silent(rank, now):
                given_up[rank] = f"no heartbeat for {self._lost_seconds:g} s"
            elif now - self._began >= self._timeout_seconds:
                given_up[rank] = f"it did not join within {self._timeout_seconds:g} s"
            else:
                missing.append(rank)
        living = [rank for rank in here if rank == self._rank or not self._is_silent(rank, now)]
        return Attendance(present, tuple(missing), given_up, min(living, default=self._rank))

    def _is_silent(self, rank: int, now: float) -> bool:
        return now - self._heard[rank] >= self._lost_seconds


def of_one_lineage(postings: Sequence[Posting]) -> list[Posting]:
    """Ranks whose shares may be averaged: they come from the same round.

    The lineage with most rounds counts, among several such the one that most trainers have, then the first's.
    Weights that were trained apart for long do not average to anything good, so the others take over theirs.
    """

    def standing(posting: Posting) -> tuple[int, int, int]:
        alike = [other for other in postings if other.lineage == posting.lineage]
        return (posting.lineage.rounds, len(alike), -alike[0].rank)

    best = max(postings, key=standing).lineage
    return [posting for posting in postings if posting.lineage == best]


def in_words(ranks: Collection[int]) -> str:
    """E.g. "trainers 0, 2"."""
    names = ", ".join(str(rank) for rank in sorted(ranks))
    return f"trainer{'s' if len(ranks) > 1 else ''} {names}"
