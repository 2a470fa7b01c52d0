import asyncio
import random
from collections.abc import Callable

import pytest
from tests.backend.playtest.scripted_host import GAME, RECORDED, ScriptedHost, error, run

from attract.playtest.judge import NOT_AGAIN
from attract.playtest.outcomes import Outcome, Outcomes
from attract.playtest.plan import Plan
from attract.playtest.session import Playtest
from attract.schema.base import Seed
from attract.schema.playtest import (
    GamePlaytested,
    PlaytestAlarm,
    PlaytestDrilled,
    PlaytestGame,
    PlaytestObserved,
    PlaytestPlays,
)
from attract.schema.recorded_episode import RecordedEpisode


def test_every_player_plays_its_episodes_once_however_few_an_order_gets_done() -> None:
    host = ScriptedHost(per_order=7)
    played = run(host)
    assert {player: len(episodes) for player, episodes in played.outcomes.players.items()} == {
        "idle": 64,
        "random": 256,
    }
    asked = [
        (play.player, index)
        for order in host.orders
        for play in order.plays
        for index in range(play.first, play.first + play.count)
    ]
    assert asked.count(("random", 255)) < 40  # Left over from order to order, and played in one.
    assert played.findings == []


def test_a_clean_game_passes_every_drill() -> None:
    played = run(ScriptedHost())
    assert played.drilled == {"retry-broken", "soft-lock", "dead-key", "leak", "slow"}
    assert played.problems == {}


def test_every_order_says_what_the_numbers_of_an_observation_are_read_of() -> None:
    host, observed = ScriptedHost(), [PlaytestObserved(text="w.lives", numbers=1)]
    run(host, observed=observed)
    assert host.orders and all(order.observed == observed for order in host.orders)


def test_alarms_that_differ_in_numbers_are_one_finding_replayed_twice() -> None:
    def alarms(player: str, index: int) -> list[PlaytestAlarm]:
        return [error(f"x is undefined at {index}", step=9 - index % 3)]

    host = ScriptedHost(alarms)
    (found,) = run(host).findings
    assert (found.id, found.times) == ("error", 2)
    assert found.cause is not None
    assert found.cause.shortest.alarm.step == 7
    replays = [order for order in host.orders if order.plays and order.plays[0].player == "recorded-0"]
    (replay,) = replays
    assert (replay.fresh_every, replay.episodes, len(replay.plays)) == (1, [RECORDED], 2)


def test_a_finding_is_shown_as_it_is_when_it_is_replayed() -> None:
    def alarms(player: str, index: int) -> list[PlaytestAlarm]:
        return [error("gone", step=7 if player == "recorded-0" else 5)]

    class Host(ScriptedHost):
        @staticmethod
        def record_of(order: PlaytestGame) -> RecordedEpisode:
            return RECORDED.model_copy(update={"instance": 9}) if order.episodes else RECORDED

    (found,) = run(Host(alarms)).findings
    assert found.alarm is not None
    assert found.episode is not None
    assert (found.alarm.step, found.episode.instance, found.player) == (7, 9, "idle")


def host_of_used_pages(text: str, count: int, steady: int = -1) -> ScriptedHost:
    """The first `count` episodes of a player show it, and in a fresh page the episode `steady` alone."""
    host = ScriptedHost()

    def alarms(player: str, index: int) -> list[PlaytestAlarm]:
        is_seen = (
            player == "random" and index < count and (index == steady or not host.orders[-1].fresh_every)
        )
        return [error(text, step=9 + (index - 4) ** 2)] if is_seen else []

    host.alarms = alarms
    return host


def test_an_alarm_that_does_not_come_again_is_no_finding() -> None:
    played = run(host_of_used_pages("now and then", 2))
    assert played.findings == []
    assert played.problems["error"] == "seen once and not again when replayed: now and then"


