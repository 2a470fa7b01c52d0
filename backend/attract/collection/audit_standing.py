"""The audits of one identity so far, and the trust that it has for them (rule C10)."""

from dataclasses import dataclass
from typing import Final

PROVEN: Final = 10
"""Valid segments in a row after which an identity's segments train without waiting for a verdict."""
MIN_CHANCE: Final = 0.05
"""However many segments of an identity were valid, each of its segments is audited with this chance."""
MAX_OWED: Final = 10
"""After so many audits that could not be done an identity counts as unknown."""


@dataclass(eq=False)
class AuditStanding:
    """What is known of one identity."""

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
