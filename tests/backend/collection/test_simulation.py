"""Whole fleets from one seed: what must hold after any faults, and what must not depend on the network."""

import random
from functools import cache
from typing import Literal

import pytest

from driven_core import changed
from fake_worker import Faults, Key, counting_description
from fleet_simulation import Simulation, small_config


def run_faulty(seed: int, schedule: str, seats: tuple[str, ...] = ()) -> Simulation:
    """A run with faults drawn from the seed, then a while without any."""
    draw = random.Random(seed)
    faults = Faults(
        duplicate=draw.choice([0, 0.1]),
        lose=draw.choice([0, 0.05]),
        disconnect=draw.choice([0, 0.05]),
        freeze=draw.choice([0, 0.02]),
        die=draw.choice([0, 0.03]),
        learner_dies=draw.choice([0, 0.1]),
    )
    config = small_config(
        schedule=schedule,
        max_policy_lag=draw.choice([1, 2, 5]) if schedule == "async" else 1,
        prefetch=draw.choice([0, 1, 3]) if schedule == "async" else 1,
        warmup_steps=draw.choice([0, 24]),
        num_workers=draw.choice([1, 2, 3]),
        instances_per_worker=2,
        rollout_segments=draw.choice([1, 2]),
        batch_segments=draw.choice([None, 1, 7, 20]),
    )
    speeds = draw.choice([(1.0,), (0.5, 2.0), (0.5, 1.0, 5.0)])
    team = counting_description(num_agents=len(seats)) if seats else counting_description()
    config = changed(config, seats=seats)
    simulation = Simulation(config, seed=seed, description=team, faults=faults, segment_seconds=speeds)
    simulation.start()
    simulation.run(40.0)
    before = len(simulation.updates)
    simulation.faults = Faults()
    simulation.run(600.0, until=lambda: len(simulation.updates) >= before + 5)
    assert len(simulation.updates) >= before + 5, "after the faults updates go on"
    return simulation


@pytest.mark.parametrize("seed", [127, 170])
def test_P7_a_warm_up_that_lapsed_whole_is_ordered_anew_at_once(seed: int) -> None:
    assert run_faulty(seed, "sync").warmups


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
@pytest.mark.parametrize("seeds", [range(7), pytest.param(range(7, 160), marks=pytest.mark.long)])
def test_C1_whatever_happens_every_accepted_segment_trains_once(schedule: str, seeds: range) -> None:
    for seed in seeds:
        simulation = run_faulty(seed, schedule)
        trained = [key for keys in simulation.update_keys for key in keys]
        accepted = simulation.accepted_keys
        assert len(set(accepted)) == len(accepted), f"seed {seed}"
        assert len(set(trained)) == len(trained), f"seed {seed}"
        assert set(trained) <= set(accepted), f"seed {seed}"
        pooled = sum(len(keys) for keys in simulation.row_key.values())
        in_flight = 0 if simulation.in_flight is None else len(simulation.in_flight.rows)
        if not simulation.had_learner_faults:
            assert len(set(accepted) - set(trained)) == pooled - in_flight, (
                f"seed {seed}: accepted, never trained"
            )
        largest = 0 if schedule == "sync" else simulation.config.settings.policy_lag
        assert max(simulation.lags) <= largest, f"seed {seed}"
        indices = [index for index, _ in simulation.episodes]
        assert indices == list(range(len(indices))), f"seed {seed}"
        assert all(episode.end_reason != "cut" for _, episode in simulation.episodes)


def trained_content(latency: tuple[float, float], seed: int) -> tuple[list[list[Key]], list[tuple[int, int]]]:
    """Keys of 20 updates in order, and numbered episodes, of a fixed fleet in `sync`."""
    config = small_config(schedule="sync", warmup_steps=24, rollout_segments=2)
    simulation = Simulation(config, seed=seed, latency=latency, segment_seconds=(0.1, 0.3))
    simulation.start()
    simulation.run(300.0, until=lambda: len(simulation.updates) >= 20)
    episodes = [(episode.instance_id, index) for index, episode in simulation.episodes]
    return simulation.update_keys[:20], episodes[:20]


