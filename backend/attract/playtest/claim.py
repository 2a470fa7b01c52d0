"""Whether a claim about a game holds: what follows from the episodes of a crowd. Does no I/O."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from attract.errors import ConfigurationError
from attract.schema.base import Count, FiniteModel, Text
from attract.schema.playtest import MAX_CLAIM, PlaytestEpisode

ClaimVerdict = Literal["confirmed", "denied", "inconclusive", "not_played"]
EXIT_CODES: Final[dict[ClaimVerdict, int]] = {
    "confirmed": 0,
    "denied": 1,
    "not_played": 2,
    "inconclusive": 3,
}
QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`""")
SETS: Final = re.compile(r"(?<![=!<>])=(?![=>])|>>=|<<=|\+\+|--")
"""What assigns: a claim that sets what it asks for would always hold."""
MIN_EXPECTED: Final = 7.0
"""Episodes that would have come further, were the next step as hard as the last: none is 1 in 1,000."""
PLAIN_EXPECTED: Final = 70.0
"""The same where nothing more needs to be played."""
MIN_PLAYERS: Final = 3
"""So many players must have come as far."""


class ClaimReach(FiniteModel):
    """How near a comparison of the claim came, over all episodes."""

    text: Text
    nearest: float | None
    """Its left side there; None: it never was a number."""
    has_held: bool
    has_moved: bool
    """Whether any episode came nearer than it began."""
    episodes: Count
    """Those that came as near."""
    players: Count
    """Whose episodes they are."""


class VerifyAnswer(FiniteModel):
    """`attract verify --json`."""

    game: Text
    claim: Text
    verdict: ClaimVerdict
    reason: Text
    reached: list[ClaimReach] = []
    """By comparison of the claim; none where it has no other parts."""
    episodes: Count = 0
    player: Text | None = None
    """Who made it hold."""
    episode_file: Text | None = None
    """The episode that shows it."""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]


def check_claim(claim: str) -> None:
    """Raises: ConfigurationError: it is empty, too long, or sets something."""
    if not claim.strip() or len(claim) > MAX_CLAIM:
        raise ConfigurationError(
            f"a claim has 1 to {MAX_CLAIM} characters, this one {len(claim)}", setting="CLAIM"
        )
    found = SETS.search(QUOTED.sub("''", claim))
    if found is not None:
        raise ConfigurationError(
            f"`{found[0]}` in {claim!r} changes the game", setting="CLAIM", fix="compare by ==, ===, >= or <="
        )


@dataclass
class _Part:
    nearest: float | None = None
    gap: float = 0.0
    has_held: bool = False
    has_moved: bool = False
    episodes: int = 0
    players: set[str] = field(default_factory=set[str])


@dataclass
class ClaimCount:
    """Counts what the episodes say of a claim that held in none of them."""

    num_episodes: int = 0
    num_read: int = 0
    error: str | None = None
    """Why it could not be evaluated, of the first episode in which it could not."""
    _parts: dict[str, _Part] = field(default_factory=lambda: defaultdict(_Part))

    def count(self, player: str, episode: PlaytestEpisode) -> None:
        """Take an episode in; one that did not begin says nothing."""
        claim = episode.claim
        if claim is None:
            return
        self.num_episodes += 1
        self.num_read += claim.error is None
        self.error = self.error or claim.error
        for found in claim.parts:
            part = self._parts[found.text]
            if found.nearest is None:
                continue
            if part.nearest is None or found.gap > part.gap:
                part.nearest, part.gap, part.episodes, part.players = found.nearest, found.gap, 0, set()
            if found.gap == part.gap:
                part.episodes += 1
                part.players.add(player)
            part.has_held = part.has_held or found.has_held
            part.has_moved = part.has_moved or found.first != found.nearest

    @property
    def reached(self) -> list[ClaimReach]:
        """By comparison."""
        return [
            ClaimReach(
                text=text,
                nearest=part.nearest,
                has_held=part.has_held,
                has_moved=part.has_moved,
                episodes=part.episodes,
                players=len(part.players),
            )
            for text, part in self._parts.items()
        ]

    def verdict(self) -> tuple[ClaimVerdict, str]:
        """What follows, and why."""
        if not self.num_episodes:
            return "not_played", "no episode was played"
        reached = self.reached
        for part in reached:
            if self._is_limit(part):
                return "denied", (
                    f"{part.text}: {part.episodes} of {self.num_episodes} episodes by {part.players} players "
                    f"came as far as {part.nearest:g}, and none further"
                )
        return "inconclusive", self._unknown(reached)

    @property
    def is_plain(self) -> bool:
        """Whether it is denied beyond what more episodes could add."""
        return any(self._is_limit(part, PLAIN_EXPECTED) for part in self.reached)

    @property
    def is_wrong(self) -> bool:
        """Whether it is no expression, or names what there is not."""
        return not self.num_read and (self.error or "").startswith(("SyntaxError", "ReferenceError"))

    def _is_limit(self, part: ClaimReach, min_expected: float = MIN_EXPECTED) -> bool:
        """Whether the crowd came there so often that it would have come further."""
        expected = part.episodes**2 / max(1, self.num_episodes)
        is_tried = expected >= min_expected and part.players >= MIN_PLAYERS
        return part.has_moved and not part.has_held and is_tried

    def _unknown(self, reached: Sequence[ClaimReach]) -> str:
        if not self.num_read:
            return f"it could be evaluated after no step of {self.num_episodes} episodes: {self.error}"
        open_parts = [part for part in reached if not part.has_held]
        if not open_parts:
            return f"it did not hold in {self.num_episodes} episodes"
        return "; ".join(f"{part.text}: {self._how_far(part)}" for part in open_parts)

    def _how_far(self, part: ClaimReach) -> str:
        if part.nearest is None:
            return "never a number"
        if not part.has_moved:
            return f"nothing the crowd did brought it nearer than {part.nearest:g}, where it begins"
        return f"the crowd reached {part.nearest:g}, in {part.episodes} of {self.num_episodes} episodes"
