"""Seats of players that do not learn: draws, the pool, ratings, and what comes of their leases."""

import json
from typing import Any

import numpy as np
import pytest
import scipy

from attract.collection import inputs
from attract.collection.effects import PoolChanged, SendPolicy
from attract.collection.opponents import EASIEST, MAX_SHOWN, Opponents
from attract.collection.seating import GameSeats
from attract.errors import ConfigurationError, ProtocolError
from attract.schema.messages import Block, ParameterDistribution, Seat, Seed
from attract.settings.run import RunSettings
from attract.settings.self_play import SelfPlaySettings
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

DUEL = counting_description(num_agents=2)
SEED = Seed(low=1, high=2)


def opponents(**settings: Any) -> Opponents:
    given = {"seats": "newest,pool", "swap_steps": 50, "window": 3, **settings}
    return Opponents(SelfPlaySettings.from_mapping(given), SEED, 100)


def filled(*versions: int, **settings: Any) -> Opponents:
    made = opponents(**settings)
    for number, version in enumerate(versions, 1):
        made.announced(version, 100 * number)
    return made


def players(seats: tuple[Seat, ...]) -> list[int | str]:
    """The version that learns as `newest`, others by version or script."""
    return ["newest" if seat.learns else seat.script or seat.policy_version for seat in seats]


def test_a_version_joins_the_pool_every_so_many_steps_and_the_oldest_leaves() -> None:
    made = opponents()
    changes = [made.announced(version, 40 * version) for version in range(11)]
    # 100 steps are passed at versions 3, 5, 8 and 10; version 0 opens the pool.
    assert [version for version, has_changed in enumerate(changes) if has_changed] == [0, 3, 5, 8, 10]
    assert made.versions == [5, 8, 10]


def test_versions_that_are_lost_with_their_learner_leave_the_pool() -> None:
    made = filled(2, 4, 6)
    assert made.announced(4, 200)
    assert made.versions == [2, 4]
    assert made.announced(6, 300), "the same version is trained again"
    assert made.versions == [2, 4, 6]


def test_opponents_and_sides_change_with_the_part_of_the_run() -> None:
    made = filled(2, 4, 6, play_against_latest_model_ratio=0.0)
    first, is_new = made.seats(7, 0, 0)
    assert is_new and sorted(map(str, players(first)))[-1] == "newest"
    assert made.seats(8, 0, 49)[1] is False, "the same until swap_steps more are learned"
    drawn = [tuple(players(made.seats(9, 0, 50 * part)[0])) for part in range(60)]
    sides = [pair.index("newest") for pair in drawn]
    assert 15 < sum(sides) < 45, "the policy plays both sides"
    assert {player for pair in drawn for player in pair} == {"newest", 2, 4, 6}


def test_workers_take_turns_at_the_newest() -> None:
    made = filled(2, 4, play_against_latest_model_ratio=0.25)
    latest = [[9 in players(made.seats(9, worker, 50 * part)[0]) for worker in range(4)] for part in range(4)]
    assert all(sum(row) == 1 for row in latest), "one of four at any time"
    assert [sum(column) for column in zip(*latest, strict=True)] == [1] * 4


def test_draws_follow_from_the_seed_and_what_happened_alone() -> None:
    def draws(seed: Seed) -> list[list[int | str]]:
        made = Opponents(SelfPlaySettings.from_mapping({"seats": "newest,pool,random"}), seed, 20_000)
        for version in range(5):
            made.announced(version, 20_000 * version)
        return [players(made.seats(9, worker, 20_000 * part)[0]) for worker in range(3) for part in range(9)]

    assert draws(SEED) == draws(SEED) != draws(Seed(low=1, high=3))


def test_a_worker_has_several_line_ups_at_a_time() -> None:
    given = SelfPlaySettings.from_mapping({"seats": "newest,pool", "play_against_latest_model_ratio": 0.5})
    made = Opponents(given, SEED, 100, num_games=64)
    for version in range(4):
        made.announced(version, 100 * version)
    seats, _ = made.seats(9, 0, 0)
    games = [players(seats[start : start + 2]) for start in range(0, 8, 2)]
    assert len(seats) == 8 and sum(9 in game for game in games) == 2, "half of them have the newest"
    assert len({game.index("newest") for game in games}) == 2, "it plays both sides at once"
    assert len(Opponents(given, SEED, 100, num_games=2).seats(9, 0, 0)[0]) == 4