def test_an_alarm_of_many_episodes_is_a_finding_though_the_shortest_goes_otherwise() -> None:
    (found,) = run(host_of_used_pages("each time", 3)).findings
    assert (found.id, found.times) == ("error", 0)
    assert found.text == "each time (in 3 episodes; the shortest go otherwise in a fresh page)"


def test_further_episodes_are_played_by_their_players_until_one_shows_it_again() -> None:
    host = host_of_used_pages("gone", 9, steady=5)
    (found,) = run(host).findings
    assert (found.text, found.times, found.player) == ("gone", 2, "random")
    assert found.alarm is not None and found.episode is not None
    assert (found.alarm.step, found.episode.instance) == (10, 1)
    tried = [order.plays[0] for order in host.orders if order.fresh_every]
    assert [play.first for play in tried if play.player == "random"] == [4, 3, 5]


def test_ticks_five_times_as_long_as_in_the_baseline_are_slow() -> None:
    def measured(now: float, tick_seconds: float) -> list[str]:
        host = ScriptedHost()
        host.drilled["slow"] = PlaytestDrilled(kind="slow", numbers={"microseconds_per_tick": now})
        plan = Plan(game=GAME, players=["idle"], seed=Seed(low=0, high=0), tick_seconds=tick_seconds)
        before = {"slow/microseconds_per_tick": 10.0}
        playtest = Playtest(plan, host, lambda stack, method: (stack, None), None, before)
        return [found.id for found in asyncio.run(playtest.run()).findings]

    assert measured(51.0, 0.001) == ["slow"]
    assert measured(49.0, 0.001) == []
    # Less than 5 % of its own game time hurts nobody.
    assert measured(51.0, 0.1) == []


def test_a_game_that_hangs_twice_is_a_finding_and_ends_the_play() -> None:
    host = ScriptedHost()
    host.hangs_at = ("random", 20)
    played = run(host)
    (found,) = played.findings
    assert (found.id, found.times) == ("error", 1)
    assert "while random played episode 20" in found.text
    assert played.problems["leak"] == "the game hangs"


def test_a_machine_that_stands_still_once_is_no_game_that_hangs() -> None:
    host = ScriptedHost()
    host.hangs_at = ("random", 20)
    host.num_hangs = 1
    played = run(host)
    assert played.findings == []
    assert played.outcomes.num_episodes == 64 + 256
    assert played.problems["error"].startswith("once and not again: the game did not come back")


@pytest.mark.parametrize("fresh_every", [0, 2])
def test_a_page_that_does_not_begin_again_is_drilled_again_with_the_episode_before(fresh_every: int) -> None:
    text = f"{NOT_AGAIN}: start() threw: the scene is paused"
    alarm = PlaytestAlarm(oracle="retry-broken", text=text, step=10)
    host = ScriptedHost(lambda player, index: [alarm] if (player, index) == ("random", 1) else [])
    host.drilled["retry-broken"] = PlaytestDrilled(
        kind="retry-broken", alarms=[alarm], recorded=[RECORDED], numbers={"episodes": 2.0}
    )
    known = frozenset({("retry-broken", "another")})
    played = run(host, has_page=True, fresh_every=fresh_every, known=known)
    (found,) = played.findings
    assert (found.id, found.text, found.times) == ("retry-broken", text, 2)
    last = RECORDED.model_copy(update={"instance": int(fresh_every > 0)})
    # Its episodes are as good as any others.
    assert (played.fresh_every, played.outcomes.num_episodes) == (fresh_every, 64 + 256)
    assert found.episode == last
    drills = [drill for order in host.orders for drill in order.drills if drill.kind == "retry-broken"]
    assert [drill.episodes for drill in drills] == [[last]] * 2


@pytest.mark.parametrize(("count", "is_found"), [(2, False), (3, True)])
def test_a_page_that_often_does_not_begin_again_is_found_where_a_fresh_one_goes_otherwise(
    count: int, is_found: bool
) -> None:
    alarm = PlaytestAlarm(oracle="retry-broken", text=f"{NOT_AGAIN}: start() threw: paused", step=10)
    host = ScriptedHost(lambda player, index: [alarm] if player == "random" and index < count else [])
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", numbers={"episodes": 2.0})
    found = [(finding.id, finding.times) for finding in run(host, has_page=True).findings]
    assert found == ([("retry-broken", 0)] if is_found else [])