def test_C8_the_network_changes_nothing_in_sync() -> None:
    calm = trained_content((0.001, 0.002), 1)
    assert len(calm[0]) == 20
    assert calm == trained_content((0.001, 0.9), 2)
    assert calm == trained_content((0.3, 0.4), 3)


def test_C2_a_straggler_ten_times_slower_holds_nobody_up() -> None:
    config = small_config(num_workers=4, instances_per_worker=4)
    even = Simulation(config, segment_seconds=(0.2,))
    even.start()
    even.run(30.0)
    uneven = Simulation(config, segment_seconds=(0.2, 0.2, 0.2, 2.0))
    uneven.start()
    uneven.run(30.0)
    # Three of four workers are as fast as before: at least 3/4 of the segments, less round-off.
    assert len(uneven.accepted_keys) >= 0.65 * len(even.accepted_keys)


def test_C4_fast_and_slow_workers_finish_their_leases_together() -> None:
    config = small_config(num_workers=2, rollout_segments=4)
    simulation = Simulation(config, segment_seconds=(0.1, 0.3), update_seconds=(0.01, 0.02))
    simulation.start()
    simulation.run(30.0)
    shares = {
        index: [lease.num_segments for peer, lease in simulation.leases if peer == index][-5:]
        for index in (0, 1)
    }
    # speeds 3 : 1 around a mean of 2: 4 x 3 / 2 = 6 and 4 x 1 / 2 = 2
    assert set(shares[0]) <= {5, 6, 7}
    assert set(shares[1]) == {2}


def test_a_late_worker_joins_and_shares_the_work() -> None:
    simulation = Simulation(small_config())
    simulation.start()
    simulation.run(5.0)
    simulation.add_worker(2)
    simulation.run(5.0)
    late = [lease for index, lease in simulation.leases if index == 2]
    assert len(late) > 3


def shares_of_time(simulation: Simulation, seconds: float) -> list[float]:
    """Which part of the next `seconds` each worker plays."""
    before = [peer.played_seconds for peer in simulation.peers]
    simulation.run(seconds)
    after = [peer.played_seconds for peer in simulation.peers]
    return [(new - old) / seconds for old, new in zip(before, after, strict=True)]


SPREAD = (0.05, 0.05, 0.1, 0.5)
"""Seconds per segment: one worker is ten times slower than the fastest."""


def test_C4_async_keeps_workers_of_very_different_speed_busy_and_within_the_lag() -> None:
    config = small_config(num_workers=4, schedule="async", max_policy_lag=4, rollout_segments=4)
    simulation = Simulation(config, segment_seconds=SPREAD, update_seconds=(0.05, 0.1))
    simulation.start()
    simulation.run(10.0)  # until speeds are known
    lapsed = simulation.core.fleet_view(simulation.now).leases_lapsed
    assert min(shares_of_time(simulation, 40.0)) > 0.9, "nobody idle while the learner keeps up"
    assert 1 <= max(simulation.lags) <= 4
    assert simulation.core.fleet_view(simulation.now).leases_lapsed == lapsed, "no work is thrown away"
    # Shares by speed: 1/0.05 + 1/0.05 + 1/0.1 + 1/0.5 = 52 segments a second of each of 3 slots
    assert len(simulation.accepted_keys) > 0.85 * 50.0 * 52 * 3