def test_hard_ones_come_more_often() -> None:
    made = filled(2, 4, draw="hard", play_against_latest_model_ratio=0.0)
    for _ in range(100):
        made.count((Seat(policy_version=9), Seat(policy_version=2, learns=False)), [1.0, 0.0])
        made.count((Seat(policy_version=9), Seat(policy_version=4, learns=False)), [0.0, 1.0])
    drawn = [player for part in range(400) for player in players(made.seats(9, 0, 50 * part)[0])]
    # Weights are 0.02, the least, and 1.
    assert drawn.count(2) / 400 == pytest.approx(EASIEST / (1 + EASIEST), abs=0.02)


def test_a_win_counts_one_a_draw_half_and_mirrors_nothing() -> None:
    made = filled(2)
    own, past, mirror = (
        Seat(policy_version=9),
        Seat(policy_version=2, learns=False),
        Seat(policy_version=9, learns=False),
    )
    made.count((mirror, own), [0.0, 5.0])
    newest = Seat(policy_version=2)
    made.count((newest, past), [5.0, 0.0])
    assert made.metrics() == {}, "version 2 is in the pool, and learns as well"
    made.count((past, own), [0.0, 5.0])
    made.count((own, past), [1.0, 1.0])
    made.count((own, past), [0.0, 1.0])
    made.count((own, past), [2.0, 1.0])
    assert made.metrics()["rollout/win_rate"] == (1 + 0.5 + 0 + 1) / 4
    assert [scores for _, _, scores in made.state()["pool"]] == [[1.0, 0.5, 0.0, 1.0]]


def test_ratings_are_those_of_the_published_formulas() -> None:
    """One win between equals, by hand.

    Plackett-Luce of Weng and Lin, section 4.4, with mu 25, sigma 25/3, beta 25/6, kappa 1e-4, tau 25/300:
    sigma^2 = 69.444 + 0.00694; c = sqrt(2 sigma^2 + 2 beta^2) = 13.177; the chance of either is 0.5.
    mu: 25 + sigma^2 / c * (1 - 0.5) = 27.635; sigma^2 falls by sigma^4 / c^2 * 0.25 * sigma / c.
    """
    made = filled(2)
    made.count((Seat(policy_version=9), Seat(policy_version=2, learns=False)), [1.0, 0.0])
    variance = (25 / 3) ** 2 + (25 / 300) ** 2
    c = np.sqrt(2 * variance + 2 * (25 / 6) ** 2)
    sigma = np.sqrt(variance * (1 - variance / c**2 * 0.25 * np.sqrt(variance) / c))
    assert made.metrics()["rollout/rating"] == pytest.approx(25 + variance / c * 0.5)
    assert made.metrics()["rollout/rating_std"] == pytest.approx(sigma)
    (_, (rating, _), _) = made.state()["pool"][0]
    assert rating == pytest.approx(25 - variance / c * 0.5)


@pytest.mark.parametrize(
    ("player", "policy_id"),
    [("script:a/one.ts", "script:a/one.ts"), ("main:best", "run:main:best"), ("latest", "run:latest")],
)
def test_who_is_brought_has_a_rating_of_its_own(player: str, policy_id: str) -> None:
    made = filled(2, seats=f"newest,{player}")
    seats, _ = made.seats(9, 0, 0)
    (brought,) = [seat for seat in seats if not seat.learns]
    assert (brought.policy_id, brought.policy_version) == (policy_id, 0)
    made.count(seats, [1.0 if seat.learns else 0.0 for seat in seats])
    assert [(player, scores) for player, _, scores in made.state()["others"]] == [(player, [1.0])]
    again = opponents(seats=f"newest,{player}")
    again.load(json.loads(json.dumps(made.state())), ())
    assert again.state()["others"] == made.state()["others"]


def test_seats_of_one_player_are_a_team() -> None:
    made = filled(2, seats="newest,newest,pool,pool")
    own, past = Seat(policy_version=9), Seat(policy_version=2, learns=False)
    made.count((own, past, own, past), [0.0, 1.0, 3.0, 1.0])
    assert made.metrics()["rollout/win_rate"] == 1.0, "1.5 beats 1"