def test_an_episode_that_went_on_in_a_new_page_is_judged_as_any_other() -> None:
    alarm = PlaytestAlarm(oracle="retry-broken", text=f"{NOT_AGAIN}: start() threw: paused", step=10)
    host = ScriptedHost(lambda player, index: [alarm] if player == "random" else [])
    host.drilled["retry-broken"] = PlaytestDrilled(
        kind="retry-broken", alarms=[alarm], recorded=[RECORDED], numbers={"episodes": 2.0}
    )
    before = Outcomes()
    before.players["random"] = {
        index: Outcome("terminated", {"return": 5.0 + index / 100, "length": 10.0, "ended": 1.0})
        for index in range(256)
    }
    found = run(host, before, has_page=True).findings
    assert [finding.id for finding in found] == ["retry-broken", "changed:return:lower"]


def test_more_causes_than_are_replayed_are_counted_and_hide_nothing_else() -> None:
    names = [f"{a}{b}" for a in "abcde" for b in "abcdef"]
    host = ScriptedHost(lambda player, index: [error(f"no {names[index]}")] if index < len(names) else [])
    alarm = PlaytestAlarm(oracle="slow", text="a tick takes 120 ms in the median", step=0)
    host.drilled["slow"] = PlaytestDrilled(kind="slow", alarms=[alarm], recorded=[None])
    played = run(host)
    assert [found.id for found in played.findings].count("error") == 24
    assert played.left_out == len(names) - 24
    assert "slow" in [found.id for found in played.findings]


def test_what_did_not_come_in_time_is_no_finding_and_is_said() -> None:
    host = ScriptedHost()
    host.hangs_at = ("random", 20)
    host.num_hangs = 2
    host.is_late = True
    played = run(host)
    assert played.findings == []
    assert played.outcomes.num_episodes == 64 + 256
    assert played.problems["error"].startswith("could not be judged: the game did not come back")


def test_ticks_that_two_rules_call_slow_are_one_finding() -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="slow", text="a tick takes 120 ms in the median", step=0)
    numbers = {"microseconds_per_tick": 120_000.0}
    host.drilled["slow"] = PlaytestDrilled(kind="slow", alarms=[alarm], recorded=[None], numbers=numbers)
    plan = Plan(game=GAME, players=["idle"], seed=Seed(low=0, high=0), tick_seconds=0.1)
    before = {"slow/microseconds_per_tick": 10.0}
    playtest = Playtest(plan, host, lambda stack, method: (stack, None), None, before)
    (found,) = asyncio.run(playtest.run()).findings
    assert (found.id, found.text) == ("slow", "a tick takes 120 ms in the median")


def test_a_judgement_whose_episode_goes_otherwise_is_shown_no_times() -> None:
    before = Outcomes()
    before.players["random"] = {
        index: Outcome("terminated", {"return": 5.0 + index / 100, "length": 10.0, "ended": 1.0})
        for index in range(64)
    }
    host = ScriptedHost()
    host.is_steady = False
    (found,) = run(host, before).findings
    assert (found.id, found.times) == ("changed:return:lower", 0)


def worse_with(texts: Callable[[int], str | None], step: int = 5, **options: object) -> list[str]:
    """Ids of what is found in a build whose odd episodes return less, with the alarm `texts` names."""

    class Host(ScriptedHost):
        async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
            answer = await super().__call__(order)
            episodes = [
                episode.model_copy(
                    update={"episode_return": episode.episode_return - 5.0 * (episode.index % 2)}
                )
                for episode in answer.episodes
            ]
            return answer.model_copy(update={"episodes": episodes})

    host = Host(lambda player, index: [error(text, step=step)] if (text := texts(index)) is not None else [])
    before = Outcomes(
        {
            player: {
                index: Outcome(
                    "terminated",
                    {"return": random.Random(f"{player} {index}").random(), "length": 10.0, "ended": 1.0},
                )
                for index in range(64)
            }
            for player in ("idle", "random")
        }
    )
    return [found.id for found in run(host, before, **options).findings]


