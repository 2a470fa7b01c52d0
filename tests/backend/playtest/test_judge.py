import random
from collections.abc import Callable

from attract.playtest.judge import dead_keys, judge_changes, judge_play, new_restarts, slow_ticks
from attract.playtest.outcomes import Outcome, Outcomes

Draw = Callable[[random.Random], Outcome]


def outcome(value: float, end: str = "terminated", length: float = 100.0, **info: float) -> Outcome:
    ended = float(end == "terminated")
    numbers = {"return": value, "length": length, "ended": ended}
    return Outcome(end, numbers | {f"info {name}": number for name, number in info.items()})


def played(count: int = 64, seed: int = 0, **players: Draw) -> Outcomes:
    found = Outcomes()
    for player, draw in players.items():
        rng = random.Random(f"{seed} {player}")
        found.players[player.replace("_", ":")] = {i: draw(rng) for i in range(count)}
    return found


def about(mean: float) -> Draw:
    return lambda rng: outcome(rng.gauss(mean, 1.0))


def test_a_build_that_plays_alike_changes_nothing() -> None:
    before = played(idle=about(3), random=about(5))
    assert judge_changes(before, played(idle=about(3), random=about(5))) == []
    assert judge_changes(before, played(seed=1, idle=about(3), random=about(5))) == []


def test_a_number_that_several_players_show_is_one_finding_of_the_strongest() -> None:
    before = played(idle=about(10), random=about(10))
    (found,) = judge_changes(before, played(idle=about(9.4), random=about(4)))
    assert (found.id, found.oracle, found.player) == ("changed:return:lower", "changed", "random")
    assert "instead of" in found.text


def test_what_only_policies_do_worse_is_a_worse_policy() -> None:
    before = played(random=about(5), trained_greedy=about(50))
    (found,) = judge_changes(before, played(random=about(5), trained_greedy=about(30)))
    assert (found.id, found.player) == ("worse-policy", "trained:greedy")


def test_a_number_of_the_game_has_its_own_name() -> None:
    before = played(random=lambda rng: outcome(1.0, coins=rng.gauss(10, 1)))
    (found,) = judge_changes(before, played(random=lambda rng: outcome(1.0, coins=rng.gauss(20, 1))))
    assert found.id == "changed:coins:higher"


def test_a_level_that_nobody_reaches_any_more() -> None:
    before = played(random=lambda rng: outcome(1.0, level=float(rng.random() < 0.5)))
    (found,) = judge_changes(before, played(random=lambda rng: outcome(1.0, level=0.0)))
    assert (found.id, found.player) == ("unreached:level", "random")


def test_a_level_that_another_player_still_reaches_has_only_changed() -> None:
    before = played(random=lambda rng: outcome(1.0, level=float(rng.random() < 0.5)))
    now = played(random=lambda rng: outcome(1.0, level=0.0), sticky=lambda rng: outcome(1.0, level=1.0))
    assert [found.id for found in judge_changes(before, now)] == ["changed:level:lower"]


def test_a_score_far_above_all_of_the_baseline_is_an_exploit() -> None:
    before = played(random=about(5), trained_greedy=about(50))
    now = played(random=about(5), trained_greedy=about(50))
    now.players["random"][7] = outcome(500.0)
    (found,) = judge_changes(before, now)
    assert (found.id, found.player, found.index) == ("score-exploit", "random", 7)


def test_a_score_is_no_exploit_where_the_baseline_knows_too_little() -> None:
    # As of a slow page on a busy machine: two episodes of each, and a policy whose scores lie far apart.
    before = played(count=2, idle=about(0), random=about(1), sticky=about(1), trained_greedy=about(8))
    now = played(count=2, seed=1, idle=about(0), random=about(1), sticky=about(1), trained_greedy=about(28))
    assert judge_changes(before, now) == []
    # What a player reached that has not played this time is reached all the same.
    before = played(count=8, random=about(1), trained_excursions=about(30))
    now = played(count=8, random=lambda _: outcome(20.0))
    assert "score-exploit" not in [found.id for found in judge_changes(before, now)]


def test_failed_episodes_are_in_no_mean() -> None:
    before = played(random=about(5))
    now = played(random=about(5))
    for index in range(40):
        now.players["random"][index] = outcome(0.0, "failed")
    assert judge_changes(before, now) == []


