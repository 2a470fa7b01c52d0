"""How each identity has behaved: who stalls sits out, who stays wrong is left out; used by the core alone."""

from dataclasses import dataclass
from typing import Final

LONGEST_SIT_OUT_SECONDS: Final = 600.0


@dataclass(eq=False)
class Record:
    """What is remembered of one identity (`Worker.identity`)."""

    stalls: int = 0
    """Leases in a row in which it stood still while others went on."""
    out_until: float | None = None
    """It gets no leases before that moment; None: it may have them."""
    played_at: float | None = None
    """When a block of it was accepted last."""


class Conduct:
    """Of all identities of a run, seen or not."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def of(self, identity: str) -> Record:
        """The record of an identity, a new one if it was never heard of."""
        return self._records.setdefault(identity, Record())

    def stalled(self, identity: str, since: float, now: float) -> float | None:
        """A lease that it had from `since` on stood still until it lapsed.

        From the second in a row on, if others played meanwhile, it sits out: twice as long as it held others
        up, then four times, so that whoever only says that he plays costs ever less.

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
        if record.stalls < 2:
            return None
        lasted = now - since
        seconds = min(lasted * 2.0 ** (record.stalls - 1), max(lasted, LONGEST_SIT_OUT_SECONDS))
        record.out_until = now + seconds
        return seconds

    def played(self, identity: str, now: float) -> None:
        """A block of it was accepted."""
        self.of(identity).played_at = now

    def finished(self, identity: str) -> None:
        """It played a lease to its end."""
        self.of(identity).stalls = 0

    @property
    def num_out(self) -> int:
        """How many identities sit out."""
        return sum(one.out_until is not None for one in self._records.values())

    def next_return(self) -> float | None:
        """When the first of those who sit out may play again."""
        return min(
            (one.out_until for one in self._records.values() if one.out_until is not None), default=None
        )

    def is_out(self, identity: str, now: float) -> bool:
        """Whether it gets no leases now."""
        record = self._records.get(identity)
        if record is None or record.out_until is None:
            return False
        if now >= record.out_until:
            record.out_until = None
        return record.out_until is not None