def test_what_follows_from_an_error_is_no_finding_beside_it() -> None:
    assert worse_with(lambda index: None) == ["changed:return:lower"]
    assert worse_with(lambda index: "gone" if index % 2 else None) == ["error"]
    # Half of the worse episodes have another cause.
    assert worse_with(lambda index: "gone" if index % 4 == 1 else None) == ["error", "changed:return:lower"]


def test_an_error_of_the_baseline_or_of_loading_explains_no_change() -> None:
    changed = ["error", "changed:return:lower"]
    assert worse_with(lambda index: "gone 7", known=frozenset({("error", "gone #")})) == changed
    assert worse_with(lambda index: "no picture", step=0) == changed


def test_drills_begin_in_episodes_without_an_error() -> None:
    host = ScriptedHost(lambda player, index: [] if (player, index) == ("random", 1) else [error("gone")])
    host.end_reason = "time_limit"
    run(host)
    begun = {order.drills[0].kind: len(order.drills[0].episodes) for order in host.orders if order.drills}
    assert (begun["retry-broken"], begun["soft-lock"]) == (1, 1)


def test_every_judgement_has_its_episode_which_is_played_twice_more() -> None:
    before = Outcomes()
    host = ScriptedHost()
    for player in ("idle", "random"):
        before.players[player] = {
            index: Outcome("terminated", {"return": 5.0 + index / 100, "length": 30.0, "ended": 1.0})
            for index in range(64)
        }
    found = {finding.id: finding for finding in run(host, before).findings}
    assert set(found) == {"changed:return:lower", "changed:length:lower"}
    assert [finding.times for finding in found.values()] == [2, 2]
    assert all(finding.episode is not None and finding.episode.instance == 1 for finding in found.values())
    (shown,) = [order for order in host.orders if order.plays and len(order.plays) == 4 and order.record]
    assert [play.count for play in shown.plays] == [1, 1, 1, 1]


def test_more_judgements_than_an_order_can_show_are_found_all_the_same() -> None:
    info = {f"number {k}": 1.0 for k in range(150)}

    host = ScriptedHost()
    host.info = info
    was = {"length": 10.0, "ended": 1.0, **{f"info {name}": 2.0 for name in info}}
    before = Outcomes({"random": {index: Outcome("terminated", was) for index in range(64)}})
    assert len(run(host, before).findings) == len(info)


@pytest.mark.parametrize(("before", "every"), [(None, 2), (Outcomes(), 1)])
def test_a_page_whose_restart_leaves_something_behind_is_loaded_more_often(
    before: Outcomes | None, every: int
) -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="retry-broken", text="episode 1 differs at 0.5 s", step=0)
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", alarms=[alarm], recorded=[RECORDED])
    played = run(host, before, has_page=True)
    assert "retry-broken" in [found.id for found in played.findings]
    first, *others = [order for order in host.orders if order.plays]
    assert first.fresh_every == 0
    assert {order.fresh_every for order in others} == {every}
    assert played.fresh_every == every
    # What drills begin in was played in fresh pages, too.
    (locks,) = [order for order in host.orders if order.drills and order.drills[0].kind == "dead-key"]
    assert {episode.instance for episode in locks.drills[0].episodes} == {1}
    assert len(played.outcomes.players["random"]) == 256


def test_modules_are_always_fresh_and_are_not_played_twice() -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="retry-broken", text="episode 1 differs at 0.5 s", step=0)
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", alarms=[alarm], recorded=[RECORDED])
    run(host)
    begun = [order for order in host.orders if PlaytestPlays(player="idle", first=0, count=2) in order.plays]
    assert len(begun) == 1