def test_no_end_at_all_is_endless() -> None:
    def never(rng: random.Random) -> Outcome:
        return outcome(1.0, "stopped", 3000.0)

    (found,) = judge_play(None, played(idle=never, random=never))
    assert (found.id, found.player) == ("endless", "idle")
    assert "3000 steps" in found.text
    assert list(judge_play(None, played(idle=never, random=about(1)))) == []


def test_a_player_whose_episodes_ended_before_and_never_now_is_endless() -> None:
    before = played(idle=about(1), random=about(1))
    now = played(idle=lambda rng: outcome(1.0, "stopped"), random=about(1))
    assert [found.id for found in judge_play(before, now)] == ["endless"]


def test_a_weak_player_that_always_lost_and_never_does_now() -> None:
    before = played(idle=about(1), trained_greedy=about(9))
    now = played(idle=lambda rng: outcome(1.0, "time_limit"), trained_greedy=about(9))
    (found,) = judge_play(before, now)
    assert (found.id, found.player) == ("cannot-be-lost", "idle")
    assert list(judge_play(None, now)) == []
    # One episode of the baseline that went to the time limit says that idling can survive.
    before.players["idle"][3] = outcome(1.0, "time_limit")
    assert list(judge_play(before, now)) == []


def test_an_agent_that_does_nothing_and_gets_half_of_a_trained_one() -> None:
    (found,) = judge_play(None, played(idle=about(60), random=about(1), trained_greedy=about(100)))
    assert (found.id, found.player) == ("won-without-input", "idle")
    assert list(judge_play(None, played(idle=about(40), random=about(1), trained_greedy=about(100)))) == []
    assert list(judge_play(None, played(idle=about(60), random=about(1)))) == []


def test_episodes_that_depend_on_each_other_are_compared_as_one() -> None:
    def of(*values: float) -> Outcomes:
        return Outcomes({"random": dict(enumerate(map(outcome, values)))})

    before = of(*[10.0] * 63, 30.0)
    # What an episode leaves behind shifts the whole block of four: 12 of 16 go one way, which is chance.
    shifted = of(*[11.0] * 48, *[9.0] * 15, 29.0)
    assert [judged.id for judged in judge_changes(before, shifted)] == ["changed:return:higher"]
    assert judge_changes(before, shifted, 4) == []
    (judged,) = judge_changes(before, of(*[12.0] * 7, 13.0, *[12.0] * 55, 32.0), 4)
    # The first of the block that differs most: alone it begins in a fresh page.
    assert (judged.id, judged.index) == ("changed:return:higher", 4)
    assert "in the mean of 64 episodes of random" in judged.text


def test_what_blocks_reached_is_compared_block_by_block() -> None:
    def of(*levels: float) -> Outcomes:
        return Outcomes({"random": {i: outcome(1.0, level=level) for i, level in enumerate(levels)}})

    # Three of sixteen blocks reached it, each in all of its four episodes.
    before, now = of(*[2.0] * 12, *[1.0] * 52), of(*[1.0] * 64)
    assert [judged.id for judged in judge_changes(before, now)] == ["unreached:level"]
    assert judge_changes(before, now, 4) == []


def test_a_restart_that_draws_otherwise_is_broken_where_the_baseline_drew_alike() -> None:
    name = "retry-broken/drawn_alike"
    (alarm,) = new_restarts({name: 1.0}, {name: 0.0})
    assert alarm.oracle == "retry-broken"
    assert new_restarts({name: 0.0}, {name: 0.0}) == new_restarts({name: 1.0}, {name: 1.0}) == []
    assert new_restarts({name: 1.0}, {}) == new_restarts({}, {name: 0.0}) == []


def test_a_tick_is_slow_by_the_baseline_and_a_key_is_dead_by_it() -> None:
    name = "slow/microseconds_per_tick"
    assert [alarm.oracle for alarm in slow_ticks({name: 10.0}, {name: 51.0}, 0.001)] == ["slow"]
    assert slow_ticks({name: 10.0}, {name: 49.0}, 0.001) == slow_ticks({name: 10.0}, {name: 51.0}, 0.1) == []
    assert slow_ticks({}, {name: 51.0}, 0.001) == slow_ticks({name: 10.0}, {}, 0.001) == []
    before = {"dead-key/action 0": 0.5, "dead-key/action 1": 0.2, "dead-key/states": 32.0}
    (alarm,) = dead_keys(before, {"dead-key/action 0": 0.0, "dead-key/action 1": 0.0, "dead-key/states": 0.0})
    assert alarm.text.startswith("action 0 does nothing any more")