def test_async_goes_on_playing_through_a_slow_update_where_overlap_waits() -> None:
    shares: dict[str, float] = {}
    for schedule in ("overlap", "async"):
        config = small_config(schedule=schedule, max_policy_lag=1 if schedule == "overlap" else 4)
        simulation = Simulation(config, segment_seconds=(0.5,), update_seconds=(0.1, 1.2), seed=3)
        simulation.start()
        simulation.run(10.0)
        shares[schedule] = min(shares_of_time(simulation, 60.0))
    # The learner's mean, 0.65 s, is more than the fleet's 0.5 s a batch: the learner alone is to bound both.
    assert shares["async"] > shares["overlap"] + 0.03
    assert shares["async"] > 0.72  # 0.5 / 0.65 = 0.77


def test_async_gives_a_slow_learner_batches_of_the_usual_size_and_stops_when_enough_wait() -> None:
    config = small_config(schedule="async", max_policy_lag=8, batch_segments=12)
    simulation = Simulation(config, segment_seconds=(0.1,), update_seconds=(2.0, 2.0))
    simulation.start()
    simulation.run(60.0)
    sizes = {len(update.rows) for update in simulation.updates}
    # Leases of 3 segments each: at most one beyond the target.
    assert sizes <= {12, 15}
    # One batch in training, one waiting, one filling: what is collected now is in the third from here.
    assert max(simulation.lags) <= 3
    assert len(simulation.row_key) <= 3 * 15 + 12


def test_async_never_holds_the_games_back_where_the_learner_ends_an_update_that_is_awaited() -> None:
    shares: dict[bool, float] = {}
    for ends_early in (False, True):
        simulation = Simulation(
            small_config(schedule="async", max_policy_lag=4),
            segment_seconds=(0.1,),
            update_seconds=(2.0, 2.0),
            ends_early=ends_early,
        )
        simulation.start()
        simulation.run(10.0)
        shares[ends_early] = min(shares_of_time(simulation, 20.0))
        assert max(simulation.lags) <= 4
    # Two batches of 0.1 s for each update of 2 s.
    assert shares[False] < 0.2
    assert shares[True] > 0.95


def test_async_a_learner_that_came_back_hears_again_that_its_update_is_awaited() -> None:
    simulation = Simulation(
        small_config(schedule="async", max_policy_lag=4),
        segment_seconds=(0.1,),
        update_seconds=(50.0, 50.0),
        ends_early=True,
    )
    simulation.start()
    simulation.run(5.0)
    before = simulation.version
    simulation.ends_early = False
    simulation.run(5.0)
    assert simulation.version <= before + 1, "it waits for the end of an update"
    simulation.learner_down()
    simulation.ends_early = True
    simulation.run(5.0)
    assert simulation.version > before + 20


def test_C2_async_waits_for_no_roster_and_outlives_whoever_vanishes() -> None:
    config = small_config(num_workers=4, schedule="async", max_policy_lag=4, join_seconds=20.0)
    simulation = Simulation(config, segment_seconds=SPREAD, update_seconds=(0.05, 0.1))
    simulation.start(num_workers=3)
    simulation.run(10.0)
    assert simulation.updates, "the fourth never came"
    for number in (0, 2):
        simulation.peers[number].dead = True  # frozen for good: its socket stays open
    before = len(simulation.updates)
    simulation.run(20.0)
    assert len(simulation.updates) > before + 20
    assert max(simulation.lags) <= 4


