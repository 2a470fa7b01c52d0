import pytest

from attract.run.goal import Goal
from attract.run.statistics import Statistics
from attract.schema.api import FleetView
from attract.schema.episodes import Episode, Episodes
from attract.schema.learner import Counters
from attract.schema.messages import RolloutClose

FLEET = FleetView(
    hosts=[],
    num_hosts=9,
    steps_per_second=5.0,
    leases_open=0,
    leases_lapsed=1,
    blocks_refused=2,
    sockets_refused=3,
)


def episode(episode_return: float, end_reason: str = "terminated") -> Episode:
    return Episode(
        instance_id=0,
        episode=0,
        step=0,
        returns=[episode_return],
        length_steps=10,
        length_ticks=20,
        end_reason=end_reason,
        metrics={"food": episode_return},
        reward_terms={"food": episode_return, "step": 10.0},
    )


def close(play: float, game: float, inference: float, wait: float) -> RolloutClose:
    none = {"dtype": "int32", "shape": [0], "data": b""}
    return RolloutClose.model_validate(
        {
            "run_id": "r",
            "lease_id": 1,
            "num_blocks": 1,
            "slot_id": none,
            "bootstrap_value": {**none, "dtype": "float32"},
            "play_seconds": play,
            "game_seconds": game,
            "inference_seconds": inference,
            "wait_seconds": wait,
        }
    )


def test_a_row_carries_sb3s_names_and_says_where_the_time_went():
    statistics, goal = Statistics({"food": 2.0, "step": -0.01}), Goal(None, None)
    results = [episode(1.0), episode(3.0)]
    for result in results:
        goal.window.add(result)
    statistics.count(Episodes.of(results, 1))
    statistics.closed(close(3.0, 1.0, 1.5, 1.0))
    counters = Counters(agent_steps=1000, collected_steps=1100, updates=1)
    row = statistics.row({"train/loss": 0.5}, counters, 2.0, goal, FLEET)
    assert row["train/loss"] == 0.5
    assert row["rollout/ep_rew_mean"] == 2.0
    assert row["rollout/ep_len_mean"] == 10.0
    assert row["rollout/episodes"] == 2.0
    assert row["time/total_timesteps"] == 1000.0
    assert row["time/fps"] == 500.0  # 1000 steps in 2 s
    assert row["reward/food"] == 4.0  # weight 2 x mean (1 + 3) / 2
    assert row["reward/step"] == pytest.approx(-0.1)
    assert row["game/food"] == 2.0
    # 3 s of play and 1 s of waiting: 1/4 in the game, 1.5/4 in the policy, 1/4 waiting.
    assert (row["fleet/game_fraction"], row["fleet/inference_fraction"], row["fleet/wait_fraction"]) == (
        0.25,
        0.375,
        0.25,
    )
    assert (row["fleet/leases_lapsed"], row["fleet/blocks_refused"], row["fleet/sockets_refused"]) == (
        1.0,
        2.0,
        3.0,
    )
    assert row["fleet/hosts"] == 9.0, "pages that the view does not name count too"


def test_what_was_gathered_begins_anew_and_speed_is_since_the_row_before():
    statistics, goal = Statistics({}), Goal(None, None)
    statistics.closed(close(3.0, 1.0, 1.5, 1.0))
    statistics.count(Episodes.of([episode(1.0)], 1))
    statistics.row({}, Counters(agent_steps=1000, updates=1), 2.0, goal, FLEET)
    row = statistics.row({}, Counters(agent_steps=1300, updates=2), 3.0, goal, FLEET)
    assert row["time/fps"] == 300.0
    assert row["rollout/episodes"] == 0.0
    assert not any(name.startswith(("reward/", "game/")) or name.endswith("_fraction") for name in row)


def test_a_row_says_how_returns_spread_and_how_many_episodes_the_time_limit_ended():
    statistics, goal = Statistics({}), Goal(None, None)
    results = [episode(1.0), episode(3.0, "time_limit"), episode(9.0, "cut"), episode(2.0, "game_truncated")]
    for result in results:
        goal.window.add(result)
    statistics.count(Episodes.of(results, 1))
    row = statistics.row({}, Counters(), 1.0, goal, FLEET)
    assert row["rollout/time_limit_share"] == pytest.approx(1 / 3)
    assert row["rollout/ep_rew_std"] == pytest.approx((2 / 3) ** 0.5)  # of 1, 3 and 2
    row = statistics.row({}, Counters(), 2.0, goal, FLEET)
    assert "rollout/time_limit_share" not in row, "no episode ended since"


def test_a_row_counts_the_games_that_play():
    workers = [
        {
            "worker_id": number,
            "host_id": "h",
            "worker_index": number,
            "state": state,
            "num_instances": 8,
            "lease_id": None,
            "policy_version": None,
            "steps_per_second": 0.0,
            "collected_steps": 0,
            "episodes": 0,
            "last_seen_seconds": 0.0,
        }
        for number, state in enumerate(("playing", "waiting", "gone"))
    ]
    host = {"host_id": "h", "tier": "local", "user_agent": "", "hidden": False, "workers": workers}
    fleet = FleetView.model_validate({**FLEET.model_dump(), "hosts": [host]})
    row = Statistics({}).row({}, Counters(), 1.0, Goal(None, None), fleet)
    assert (row["fleet/workers"], row["fleet/instances"]) == (2.0, 16.0)


def test_E1_cut_episodes_are_in_no_mean():
    statistics, goal = Statistics({}), Goal(None, None)
    statistics.count(Episodes.of([episode(1000.0, "cut"), episode(1.0)], 1))
    row = statistics.row({}, Counters(), 1.0, goal, FLEET)
    assert (row["rollout/episodes"], row["reward/food"]) == (1.0, 1.0)


def test_E9_several_agents_each_have_their_own_mean_return():
    statistics, goal = Statistics({}), Goal(None, None)
    goal.window.add(episode(0.0)._replace(returns=[1.0, 5.0]))
    row = statistics.row({}, Counters(), 1.0, goal, FLEET)
    assert row["rollout/ep_rew_mean"] == 3.0
    assert (row["rollout/ep_rew_mean/agent_0"], row["rollout/ep_rew_mean/agent_1"]) == (1.0, 5.0)
    goal = Goal(None, None)
    goal.window.add(episode(1.0))
    row = statistics.row({}, Counters(), 2.0, goal, FLEET)
    assert not any(name.startswith("rollout/ep_rew_mean/") for name in row)


def test_the_fleets_orders_and_what_it_delivers_are_counted():
    statistics, goal = Statistics({}), Goal(None, None)
    fleet = FLEET.model_copy(update={"leases_open": 7})
    for seconds in (1.0, 2.0):
        statistics.lease_finished(seconds)
    statistics.count(Episodes.of([episode(1.0), episode(1.0), episode(1.0, "cut")], 1))
    row = statistics.row({}, Counters(), 0.5, goal, fleet)
    assert row["fleet/episodes_per_minute"] == 240.0  # 2 in half a second
    assert row["fleet/worker_latency_mean"] == 1.5
    assert row["fleet/outstanding_leases"] == 7.0
    row = statistics.row({}, Counters(), 1.5, goal, fleet)
    assert row["fleet/episodes_per_minute"] == 0.0
    assert "fleet/worker_latency_mean" not in row
