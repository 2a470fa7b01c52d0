"""What follows from a crowd's episodes for a claim that held in none."""

import pytest

from attract.errors import ConfigurationError
from attract.playtest.claim import ClaimCount, VerifyAnswer, check_claim
from attract.schema.playtest import PlaytestClaim, PlaytestClaimPart, PlaytestEpisode

TEXT = "player.jumps >= 3"


def counted(*nearest: float | None, first: float = 0.0, players: int = 4, wanted: float = 3.0) -> ClaimCount:
    """Episodes of several players in turn, each of which came so near."""
    count = ClaimCount()
    for index, value in enumerate(nearest):
        part = PlaytestClaimPart(
            text=TEXT,
            first=None if value is None else first,
            nearest=value,
            gap=0.0 if value is None else min(0.0, value - wanted),
            has_held=value is not None and value >= wanted,
        )
        count.count(f"hold-{index % players}", episode(PlaytestClaim(parts=[part])))
    return count


def episode(claim: PlaytestClaim | None) -> PlaytestEpisode:
    return PlaytestEpisode(
        play=0,
        index=0,
        episode_return=0.0,
        num_steps=9,
        num_ticks=9,
        end_reason="terminated",
        play_seconds=0.1,
        claim=claim,
    )


def test_a_limit_that_is_reached_again_and_again_denies() -> None:
    verdict, reason = counted(*[2.0] * 30, *[1.0] * 10).verdict()
    assert verdict == "denied"
    assert reason == ("player.jumps >= 3: 30 of 40 episodes by 4 players came as far as 2, and none further")


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (counted(*[2.0] * 2, *[1.0] * 40), "the crowd reached 2, in 2 of 42 episodes"),
        # 20 of 100: a fifth came so far; a fifth of those may come further, 4 episodes.
        (counted(*[2.0] * 20, *[1.0] * 80), "the crowd reached 2, in 20 of 100 episodes"),
        (counted(*[2.0] * 40, players=2), "the crowd reached 2, in 40 of 40 episodes"),
        (counted(*[0.0] * 40), "nothing the crowd did brought it nearer than 0, where it begins"),
        (counted(*[None] * 40), "never a number"),
        (counted(*[3.0] * 40), "it did not hold in 40 episodes"),
    ],
)
def test_what_is_not_known_is_not_denied(count: ClaimCount, says: str) -> None:
    verdict, reason = count.verdict()
    assert verdict == "inconclusive" and says in reason
    assert not count.is_plain


def test_a_denial_is_plain_where_more_episodes_could_not_change_it() -> None:
    assert not counted(*[2.0] * 30).is_plain
    assert counted(*[2.0] * 80).is_plain


def test_a_claim_that_is_read_in_no_step_says_why() -> None:
    count = ClaimCount()
    count.count("idle", episode(PlaytestClaim(error="ReferenceError: a")))
    count.count("idle", episode(PlaytestClaim(error="TypeError: b")))
    count.count("idle", episode(None))
    assert (count.num_episodes, count.num_read, count.error) == (2, 0, "ReferenceError: a")
    assert count.is_wrong
    late = ClaimCount()
    late.count("idle", episode(PlaytestClaim(error="TypeError: scene is null")))
    assert not late.is_wrong and "after no step of 1 episodes: TypeError" in late.verdict()[1]


def test_where_nothing_was_played_nothing_is_inconclusive() -> None:
    verdict, reason = counted().verdict()
    assert (verdict, reason) == ("not_played", "no episode was played")
    answer = VerifyAnswer(game="g", claim="c", verdict=verdict, reason=reason)
    assert answer.exit_code == 2, "1 is a claim that is denied"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("player.jumps = 2", "`=`"),
        ("player.jumps += 2", "`=`"),
        ("x >>= 1", "`>>=`"),
        ("lives-- < 1", "`--`"),
        ("++lives > 1", "`++`"),
        ("", "0"),
        (" ", "1"),
        ("x" * 2001, "2001"),
    ],
)
def test_a_claim_that_would_make_itself_true_is_none(claim: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check_claim(claim)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "claim",
    [
        "a == 1 && b === 2 && c != 3 && d !== 4 && e <= 5 && f >= 6",
        "list.some((one) => one.x > 3)",
        """document.querySelector('[data-state="won"]') !== null""",
        "name === 'a = b' || `x--` === y",
        "a - -1 > 0",
    ],
)
def test_a_claim_may_compare_and_quote(claim: str) -> None:
    check_claim(claim)