def test_the_ladder_has_everybody_the_strongest_first_with_what_was_won_against_them() -> None:
    made = filled(2, 4, seats="newest,pool,random")
    assert made.ladder() == [], "nobody has played"
    own, past = Seat(policy_version=9), Seat(policy_version=2, learns=False)
    luck = Seat(script="random", learns=False)
    for place in range(120):
        made.count((own, luck), [1.0, 0.0])
        # Of the last hundred, 20 are won and 20 drawn.
        made.count((own, past), [(1.0, 0.0, 0.0, 0.5, 0.0)[place % 5], 0.5])
    first, newest, unmet, last = made.ladder()
    assert (first.player, first.policy_version, first.episodes) == ("version", 2, 100)
    assert first.rating > newest.rating > unmet.rating > last.rating and unmet.rating == 25.0
    assert first.rating_std < 3 < unmet.rating_std == pytest.approx(25 / 3)
    share = first.win_rate
    assert share is not None and share.mean == 0.3
    low, high = scipy.stats.binomtest(30, 100).proportion_ci(0.95, "wilson")
    assert (share.low, share.high) == (pytest.approx(low), pytest.approx(high))
    assert (newest.player, newest.policy_version, newest.episodes) == ("newest", None, 100)
    assert newest.win_rate is not None and newest.win_rate.mean == 0.65
    assert (unmet.player, unmet.policy_version, unmet.win_rate, unmet.episodes) == ("version", 4, None, 0)
    assert (last.player, last.win_rate and last.win_rate.mean) == ("random", 1.0)


def test_a_large_pool_has_its_strongest_on_the_ladder() -> None:
    made = filled(*range(1, 151), window=1000)
    weak = Seat(policy_version=150, learns=False)
    made.count((Seat(policy_version=200), weak), [1.0, 0.0])
    versions = [row.policy_version for row in made.ladder()]
    assert len(versions) == MAX_SHOWN + 1 and None in versions and 150 not in versions


def test_the_hardest_version_is_named_once_it_was_met_often() -> None:
    made = filled(2, 4)
    for version, scores in ((2, [1.0, 0.0]), (4, [0.0, 0.0, 0.0, 1.0])):
        for place in range(99):
            seats = (Seat(policy_version=9), Seat(policy_version=version, learns=False))
            made.count(seats, [scores[place % len(scores)], 0.5])
    assert "rollout/hardest_version" not in made.metrics(), "99 episodes"
    for version in (2, 4):
        made.count((Seat(policy_version=9), Seat(policy_version=version, learns=False)), [1.0, 0.5])
    found = {name: value for name, value in made.metrics().items() if "hardest" in name}
    # 24 of 99, and the last one.
    assert found == {
        "rollout/hardest_win_rate": 0.25,
        "rollout/hardest_version": 4.0,
        "rollout/hardest_episodes": 100.0,
    }


def test_D2_pool_ratings_and_draws_survive_a_checkpoint() -> None:
    made = filled(2, 4, 6, seats="newest,pool,random")
    for value in (1.0, 0.0, 0.5):
        made.count(made.seats(9, 1, 10)[0], [value, 0.5, 0.2])
    kept = json.loads(json.dumps(made.state()))
    again = opponents(seats="newest,pool,random")
    again.load(kept, {2, 4, 6})
    assert again.state() == made.state()
    assert again.metrics() == made.metrics()
    assert again.seats(9, 1, 10) == (made.seats(9, 1, 10)[0], False)
    again.load(kept, {4})
    assert again.versions == [4], "the models of the others are gone"
    again.load({}, ())
    assert again.state() == opponents(seats="newest,pool,random").state()


def test_a_goal_is_won_over_the_last_hundred_and_a_standard_error_above() -> None:
    made = filled(2, seats="newest,pool,random", against="random")
    own, past = Seat(policy_version=9), Seat(policy_version=2, learns=False)
    luck = Seat(script="random", learns=False)
    for _ in range(99):
        made.count((own, past, luck), [1.0, 2.0, 0.0])
    assert not made.has_won(0.5), "99 episodes"
    made.count((own, past, luck), [1.0, 2.0, 0.0])
    assert made.has_won(1.0), "always against random play, never against the pool"
    for _ in range(20):
        made.count((own, past, luck), [0.0, 2.0, 1.0])
    # 0.8 with a standard error of sqrt(0.8 * 0.2 / 100) = 0.04.
    assert made.has_won(0.76) and not made.has_won(0.77)
    assert not filled(2, seats="newest,pool,random").has_won(0.1)


