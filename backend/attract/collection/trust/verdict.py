"""Door `verdict`: what follows for an identity from how it behaved and how its audits went."""

from dataclasses import dataclass, field
from typing import Final

from attract.schema.base import Tier

MAX_SIT_OUT_SECONDS: Final = 600.0
MAX_SIT_OUT_STALLS: Final = 10.0
"""The same as a multiple of its longest stall, if longer: stalls then cost a run a tenth of its time."""
QUARANTINE_SECONDS: Final = 300.0
"""A banned identity is tried again after this time; twice as long each time."""
WRONG_SEGMENTS: Final = 3
"""A stranger is banned when the learner refused so many of its segments (rule C7)."""
WRONG_UPDATES: Final = 3
"""The same for a worker of the admin's own, in updates: its machine may be faulty."""
WRONG_MESSAGES: Final = 3
"""Impossible messages after which an identity is banned."""
UNREADABLE_MESSAGES: Final = 2
"""The same for unreadable frames: no worker sends one."""
WORKERS_PER_SEAT: Final = 3
"""So many workers may end through the game, for each one expected ..."""
STEPS_BETWEEN: Final = 1_000_000
"""... before the run is given up, unless so many agent steps were trained since the last one ended."""
PROVEN: Final = 10
"""Valid segments in a row after which an identity's segments train without waiting for a verdict."""
MIN_CHANCE: Final = 0.05
"""Minimum chance of an audit, however many of an identity's segments were valid."""
MAX_OWED: Final = 10
"""Audits that could not be done after which an identity counts as unproven."""


class FailureCount:
    """Counts the workers that the game brought down."""

    def __init__(self, num_workers: int) -> None:
        self._limit = WORKERS_PER_SEAT * num_workers
        self._count = 0
        self._steps_at_last = 0

    def add(self, agent_steps: int) -> bool:
        """One more worker ended through the game, after so many steps; True when that is one too many."""
        if agent_steps - self._steps_at_last >= STEPS_BETWEEN:
            self._count = 0
        self._count += 1
        self._steps_at_last = agent_steps
        return self._count >= self._limit


@dataclass(eq=False)
class Record:
    """What is remembered of one identity (`Worker.identity`)."""

    stalls: int = 0
    """Leases in a row in which it stalled while others played."""
    longest_stall: float = 0.0
    """Seconds of the longest of them."""
    out_until: float | None = None
    """It gets no leases before that moment; None: it is not suspended."""
    played_at: float | None = None
    """When a block of it was accepted last."""
    has_finished: bool = False
    """Whether it ever played a lease to its end."""
    failures: FailureCount = field(default_factory=lambda: FailureCount(1))
    """Failures of its games that it reported."""
    game_failed: bool = False
    """It was banned for reported failures of its games."""
    wrong_messages: int = 0
    unreadable_messages: int = 0
    wrong_segments: int = 0
    wrong_updates: int = 0
    reason: str | None = None
    """Why it is, or was lately, banned; None: it is in good standing."""
    times: int = 0

    @property
    def is_out(self) -> bool:
        """Whether it gets no leases."""
        return self.out_until is not None or self.reason is not None


@dataclass(eq=False)
class AuditStanding:
    """The audits of one identity so far, and the trust that it has for them."""

    valid: int = 0
    """Its audited segments that agreed, since the last that could not be trusted."""
    judged: int = 0
    """Its audited segments in all."""
    ordered: int = 0
    """Audits under way."""
    owed: int = 0
    """Audits that were drawn where the segment could not be played again; made up for as soon as one can."""
    short: int = 0
    """Leases that it closed with segments missing."""
    caught: str | None = None
    """What in its segment differed from the replay; None: nothing did."""

    @property
    def is_proven(self) -> bool:
        """Whether its segments train at once."""
        return self.valid >= PROVEN and self.owed < MAX_OWED and self.caught is None

    @property
    def chance(self) -> float:
        """Probability that its next segment is audited; audits under way count as passed."""
        sure = self.valid + self.ordered
        return 1.0 if sure < PROVEN or self.owed else max(1.0 / sure, MIN_CHANCE)


