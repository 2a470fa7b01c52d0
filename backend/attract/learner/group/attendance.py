"""Who takes part in a round of averaging, and whose shares are averaged; from what stands on the store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from attract.learner.group.shares import Lineage


@dataclass(frozen=True)
class Posting:
    """A trainer's contribution to a round."""

    rank: int
    number: int
    """Number of the round."""
    name: str
    """Name of its share on the store."""
    lineage: Lineage


@dataclass(frozen=True)
class Entry:
    """The store's entry of one trainer."""

    posting: Posting | None
    """Its last contribution."""
    gone: str | None
    """Why the others do not wait for it any more; None: they wait for it."""


@dataclass(frozen=True)
class Attendance:
    """Result of one look at the store."""

    present: tuple[Posting, ...]
    """Postings of this round, by rank."""
    missing: tuple[int, ...]
    """Ranks that are still awaited."""
    given_up: Mapping[int, str]
    """Ranks that are no longer awaited, with the reason."""
    coordinator: int
    """Rank of the coordinator: the first that is present and alive."""


def take_attendance(
    rank: int,
    number: int,
    entries: Mapping[int, Entry],
    silent: Collection[int],
    *,
    lost_seconds: float,
    timeout_seconds: float,
    waited_seconds: float,
) -> Attendance:
    """Who is present at a round, and who is still awaited; look again until none is missing.

    Args:
        rank: of the trainer that looks; it is present.
        number: of the round.
        entries: of all trainers, by rank.
        silent: ranks without a heartbeat for `lost_seconds`.
        lost_seconds: time without a heartbeat after which a trainer is lost.
        timeout_seconds: time limit for a trainer that lives, or has not come yet.
        waited_seconds: how long this trainer has waited.
    """
    postings = [entry.posting for _, entry in sorted(entries.items()) if entry.posting is not None]
    present = tuple(posting for posting in postings if posting.number == number)
    here = [posting.rank for posting in present]
    absent = [each for each, entry in sorted(entries.items()) if each not in here and entry.gone is None]
    given_up: dict[int, str] = {}
    for each in absent:
        if each in silent:
            given_up[each] = f"no heartbeat for {lost_seconds:g} s"
        elif waited_seconds >= timeout_seconds:
            given_up[each] = f"it did not join within {timeout_seconds:g} s"
    missing = tuple(each for each in absent if each not in given_up)
    living = [each for each in here if each == rank or each not in silent]
    return Attendance(present, missing, given_up, min(living, default=rank))


def of_one_lineage(postings: Sequence[Posting]) -> list[Posting]:
    """Postings whose shares may be averaged: they come from the same round.

    The lineage with most rounds counts, among several such the one that most trainers have, then the first's.
    Weights that were trained apart for long do not average to anything good, so the others take over theirs.
    """

    def standing(posting: Posting) -> tuple[int, int, int]:
        alike = [other for other in postings if other.lineage == posting.lineage]
        return (posting.lineage.rounds, len(alike), -alike[0].rank)

    best = max(postings, key=standing).lineage
    return [posting for posting in postings if posting.lineage == best]