# --- leases ---


def started(tier: str = "local", *, window: int = 10, swap_steps: int = 20_000, **changes: Any) -> DrivenCore:
    """Two workers of three duels; the learning policy sits opposite the pool or itself."""
    play = {
        "seats": "newest,pool",
        "save_steps": 1,
        "play_against_latest_model_ratio": 0.0,
        "window": window,
        "swap_steps": swap_steps,
    }
    driven = DrivenCore(small_config(self_play=play, **changes), DUEL, tier=tier)
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    return driven


def test_a_lease_says_who_learns_and_only_that_is_sent_and_trained_on() -> None:
    driven = started(schedule="sync")
    lease = driven.leases(10)[0]
    # Three games have a line-up each, in which one of two seats learns.
    games = [lease.seats[start : start + 2] for start in (0, 2, 4)]
    assert all(sorted(seat.learns for seat in game) == [False, True] for game in games)
    for connection_id in (10, 11):
        driven.play(connection_id)
    assert len(driven.trains[0].rows) == 6, "a row for each game, not for each slot"
    driven.publish()
    following = driven.leases(10)[-1]
    block = next(message for message in driven.workers[10].play() if isinstance(message, Block))
    slots = np.frombuffer(block.slot_id.data, np.int32).tolist()
    assert slots == [slot for slot, seat in enumerate(following.seats) if seat.learns]


def test_C1_the_rows_of_a_frozen_seat_are_refused() -> None:
    driven = started()
    worker = driven.workers[10]
    lease = worker.leases[0]
    block = next(message for message in worker.play() if isinstance(message, Block))
    frozen = [slot for slot, seat in enumerate(lease.seats) if not seat.learns]
    slots = np.array(frozen, np.int32)
    forged = block.model_copy(update={"slot_id": block.slot_id.model_copy(update={"data": slots.tobytes()})})
    assert driven.core.offer_block(10, forged, 0.0).reason == "duplicate"
    assert driven.block(10, block).accepted


def test_opponents_are_sent_before_the_lease_that_names_them_and_again_on_a_new_socket() -> None:
    driven = started(schedule="sync")
    for _ in range(3):
        for connection_id in (10, 11):
            driven.play(connection_id)
        driven.publish()
    # FakeWorker refuses to play with a policy that it was never sent.
    past = [sent for sent in driven.wanted(SendPolicy) if sent.is_opponent]
    assert past and all(sent.policy_version < 3 for sent in past)
    worker = driven.close(10)
    before = len(driven.log)
    driven.rejoin(20, worker)
    again = [
        effect for effect in driven.log[before:] if isinstance(effect, SendPolicy) and effect.is_opponent
    ]
    assert {sent.connection_id for sent in again} == {20}
    driven.play(20)


def test_what_the_lease_before_named_is_not_sent_again() -> None:
    driven = started(schedule="sync", swap_steps=10_000)
    for _ in range(3):
        for connection_id in (10, 11):
            driven.play(connection_id)
        driven.publish()
    opponents = [sent for sent in driven.wanted(SendPolicy) if sent.is_opponent]
    # Version 0 opposes both workers from version 1 on; FakeWorker refuses a policy that it lacks.
    assert [(sent.connection_id, sent.policy_version) for sent in opponents] == [(10, 0), (11, 0)]
    driven.play(10)


def test_a_version_that_an_open_lease_names_is_kept_when_it_leaves_the_pool() -> None:
    driven = started(schedule="overlap", window=1, batch_segments=3)
    driven.play(10)
    driven.publish()
    assert driven.wanted(PoolChanged)[-1].versions == (1,)
    lease = next(lease for lease in driven.core.book if lease.version == 1)
    lease.seats = GameSeats((Seat(policy_version=0, learns=False), Seat(policy_version=1)), 2, 0)
    driven.play(11)
    driven.publish()
    assert lease in list(driven.core.book)
    assert driven.wanted(PoolChanged)[-1].versions == (0, 2), "it is sent again to a worker that comes back"