class Conduct:
    """Conduct of every identity of a run: stalled workers are suspended, repeat offenders banned."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def of(self, identity: str) -> Record:
        """The record of an identity, a new one if it was never heard of."""
        return self._records.setdefault(identity, Record())

    # --- stalling ---

    def stalled(self, identity: str, since: float, now: float) -> float | None:
        """A lease that it had from `since` on stalled until it lapsed.

        If others played meanwhile, it sits out, so that a worker that only talks costs ever less. One that
        has played before: from the second in a row on, twice as long as it held others up, then four times.
        One that has never played: from the first on, four times as long, then eight times.

        Returns: the seconds that it sits out now, None when it does not.
        """
        record = self.of(identity)
        if not any(
            other.played_at is not None and other.played_at >= since
            for other in self._records.values()
            if other is not record
        ):
            return None
        record.stalls += 1
        lasted = record.longest_stall = max(record.longest_stall, now - since)
        doublings = record.stalls + 1 if record.played_at is None else record.stalls - 1
        if doublings == 0 or record.reason is not None:
            return None
        seconds = min(lasted * 2.0**doublings, max(lasted * MAX_SIT_OUT_STALLS, MAX_SIT_OUT_SECONDS))
        record.out_until = now + seconds
        return seconds

    def played(self, identity: str, now: float) -> None:
        """A block of it was accepted."""
        self.of(identity).played_at = now

    def finished(self, identity: str) -> None:
        """It played a lease to its end."""
        record = self.of(identity)
        record.stalls, record.longest_stall, record.has_finished = 0, 0.0, True

    # --- being wrong ---

    def wrong_message(self, identity: str, now: float, what: str) -> str | None:
        """It sent something impossible. Returns: why it is left out from now on; None when it is not yet."""
        record = self.of(identity)
        record.wrong_messages += 1
        if record.wrong_messages >= WRONG_MESSAGES:
            return self.leave_out(identity, f"it sent results that are impossible: {what}", now)
        return None

    def unreadable_message(self, identity: str, now: float, what: str) -> str | None:
        """It sent an unreadable frame. Returns: as `wrong_message`."""
        record = self.of(identity)
        record.unreadable_messages += 1
        if record.unreadable_messages >= UNREADABLE_MESSAGES:
            return self.leave_out(identity, f"it sent messages that cannot be read: {what}", now)
        return None

    def wrong_segments(self, identity: str, tier: Tier, count: int, now: float) -> str | None:
        """The learner refused so many of its segments in one update. Returns: as `wrong_message`."""
        record = self.of(identity)
        record.wrong_segments += count
        record.wrong_updates += 1
        is_often = record.wrong_updates >= WRONG_UPDATES
        is_much = record.wrong_segments >= WRONG_SEGMENTS
        if is_often if tier == "local" else is_much:
            number = f"{record.wrong_segments} results" if record.wrong_segments > 1 else "a result"
            return self.leave_out(identity, f"{number} differed when recomputed", now)
        return None

    def game_failed(self, identity: str, agent_steps: int, now: float) -> str | None:
        """A stranger's game ended its worker, as it says. Returns: as `wrong_message`."""
        record = self.of(identity)
        if not record.failures.add(agent_steps) or record.reason is not None:
            return None
        record.game_failed = True
        return self.leave_out(identity, "its games keep failing", now)

    @property
    def game_fails_for_all(self) -> bool:
        """Several identities were banned for failing games, and no lease was ever played to its end."""
        failed = sum(record.game_failed for record in self._records.values())
        return failed >= 3 and not any(record.has_finished for record in self._records.values())

    # --- bans ---

    def leave_out(self, identity: str, reason: str, now: float, *, is_final: bool = False) -> str | None:
        """It gets no leases any more, for a while or for good. Returns: why; None: it had none before.

        `is_final`: only a person lets it in again.
        """
        record = self.of(identity)
        if record.reason is not None:
            if is_final:
                record.out_until = None
            return None
        record.times += 1
        record.reason = reason
        record.out_until = None if is_final else now + QUARANTINE_SECONDS * 2.0 ** (record.times - 1)
        return reason

    def release(self, identity: str) -> None:
        """It is in good standing from now on; the number of its bans stays known."""
        old = self.of(identity)
        self._records[identity] = Record(
            played_at=old.played_at, has_finished=old.has_finished, times=old.times
        )

    def reason(self, identity: str) -> str | None:
        """Why it is banned; None: it is not."""
        record = self._records.get(identity)
        return None if record is None else record.reason

    @property
    def num_out(self) -> int:
        """How many identities get no leases, for whatever reason."""
        return sum(record.is_out for record in self._records.values())

    def next_return(self) -> float | None:
        """When the first suspended identity may have leases again."""
        waiting = [record.out_until for record in self._records.values() if record.out_until is not None]
        return min(waiting, default=None)

    def is_out(self, identity: str, now: float) -> bool:
        """Whether it gets no leases now; once its time is over an identity counts as a new one."""
        record = self._records.get(identity)
        if record is None:
            return False
        if record.out_until is not None and now >= record.out_until:
            record.out_until = None
            if record.reason is not None:
                self.release(identity)
        return self.of(identity).is_out