def episodes_of(schedule: str, num_workers: int, seed: int) -> dict[tuple[int, int], list[float]]:
    """Returns by (instance, episode) of twelve games shared by so many workers, over 12 s."""
    config = small_config(
        schedule=schedule,
        num_workers=num_workers,
        instances_per_worker=12 // num_workers,
        prefetch=num_workers % 3,
        max_policy_lag=4 if schedule == "async" else 1,
        batch_segments=24,
    )
    simulation = Simulation(config, seed=seed, segment_seconds=(0.2, 0.3, 0.7), draws_returns=True)
    simulation.start()
    simulation.run(12.0)
    found: dict[tuple[int, int], list[float]] = {}
    for _, counted in simulation.episodes:
        place = (counted.instance_id, counted.episode)
        assert place not in found, "an episode counts once"
        found[place] = list(counted.returns)
    return found


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
def test_C5_the_same_episodes_come_from_any_number_of_workers(schedule: str) -> None:
    alone = episodes_of(schedule, 1, seed=1)
    assert len({tuple(episode) for episode in alone.values()}) == len(alone) > 50, "every episode is another"
    for num_workers in (2, 3, 4, 12):
        shared = episodes_of(schedule, num_workers, seed=num_workers)
        both = alone.keys() & shared.keys()
        assert {key[0] for key in both} == set(range(12)), "all twelve games"
        assert all(alone[place] == shared[place] for place in both)
        # Nothing is skipped where no lease lapses: of each game the first episodes, one after another.
        for instance in range(12 if schedule == "sync" else 0):
            numbers = sorted(episode for game, episode in shared if game == instance)
            assert numbers == list(range(1, len(numbers) + 1)), "episode 0 was cut (E1)"


def test_one_worker_alone_is_enough() -> None:
    for schedule in ("sync", "overlap", "async"):
        simulation = Simulation(small_config(schedule=schedule, num_workers=1, prefetch=0))
        simulation.start()
        simulation.run(20.0)
        assert len(simulation.updates) > 20


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
@pytest.mark.parametrize("seeds", [range(100, 103), pytest.param(range(103, 140), marks=pytest.mark.long)])
def test_E9_policies_of_their_own_train_each_segment_once_whatever_happens(
    schedule: str, seeds: range
) -> None:
    for seed in seeds:
        simulation = run_faulty(seed, schedule, ("hunter", "prey", "prey"))
        trained = [key for keys in simulation.update_keys for key in keys]
        assert len(set(trained)) == len(trained) > 0, f"seed {seed}"
        assert set(trained) <= set(simulation.accepted_keys), f"seed {seed}"
        for train, keys in zip(simulation.updates, simulation.update_keys, strict=True):
            for policy_id, agents in (("hunter", {0}), ("prey", {1, 2})):
                rows = set(train.rows_by_policy[policy_id])
                of = {key[1] % 3 for row, key in zip(train.rows, keys, strict=True) if row in rows}
                assert of <= agents, f"seed {seed}"
            assert sorted(row for rows in train.rows_by_policy.values() for row in rows) == sorted(train.rows)


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
def test_scale_05_more_browsers_than_expected_mean_more_steps(
    schedule: Literal["sync", "overlap", "async"],
) -> None:
    def accepted(num_workers: int, max_workers: int) -> int:
        config = small_config(
            num_workers=2,
            max_workers=max_workers,
            schedule=schedule,
            max_policy_lag={"sync": 0, "overlap": 1, "async": 4}[schedule],
        )
        # Slow workers, as those of a game that takes its time are: they are what is waited for.
        simulation = Simulation(config, seed=5, segment_seconds=(1.0,))
        simulation.start(num_workers)
        simulation.run(30.0)
        return len(simulation.accepted_keys)

    two = accepted(2, 16)
    assert accepted(16, 16) >= 4 * two
    # Room for two alone is what kept the others waiting.
    assert accepted(16, 2) < 4.5 * two


@cache
def updates_beside(schedule: str, lies: str, *, local: bool, segment_seconds: float) -> int:
    """Updates of two honest workers and, unless `lies` is empty, of one that only talks beside them."""
    config = small_config(schedule=schedule, num_workers=2 + bool(lies), instances_per_worker=2, horizon=64)
    config = changed(config, batch_segments=12)
    simulation = Simulation(config, seed=7, segment_seconds=(segment_seconds,), local=local)
    simulation.speaks = segment_seconds > 10.0
    simulation.start()
    if lies:
        simulation.peers[0].lies = lies
    simulation.run(max(900.0, 60 * segment_seconds))
    return len(simulation.updates)