def test_an_action_that_was_unlike_all_others_and_does_nothing_now() -> None:
    host = ScriptedHost()
    host.drilled["dead-key"] = PlaytestDrilled(kind="dead-key", numbers={"action 0": 0.5, "action 1": 0.0})
    plan = Plan(game=GAME, players=["idle", "random"], seed=Seed(low=0, high=0))
    measured = {"dead-key/action 0": 0.6, "dead-key/action 1": 0.9}
    playtest = Playtest(plan, host, lambda stack, method: (stack, None), None, measured)
    (found,) = asyncio.run(playtest.run()).findings
    assert found.id == "dead-key"
    assert found.text.startswith("action 1 does nothing any more")


def test_a_spent_budget_leaves_oracles_unjudged() -> None:
    played = run(ScriptedHost(), seconds=0.0)
    assert played.problems["leak"] == "no time was left"
    assert played.outcomes.num_episodes == 0


def test_a_drill_is_given_a_share_of_the_time() -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="leak", text="10 kB an episode", step=0)
    host.drilled["leak"] = PlaytestDrilled(kind="leak", alarms=[alarm], recorded=[RECORDED])
    assert [found.id for found in run(host, seconds=20.0).findings] == ["leak"]
    drills = [order for order in host.orders if order.drills]
    assert [order.drills[0].kind for order in drills].count("leak") == 1  # It measures twice itself.
    # Those at first leave time for the others, which share what is left.
    assert [(order.drills[0].kind, round(order.budget_seconds)) for order in drills] == [
        ("retry-broken", 3),
        ("slow", 3),
        ("dead-key", 10),
        ("leak", 19),
    ]


def test_a_broken_restart_is_confirmed_by_the_episodes_that_show_it_when_it_is_found() -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="retry-broken", text="episode 1 differs at 0.5 s", step=0)
    numbers = {"episodes": 3.0, "first": 1.0, "last": 2.0}
    host.drilled["retry-broken"] = PlaytestDrilled(
        kind="retry-broken", alarms=[alarm], recorded=[RECORDED], numbers=numbers
    )
    (found,) = run(host, has_page=True).findings
    assert (found.id, found.times) == ("retry-broken", 2)
    drills = [order.drills[0] for order in host.orders if order.drills]
    assert [(drill.kind, len(drill.episodes)) for drill in drills[:4]] == [
        ("retry-broken", 4),
        ("retry-broken", 2),
        ("retry-broken", 2),
        ("slow", 0),
    ]


def test_a_restart_that_draws_what_the_baseline_did_not_is_drilled_twice_more() -> None:
    host = ScriptedHost()
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", numbers={"drawn_alike": 0.0})
    plan = Plan(game=GAME, players=["idle", "random"], seed=Seed(low=0, high=0))
    measured = {"retry-broken/drawn_alike": 1.0}
    playtest = Playtest(plan, host, lambda stack, method: (stack, None), None, measured)
    (found,) = asyncio.run(playtest.run()).findings
    assert (found.id, found.times) == ("retry-broken", 2)
    kinds = [drill.kind for order in host.orders for drill in order.drills]
    assert kinds.count("retry-broken") == 3


@pytest.mark.parametrize("was_alike", [1.0, 0.0])
def test_restarts_that_are_alike_are_played_on_and_new_differences_are_told_of(was_alike: float) -> None:
    known = frozenset({("retry-broken", "episode # differs at # s")})
    alarm = PlaytestAlarm(oracle="retry-broken", text="episode 1 differs at 0.5 s", step=0)

    def found(alike: float) -> tuple[list[str], set[int]]:
        host = ScriptedHost()
        host.drilled["retry-broken"] = PlaytestDrilled(
            kind="retry-broken", alarms=[alarm], recorded=[None], numbers={"restarts_alike": alike}
        )
        plan = Plan(game=GAME, players=["idle"], seed=Seed(low=0, high=0), has_page=True, known=known)
        measured = {"retry-broken/restarts_alike": was_alike}
        playtest = Playtest(plan, host, lambda stack, method: (stack, None), Outcomes(), measured)
        played = asyncio.run(playtest.run())
        return [finding.text for finding in played.findings], {order.fresh_every for order in host.orders}

    assert found(1.0) == ([], {0})
    new = ["a restart after other episodes differs from one in a new page; in the baseline not"]
    assert found(0.0)[0] == (new if was_alike else [])