def test_only_whole_episodes_with_the_same_players_are_rated() -> None:
    """Episodes have 7 steps, leases 4: an episode spans two of them at least."""

    def rated(swap_steps: int) -> int:
        driven = started(schedule="sync", swap_steps=swap_steps)
        for _ in range(8):
            for connection_id in (10, 11):
                driven.play(connection_id)
            driven.publish()
        assert driven.core.opponents is not None
        return len(driven.core.opponents.state()["scores"])

    assert rated(1) == 0, "each lease has other players"
    assert rated(10_000) > 6


def test_ticks_of_a_game_are_counted_whoever_learns_in_it() -> None:
    driven = started(schedule="sync")
    for connection_id in (10, 11):
        driven.play(connection_id)
    # Six games of four steps, two ticks each.
    assert driven.core.counters.ticks == 6 * 4 * 2


def test_the_pool_is_announced_when_it_changes() -> None:
    driven = started(schedule="sync")
    for _ in range(2):
        for connection_id in (10, 11):
            driven.play(connection_id)
        driven.publish()
    assert [effect.versions for effect in driven.wanted(PoolChanged)] == [(0,), (0, 1), (0, 1, 2)]


def test_C10_a_guest_plays_the_newest_against_itself() -> None:
    driven = started(tier="invited")
    for lease in driven.leases(10):
        assert all(seat.learns for seat in lease.seats)


def test_a_match_names_its_seats_and_its_parameters_and_sends_who_plays() -> None:
    driven = DrivenCore(small_config(num_workers=1), DUEL)
    driven.host()
    driven.join(10)
    driven.ready()
    driven.give(inputs.pause)
    players = (Seat(policy_id="other", policy_version=7, learns=False), Seat(script="random", learns=False))
    terms = {"size": ParameterDistribution(values=[3.0])}
    driven.give(inputs.request_evaluation, 2, False, SEED, seats=players, parameters=terms)
    driven.play(10, 2)
    (lease,) = [lease for lease in driven.leases(10) if lease.purpose == "evaluate"]
    assert lease.seats == list(players) and lease.parameters == terms
    sent = [(sent.policy_id, sent.policy_version) for sent in driven.wanted(SendPolicy) if sent.is_opponent]
    assert sent == [("other", 7)]
    driven.play(10)
    driven.give(inputs.request_evaluation, 2, False, SEED)
    assert driven.core.evaluation is not None and driven.core.evaluation.lesson is None


def test_without_opponents_nothing_changes() -> None:
    driven = DrivenCore(small_config(self_play={"seats": "newest,newest"}), DUEL)
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    assert all(seat.learns for seat in driven.leases(10)[0].seats)
    assert driven.wanted(PoolChanged) == []


def test_a_pool_takes_in_twenty_versions_over_a_run() -> None:
    play = {"seats": "newest,pool"}
    assert small_config(self_play=play, total_steps=300_000).save_steps == 15_000
    assert small_config(self_play=play).save_steps == 50_000
    assert small_config(self_play=play | {"save_steps": 7}).save_steps == 7


# --- settings ---


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"self_play": {"seats": "pool,random"}}, "name it for one seat at least"),
        ({"self_play": {"seats": "newest,best est"}}, "self_play.seats.1"),
        (
            {"self_play": {"seats": "newest,pool"}, "collection": {"seats": "a,b"}},
            "leave collection.seats empty",
        ),
        ({"self_play": {"seats": "newest,pool"}, "collection": {"inference": "server"}}, "in the workers"),
        ({"self_play": {"window": 0}}, "self_play.window"),
        ({"until_win_rate": 0.8}, "nobody is there to win against"),
        ({"until_win_rate": 1.5, "self_play": {"seats": "newest,pool"}}, "until_win_rate"),
        ({"self_play": {"seats": "newest,pool", "against": "random"}}, "it is no opponent"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        RunSettings.from_mapping(given)
    assert says in str(refused.value)


def test_seats_must_fit_the_game() -> None:
    driven = DrivenCore(small_config(self_play={"seats": "newest,pool,pool"}), DUEL)
    with pytest.raises((ConfigurationError, ProtocolError), match="3 players for the 2 seats"):
        driven.host()