@pytest.mark.parametrize(
    ("schedule", "lies", "local", "segment_seconds"),
    [
        ("sync", "progress", True, 4.0),
        ("sync", "steps", False, 4.0),
        ("async", "progress", False, 4.0),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("sync", "steps", False, 60.0),
                ("overlap", "progress", True, 4.0),
                ("overlap", "steps", False, 4.0),
                ("async", "steps", True, 60.0),
            )
        ),
    ],
)
def test_hostile_D5_a_worker_that_only_talks_costs_little(
    schedule: str, lies: str, local: bool, segment_seconds: float
) -> None:
    beside = updates_beside(schedule, lies, local=local, segment_seconds=segment_seconds)
    alone = updates_beside(schedule, "", local=local, segment_seconds=segment_seconds)
    assert beside >= 0.8 * alone > 12, f"{beside} of {alone}"


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
@pytest.mark.parametrize("lies", ["progress", "steps"])
@pytest.mark.parametrize("local", [True, False])
def test_hostile_D5_a_visitor_that_only_talks_is_not_waited_for_in_its_first_minute(
    schedule: str, lies: str, local: bool
) -> None:
    beside, alone = (updates_of_a_first_minute(schedule, said, local) for said in (lies, ""))
    assert beside >= 0.8 * alone > 12, f"{beside} of {alone}"


@cache
def updates_of_a_first_minute(schedule: str, lies: str, local: bool) -> int:
    """What is trained in the minute after a visitor came that only talks; empty: none came."""
    config = small_config(schedule=schedule, warmup_steps=256, instances_per_worker=2, horizon=64)
    simulation = Simulation(changed(config, batch_segments=12), seed=7, local=local)
    simulation.segment_seconds = (1.0,)
    simulation.start()
    if lies:
        simulation.add_guest("deadbeef@192.0.2.99").lies = lies
    simulation.run(60.0, until=lambda: bool(simulation.leases))
    simulation.run(60.0)
    return len(simulation.updates)


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
@pytest.mark.parametrize("seconds", [(10.0, 10.0), (1.0, 50.0)])
def test_C3_a_slow_visitor_takes_part_once_its_first_block_came(
    schedule: str, seconds: tuple[float, float]
) -> None:
    """`seconds`: what a segment takes the visitor, and how long it loads; a segment takes the others 1 s."""
    config = small_config(schedule=schedule, instances_per_worker=2, rollout_segments=2, batch_segments=16)
    simulation = Simulation(config, seed=3, segment_seconds=(1.0,), speaks=True)
    simulation.start()
    simulation.run(20.0)
    visitor = simulation.add_guest("deadbeef@192.0.2.99")
    visitor.segment_seconds = seconds[1]
    simulation.run(seconds[1] * 1.2)
    visitor.segment_seconds = seconds[0]
    simulation.run(120.0)
    (worker,) = [shown for host in simulation.core.fleet_view(simulation.now).hosts for shown in host.workers
                 if shown.identity == visitor.identity]  # fmt: skip
    trained = {key[1] for keys in simulation.update_keys for key in keys}
    assert worker.state == "playing"
    assert trained >= {2 * worker.worker_id, 2 * worker.worker_id + 1}


@pytest.mark.parametrize("schedule", ["sync", "overlap", "async"])
@pytest.mark.parametrize("segment_seconds", [(300.0,), (100.0, 100.0, 300.0)])
def test_C3_slow_games_and_slow_machines_keep_their_leases(
    schedule: str, segment_seconds: tuple[float, ...]
) -> None:
    config = small_config(schedule=schedule, num_workers=3, horizon=300, rollout_segments=2)
    simulation = Simulation(config, segment_seconds=segment_seconds, speaks=True)
    simulation.start()
    simulation.run(20_000.0, until=lambda: len(simulation.updates) > 10)
    assert len(simulation.updates) > 10
    assert simulation.silences == [], "leases that lapsed though their worker played"
