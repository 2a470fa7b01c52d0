import numpy as np
import pytest

from attract.commands.matching import percent
from attract.playtest.match import Match, lineups
from attract.schema.match import Estimate
from recorded_episodes import recorded


def test_each_of_two_sits_on_every_seat_once() -> None:
    assert list(lineups(2, 2)) == [(0, 1), (1, 0)]
    assert list(lineups(2, 3)) == [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert len(list(lineups(4, 2))) == 6 * 2


def test_wins_draws_and_losses_are_seen_from_both_sides_and_by_seat() -> None:
    match = Match(["a", "b"], 2)
    match.count((0, 1), [2.0, 1.0])
    match.count((0, 1), [1.0, 1.0])
    match.count((1, 0), [3.0, 1.0])
    match.count((1, 0), [0.0, 1.0])
    one, other = match.report("Duel-v1").pairs
    assert (one.player, one.opponent, one.wins, one.draws, one.losses) == ("a", "b", 2, 1, 1)
    assert (other.player, other.wins, other.draws, other.losses) == ("b", 1, 1, 2)
    assert one.score.mean == 2.5 / 4
    assert [seat.mean for seat in match.report("Duel-v1").seats] == [2.5 / 4, 1.5 / 4]
    # Wilson, n = 4, p = 0.625, z = 1.96: (p + z^2 / 8 -+ z sqrt(p (1 - p) / 4 + z^2 / 64)) / (1 + z^2 / 4)
    assert one.score.low == pytest.approx(0.2194, abs=1e-3)
    assert one.score.high == pytest.approx(0.9081, abs=1e-3)


def test_several_seats_of_one_player_are_a_team() -> None:
    match = Match(["a", "b"], 3)
    match.count((0, 1, 1), [2.0, 0.0, 3.0])
    assert match.report("Three-v1").pairs[0].wins == 1, "2 beats the mean of 0 and 3"
    assert [seat.mean for seat in match.report("Three-v1").seats] == [0.0, 0.0, 1.0]


def test_matches_at_several_values_are_one() -> None:
    whole = Match(["a", "b"], 2)
    for value, returns in ((1.0, [2.0, 1.0]), (2.0, [0.0, 1.0])):
        part = Match(["a", "b"], 2)
        part.count((0, 1), returns)
        whole.absorb(part)
        assert part.at(value).seats[0].mean == float(value == 1.0)
    (one, _), seats = whole.report("Duel-v1").pairs, whole.report("Duel-v1").seats
    assert (one.wins, one.losses, seats[0].mean, seats[1].mean) == (1, 1, 0.5, 0.5)


def test_an_episode_stays_of_each_who_won_else_a_draw() -> None:
    match, other = Match(["a", "b", "c"], 2), Match(["a", "b", "c"], 2)
    match.keep((0, 1), recorded([1.0, 1.0], episode=1))
    match.keep((0, 1), recorded([0.0, 2.0], episode=2))
    match.keep((1, 0), recorded([2.0, 0.0], episode=3))
    match.keep((0, 2), recorded([1.0, 1.0], episode=4))
    other.keep((0, 1), recorded([2.0, 0.0], episode=5))
    match.absorb(other)
    found = {pair: episode.episode for pair, episode in match.kept.items()}
    assert found == {("b", "a"): 2, ("a", "b"): 5, ("a", "c"): 4}


@pytest.mark.parametrize("seed", range(5))
def test_known_strengths_are_recovered(seed: int) -> None:
    """The chance of either follows from the difference by the logistic function that the ratings assume."""
    draws = np.random.default_rng(seed)
    strengths = [15.0, 20.0, 25.0, 30.0, 35.0]
    match = Match([f"p{number}" for number in range(5)], 2)
    for lineup in lineups(5, 2):
        for _ in range(100):
            spread = np.sqrt(2) * 25 / 6
            match.count(lineup, [strengths[player] + spread * draws.gumbel() for player in lineup])
    report = match.report("Known-v1")
    assert [player.player for player in report.players] == ["p4", "p3", "p2", "p1", "p0"]
    middle = np.mean([player.rating for player in report.players])
    for player, strength in zip(report.players, sorted(strengths, reverse=True), strict=True):
        assert player.rating - middle == pytest.approx(strength - 25, abs=2 * player.rating_std)


@pytest.mark.parametrize(
    ("mean", "says"), [(0.525, "53% ±3"), (0.025, "3% ±3"), (0.5, "50% ±3"), (None, "-")]
)
def test_a_share_is_rounded_as_the_dashboard_rounds_it(mean: float | None, says: str) -> None:
    around = None if mean is None else mean + 0.025
    assert percent(Estimate(mean=mean, low=mean, high=around)) == says