def test_what_a_drill_throws_is_replayed_like_what_the_crowd_meets() -> None:
    host = ScriptedHost(lambda player, index: [error("gone")] if player == "recorded-0" else [])
    host.drilled["leak"] = PlaytestDrilled(
        kind="leak", alarms=[error("gone")], recorded=[RECORDED], problem="the game failed: gone"
    )
    (found,) = run(host).findings
    assert (found.id, found.times, found.player) == ("error", 2, None)


def test_without_a_baseline_no_key_is_measured() -> None:
    host = ScriptedHost()
    run(host, measures_keys=False)
    assert [order.drills[0].kind for order in host.orders if order.drills] == ["retry-broken", "slow", "leak"]


def test_a_page_whose_restart_is_known_plays_whole_blocks_and_no_drill_of_it() -> None:
    def alarms(player: str, index: int) -> list[PlaytestAlarm]:
        # In a used page it is seen sooner.
        return [error("x is undefined", step=9 if index % 4 == 0 else 2)] if player == "random" else []

    host = ScriptedHost(alarms, per_order=7)
    played = run(host, has_page=True, fresh_every=4)
    crowd = [play for order in host.orders if order.fresh_every == 4 for play in order.plays]
    assert {play.first % 4 for play in crowd} == {0}
    assert len(played.outcomes.players["random"]) == 256
    assert played.problems["retry-broken"].startswith("the baseline has it")
    # What is replayed in a fresh page was seen in a fresh page.
    (found,) = played.findings
    assert found.alarm is not None
    assert found.alarm.step == 9
    assert found.cause is not None
    assert len(found.cause.sightings) == 256


def test_the_soft_lock_drill_begins_in_episodes_that_are_recorded_already() -> None:
    host = ScriptedHost()
    host.end_reason = "time_limit"
    plan = Plan(game=GAME, players=["idle", "random", "sticky"], seed=Seed(low=0, high=0))
    asyncio.run(Playtest(plan, host, lambda stack, method: (stack, None)).run())
    (drill,) = [
        order.drills[0] for order in host.orders if order.drills and order.drills[0].kind == "soft-lock"
    ]
    assert len(drill.episodes) == 6
    assert len([order for order in host.orders if order.record]) == 1


def test_what_is_recorded_before_pages_are_fresh_is_not_used() -> None:
    host = ScriptedHost()
    alarm = PlaytestAlarm(oracle="retry-broken", text="episode 1 differs at 0.5 s", step=0)
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", alarms=[alarm], recorded=[RECORDED])
    run(host, has_page=True)
    assert [order.fresh_every for order in host.orders if order.record] == [0, 2]


def test_a_page_that_each_episode_loads_anew_is_not_judged_by_its_restart() -> None:
    host = ScriptedHost()
    host.drilled["retry-broken"] = PlaytestDrilled(kind="retry-broken", numbers={"episodes": 0.0})
    host.drilled["leak"] = PlaytestDrilled(kind="leak", numbers={"episodes": 0.0})
    played = run(host, has_page=True)
    for oracle in ("retry-broken", "leak"):
        assert oracle not in played.drilled
        assert played.problems[oracle] == "each episode loads the page anew: no restart is judged"
    unknown = run(host, has_page=True, is_restart_known=False)
    assert unknown.problems["retry-broken"] == (
        "no restart was found in time, and each episode loads the page anew: give more --seconds"
    )
