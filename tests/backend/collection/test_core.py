import pytest

from attract.collection import effects
from attract.errors import ConfigurationError, ProtocolError
from attract.schema.learner import Counters, RejectedRow
from attract.schema.messages import (
    Assignment,
    GameFailed,
    Goodbye,
    HostStatus,
    LeaseVoid,
    PolicyAck,
    Progress,
    RunEnded,
    Seed,
    WelcomeWorker,
)
from blocks import played_block
from driven_core import HOST, DrivenCore, small_config
from fake_worker import counting_description, host_hello


def keys_of(train_rows: list[int]) -> int:
    return len(set(train_rows))


# --- joining ---


def test_the_first_host_describes_the_game_and_the_others_wait_for_it() -> None:
    driven = DrivenCore()
    driven.do(driven.core.connect_host(1, host_hello("a" * 32, max_workers=2), "local", 0.0))
    driven.do(driven.core.connect_host(2, host_hello("b" * 32, max_workers=3), "local", 0.0))
    first, second = driven.messages(Assignment, 1), driven.messages(Assignment, 2)
    assert [(one.describe, one.num_workers) for one in first] == [(True, 2)]
    assert [(one.describe, one.num_workers) for one in second] == [(False, 0)]
    driven.do(driven.core.disconnect(1, 0.1))
    assert driven.messages(Assignment, 2)[-1].describe
    driven.host(2, "b" * 32, max_workers=3)
    assert driven.core.description == counting_description()
    assert driven.messages(Assignment, 2)[-1].num_workers == 3
    assert not driven.messages(Assignment, 2)[-1].describe


@pytest.mark.parametrize("order", [(10, 11), (11, 10)])
def test_C8_ids_follow_from_the_place_in_the_host_never_from_arrival(order: tuple[int, int]) -> None:
    driven = DrivenCore(small_config(schedule="sync"))
    driven.host()
    for connection_id in order:
        assert not driven.messages(WelcomeWorker)
        driven.join(connection_id, connection_id - 10)
    assert driven.messages(WelcomeWorker, 10)[0].instance_ids == [0, 1, 2]
    assert driven.messages(WelcomeWorker, 11)[0].instance_ids == [3, 4, 5]
    assert driven.messages(WelcomeWorker, 10)[0].worker_id == 0


def test_C8_sync_waits_for_the_whole_fleet_for_ever() -> None:
    driven = DrivenCore(small_config(schedule="sync"))
    driven.host()
    driven.join(10)
    driven.ready()
    driven.wait(1000.0)
    assert not driven.leases()
    driven.join(11, 1)
    assert len(driven.leases()) == 2


def test_C2_overlap_goes_on_with_those_who_came() -> None:
    driven = DrivenCore(small_config(schedule="overlap", join_seconds=60.0))
    driven.host(max_workers=2)
    driven.join(10)
    driven.ready()
    driven.wait(59.9)
    assert not driven.leases()
    driven.wait(0.2)
    assert driven.leases(10)


def test_C1_a_worker_that_comes_back_keeps_its_ids_and_its_lease() -> None:
    driven = DrivenCore.started()
    worker = driven.workers[10]
    ids = driven.messages(WelcomeWorker, 10)[0].instance_ids
    driven.close(10)
    driven.wait(1.9)
    driven.rejoin(20, worker)
    assert driven.messages(WelcomeWorker, 20)[0].instance_ids == ids
    driven.play(20)
    assert driven.acks[-1].accepted
    newcomer = driven.join(21, 0)
    assert newcomer.welcome is not None
    assert not set(newcomer.welcome.instance_ids) & {0, 1, 2, 3, 4, 5}, "ids are never used again"


def test_a_second_socket_of_the_same_worker_replaces_the_first() -> None:
    driven = DrivenCore.started()
    driven.rejoin(20, driven.workers[10])
    assert [one.connection_id for one in driven.wanted(effects.CloseConnection)] == [10]
    driven.do(driven.core.disconnect(10, driven.now))
    driven.wait(3.0)
    driven.play(20)
    assert driven.acks[-1].accepted


def test_a_worker_of_another_run_is_refused() -> None:
    driven = DrivenCore.started()
    hello = driven.workers[10].hello().model_copy(update={"run_id": "run-0"})
    with pytest.raises(ProtocolError) as caught:
        driven.core.connect_worker(30, hello, "local", 0.0)
    assert caught.value.close_code == 4004


# --- acceptance ---


def test_C1_a_block_counts_once_whatever_is_sent_again() -> None:
    driven = DrivenCore.started()
    (block, close) = driven.workers[10].play()
    assert driven.block(10, block).accepted
    again = driven.block(10, block)
    assert (again.accepted, again.reason) == (False, "duplicate")
    assert [one.accepted for one in driven.acks] == [True, False]
    driven.say(10, close)
    assert driven.block(10, block).reason == "spent lease"
    assert driven.block(10, block.model_copy(update={"lease_id": 99})).reason == "unknown lease"
    assert driven.core.fleet_view(0.0).blocks_refused == 3


def test_C1_a_lease_is_its_own_workers_alone() -> None:
    driven = DrivenCore.started()
    (block, _) = driven.workers[10].play()
    assert driven.block(11, block).reason == "lease of another worker"
    assert driven.block(10, block).accepted


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"first_instance": 3}, "slot_id"),
        ({"segment": 1}, "segment_index"),
        ({"version": 1}, "policy_version"),
    ],
)
def test_C1_a_block_that_contradicts_its_lease_is_an_error(change: dict[str, int], field: str) -> None:
    driven = DrivenCore.started()
    lease_id = driven.workers[10].leases[0].lease_id
    block = played_block(lease_id=lease_id, **change)  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match=field):
        driven.core.offer_block(10, block, 0.0)


def test_C1_what_would_be_too_old_is_refused_and_what_is_accepted_is_trained() -> None:
    # One-segment batches: worker 10 closes two of them while worker 11 plays on at version 0.
    driven = DrivenCore.started(batch_segments=3)
    slow = driven.workers[11].leases[0]
    assert slow.seats[0].policy_version == 0
    for _ in range(2):
        driven.play(10)
        driven.publish()
    voided = [one.lease_id for one in driven.messages(LeaseVoid, 11)]
    assert slow.lease_id in voided
    late = played_block(lease_id=slow.lease_id, first_instance=3)
    assert driven.block(11, late).reason == "spent lease"


def test_C1_a_block_too_old_by_the_time_it_is_written_is_refused() -> None:
    driven = DrivenCore.started(batch_segments=3)
    (block, _) = driven.workers[11].play()
    verdict = driven.core.offer_block(11, block, driven.now)
    assert verdict.accepted
    driven.play(10)  # the update of version 0 begins
    driven.publish()
    driven.play(10)  # and that of version 1: the next one takes version 1 and up
    wanted = driven.core.commit_block(11, block, verdict, driven.now)
    driven.do(wanted)
    assert not driven.acks[-1].accepted
    assert driven.core.fleet_view(0.0).blocks_refused == 1


def test_a_withdrawn_block_may_come_again() -> None:
    driven = DrivenCore.started()
    (block, _) = driven.workers[10].play()
    verdict = driven.core.offer_block(10, block, 0.0)
    driven.core.withdraw_block(block, verdict)
    assert driven.block(10, block).accepted


# --- batches ---


def test_S1_a_batch_closes_at_the_first_lease_boundary_with_enough_and_the_surplus_trains() -> None:
    driven = DrivenCore.started(rollout_segments=2, batch_segments=7)
    driven.play(11)  # three segments of an open lease
    driven.play(10)  # six so far
    assert not driven.trains
    driven.play(10)  # nine, and 10's lease ends
    assert [len(one.rows) for one in driven.trains] == [9]
    assert keys_of(driven.trains[0].rows) == 9


def test_S1_with_enough_but_no_boundary_nothing_closes() -> None:
    driven = DrivenCore.started(rollout_segments=2, batch_segments=3)
    driven.play(10)
    driven.play(11)
    driven.wait(0.1)  # whatever else happens meanwhile
    assert not driven.trains
    driven.play(11)
    assert [len(one.rows) for one in driven.trains] == [9]


@pytest.mark.parametrize("order", [(10, 11), (11, 10)])
def test_C8_sync_gives_the_same_batch_whoever_is_first(order: tuple[int, int]) -> None:
    driven = DrivenCore.started(schedule="sync")
    for _ in range(3):
        for connection_id in order:
            before = len(driven.trains)
            driven.play(connection_id)
            assert len(driven.trains) == before + (connection_id == order[-1])
        driven.publish()
    counted = [
        (one.result.instance_id, one.result.episode, one.global_episode_index)
        for effect in driven.wanted(effects.EpisodesCounted)
        for one in effect.episodes
    ]
    # Episodes of 7 steps: episode 0 is cut, episode 1 ends at step 13, in the fourth segment.
    assert counted == []
    assert driven.core.counters.episodes == 6
    for connection_id in order:
        driven.play(connection_id)
    counted = [
        (one.result.instance_id, one.global_episode_index)
        for effect in driven.wanted(effects.EpisodesCounted)
        for one in effect.episodes
    ]
    assert counted == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert driven.trains[-1].counters.global_episode_index == 6


def test_C8_sync_gives_everybody_the_same_share_of_every_iteration() -> None:
    driven = DrivenCore.started(schedule="sync", batch_segments=13)
    assert [(one.num_segments, one.seats[0].policy_version) for one in driven.leases()] == [(3, 0), (3, 0)]
    driven.play(10, 3)
    assert len(driven.leases()) == 2, "who is first waits"
    driven.play(11, 3)
    assert len(driven.trains) == 1
    assert len(driven.leases()) == 2, "and so do all while the learner works"
    driven.publish()
    assert [(one.num_segments, one.seats[0].policy_version) for one in driven.leases()[2:]] == [
        (3, 1),
        (3, 1),
    ]


def test_C6_overlap_numbers_episodes_as_they_come() -> None:
    driven = DrivenCore.started(schedule="overlap", rollout_segments=4)
    driven.play(11, 4)
    driven.play(10, 4)
    counted = [
        (one.result.instance_id, one.global_episode_index, one.worker_id)
        for effect in driven.wanted(effects.EpisodesCounted)
        for one in effect.episodes
    ]
    assert counted == [(3, 0, 1), (4, 1, 1), (5, 2, 1), (0, 3, 0), (1, 4, 0), (2, 5, 0)]


def test_E1_cut_episodes_have_no_number_and_reach_no_statistic() -> None:
    driven = DrivenCore.started(rollout_segments=4)
    driven.play(10, 4)
    results = [one.result for effect in driven.wanted(effects.EpisodesCounted) for one in effect.episodes]
    assert {one.end_reason for one in results} == {"time_limit"}
    counters = driven.core.counters
    assert (counters.episodes, counters.global_episode_index) == (6, 3)  # 3 were cut


def test_C1_a_refused_blocks_episodes_do_not_count() -> None:
    driven = DrivenCore.started(rollout_segments=4)
    blocks = [message for _ in range(4) for message in driven.workers[10].play()]
    for message in blocks[:-1]:
        driven.say(10, message)
        driven.say(10, message)
    assert driven.core.counters.global_episode_index == 3


def test_T4_steps_count_when_received_and_agent_steps_when_trained() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    train = driven.trains[0]
    counters = driven.core.counters
    # two workers, three slots, four steps of two ticks
    assert (counters.collected_steps, counters.ticks, counters.agent_steps, counters.updates) == (
        24,
        48,
        0,
        0,
    )
    assert (train.counters.agent_steps, train.counters.updates) == (24, 1)
    driven.publish()
    assert (driven.core.counters.agent_steps, driven.core.counters.updates) == (24, 1)
    stale = played_block(lease_id=1)
    assert not driven.block(10, stale).accepted
    assert driven.core.counters.collected_steps == 36, "refused ones too"


# --- leases ---


def test_a_finished_lease_tells_how_long_after_its_issue_it_closed() -> None:
    driven = DrivenCore.started()
    driven.now = 3.0
    driven.play(10)
    driven.now = 5.0
    driven.play(10)
    # both were issued at 0: the second waited behind the first
    assert [(one.worker_id, one.seconds) for one in driven.wanted(effects.LeaseFinished)] == [
        (0, 3.0),
        (0, 5.0),
    ]


def test_overlap_keeps_one_lease_ahead_and_never_two() -> None:
    driven = DrivenCore.started()
    assert len(driven.leases(10)) == 2
    assert len(driven.leases(11)) == 2
    driven.play(10)
    driven.play(11)
    assert driven.core.updating
    # Segments of version 0 would now be too old for the update after the next: nobody gets a third.
    assert len(driven.leases()) == 4
    driven.publish()
    assert [one.seats[0].policy_version for one in driven.leases()[4:]] == [1, 1]


def test_C3_a_silent_lease_lapses_after_15_seconds_and_is_issued_anew() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    first = driven.leases(10)[0]
    driven.wait(14.9)
    assert not driven.messages(LeaseVoid)
    driven.wait(0.2)
    assert [one.lease_id for one in driven.messages(LeaseVoid, 10)] == [first.lease_id]
    again = driven.leases()[-1]
    assert again.lease_id > first.lease_id
    driven.play(11)
    assert len(driven.trains) == 1
    assert driven.core.fleet_view(driven.now).leases_lapsed == 1


def test_C3_progress_keeps_a_lease_alive_and_other_signs_do_not() -> None:
    driven = DrivenCore.started(schedule="sync")
    lease = driven.leases(10)[0]
    other = driven.leases(11)[0]
    for _ in range(4):
        driven.wait(10.0)
        driven.say(10, Progress(run_id="run-1", lease_id=lease.lease_id, steps=1))
        driven.say(
            11, PolicyAck(run_id="run-1", policy_id="main", policy_version=0, create_ms=1.0, error=None)
        )
    void = {one.lease_id for one in driven.messages(LeaseVoid)}
    assert other.lease_id in void
    assert lease.lease_id not in void


def test_C3_a_slow_fleet_has_three_median_segments_of_time() -> None:
    driven = DrivenCore.started(schedule="sync")
    for _ in range(2):
        for _ in range(2):
            driven.wait(10.0)
            for connection_id in (10, 11):
                lease_id = driven.workers[connection_id].leases[0].lease_id
                driven.say(connection_id, Progress(run_id="run-1", lease_id=lease_id, steps=1))
        driven.play(10)
        driven.play(11)
        driven.publish()
    # Segments took 20 s: silence lasts 60 s now.
    driven.wait(59.9)
    assert not driven.messages(LeaseVoid)
    driven.wait(0.2)
    assert driven.messages(LeaseVoid)


def test_C3_a_closed_socket_lapses_its_lease_after_two_seconds() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    driven.close(10)
    driven.wait(1.9)
    assert driven.core.fleet_view(driven.now).leases_lapsed == 0
    driven.wait(0.2)
    assert driven.core.fleet_view(driven.now).leases_lapsed == 1
    driven.play(11)
    assert len(driven.trains) == 1, "the other worker made up for it"


def test_C3_goodbye_lapses_at_once() -> None:
    driven = DrivenCore.started()
    driven.say(10, Goodbye())
    assert driven.core.fleet_view(driven.now).leases_lapsed == 2


def test_C3_a_thawed_worker_is_asked_again_once_it_is_heard() -> None:
    driven = DrivenCore.started()
    driven.hold_acks = True
    driven.wait(15.0)
    count = len(driven.leases(10))
    driven.wait(100.0)
    assert len(driven.leases(10)) == count, "a frozen tab gets no more leases"
    pushed = [one for one in driven.wanted(effects.SendPolicy) if one.connection_id == 10]
    assert len(pushed) == 2, "one policy to begin with, one to ask whether it lives"
    driven.hold_acks = False
    for answer in driven.workers[10].take_policy(0):
        driven.say(10, answer)
    assert len(driven.leases(10)) > count


def test_never_more_than_one_unacknowledged_policy_and_the_latest_wins() -> None:
    driven = DrivenCore.started(batch_segments=3)
    driven.hold_acks = True
    for _ in range(4):
        driven.play(10)
        if driven.core.updating:
            driven.publish()
    pushed = [one.policy_version for one in driven.wanted(effects.SendPolicy) if one.connection_id == 10]
    assert pushed == [0, 1]
    newest = driven.version
    assert newest > 1
    for answer in driven.workers[10].take_policy(1):
        driven.say(10, answer)
    pushed = [one.policy_version for one in driven.wanted(effects.SendPolicy) if one.connection_id == 10]
    assert pushed == [0, 1, newest]


# --- the learner ---


def test_P7_warm_up_is_random_uncounted_and_ordered() -> None:
    driven = DrivenCore(small_config(warmup_steps=40))
    driven.host()
    driven.join(11, 1)
    driven.join(10, 0)
    leases = driven.leases()
    # 40 steps of 2 x 3 slots of 4 steps: 2 segments each
    assert [one.purpose for one in leases] == ["record", "record"]
    assert [(one.num_segments, one.seats[0].script) for one in leases] == [(2, "random")] * 2
    driven.play(11, 2)
    driven.play(10, 2)
    assert not driven.wanted(effects.StartWarmup)
    driven.ready(needs_warmup=True)
    (warmup,) = driven.wanted(effects.StartWarmup)
    assert len(set(warmup.rows)) == 12
    assert driven.core.counters == Counters()
    assert not driven.wanted(effects.SendPolicy)
    driven.publish()
    assert [one.purpose for one in driven.leases()[2:]] == ["train"] * 4
    driven.play(10)
    driven.play(11)
    assert len(driven.trains[0].rows) == 6


def test_P7_without_warm_up_steps_the_learner_is_told_so() -> None:
    driven = DrivenCore(small_config(warmup_steps=0))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready(needs_warmup=True)
    assert driven.wanted(effects.StartWarmup) == [effects.StartWarmup(())]


def test_P8_a_dropped_update_frees_its_rows_counts_nothing_and_three_pause() -> None:
    driven = DrivenCore.started(schedule="sync")
    for consecutive in (1, 2, 3):
        driven.play(10)
        driven.play(11)
        driven.drop(consecutive)
    counters = driven.core.counters
    assert (counters.updates, counters.agent_steps) == (0, 0)
    assert driven.core.paused
    assert not driven.workers[10].leases
    driven.do(driven.core.resume(driven.now))
    driven.play(10)
    driven.play(11)
    driven.publish()
    assert driven.core.counters.updates == 1


def test_C7_a_rejected_row_names_its_worker_and_its_steps_do_not_count() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    train = driven.trains[0]
    driven.publish([RejectedRow(row=train.rows[-1], largest_difference=0.5)], valid_steps=20)
    (note,) = driven.wanted(effects.Note)
    assert note.kind == "verification"
    assert "worker 1 " in note.text
    assert driven.core.counters.agent_steps == 20


def test_C7_local_hosts_have_one_segment_per_lease_verified_others_all() -> None:
    local = DrivenCore.started(rollout_segments=2, schedule="sync")
    local.play(10, 2)
    local.play(11, 2)
    train = local.trains[0]
    assert train.trust_all
    assert len(train.verify_rows) == 2
    driven = DrivenCore(small_config(schedule="sync"), tier="invited")
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    driven.play(10)
    driven.play(11)
    train = driven.trains[0]
    assert not train.trust_all
    assert train.verify_rows == train.rows


def test_a_learner_that_comes_back_gets_its_batch_again() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    driven.do(driven.core.learner_lost(driven.now))
    driven.play(10)
    driven.play(11)
    assert len(driven.trains) == 1
    driven.ready(0)
    assert driven.trains[1] == driven.trains[0]
    driven.publish()
    assert len(driven.trains) == 3
    assert driven.core.counters.updates == 1
    assert not set(driven.trains[2].rows) & set(driven.trains[0].rows)


def test_a_learner_that_had_finished_before_it_died_goes_on() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    driven.do(driven.core.learner_lost(driven.now))
    driven.ready(1, counters=driven.trains[0].counters)
    assert driven.core.counters.updates == 1
    assert len(driven.trains) == 1
    driven.play(10)
    driven.play(11)
    assert len(driven.trains) == 2


def test_D2_counters_go_on_at_resume() -> None:
    driven = DrivenCore(small_config())
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    before = Counters(agent_steps=1000, updates=7, global_episode_index=5, episodes=6, collected_steps=1200)
    driven.ready(7, counters=before)
    assert driven.leases(10)[0].seats[0].policy_version == 7
    driven.play(10)
    driven.play(11)
    assert driven.trains[0].counters.updates == 8
    assert driven.trains[0].counters.agent_steps == 1024


# --- the run ---


def test_pause_finishes_what_is_under_way_and_resume_goes_on() -> None:
    driven = DrivenCore.started()
    driven.do(driven.core.pause(driven.now))
    count = len(driven.leases())
    driven.play(10, 2)
    driven.play(11, 2)
    assert not driven.trains
    assert len(driven.leases()) == count
    driven.do(driven.core.resume(driven.now))
    assert len(driven.trains) == 1


def test_stop_ends_workers_and_keeps_hosts() -> None:
    driven = DrivenCore.started()
    driven.do(driven.core.stop(driven.now))
    assert len(driven.messages(RunEnded, HOST)) == 1
    assert {one.connection_id for one in driven.wanted(effects.CloseConnection)} == {10, 11}
    assert driven.core.next_deadline() is None
    assert driven.block(10, played_block(lease_id=1)).reason == "spent lease"
    assert driven.core.stop(driven.now) == []


def test_an_evaluation_is_split_over_the_fleet_and_comes_back_in_order() -> None:
    driven = DrivenCore.started()
    driven.do(driven.core.request_evaluation(7, True, Seed(low=5, high=6), driven.now))
    for connection_id in (11, 10, 10, 11, 10, 11):
        driven.play(connection_id)
    orders = [one for one in driven.leases() if one.purpose == "evaluate"]
    assert [[order.index for order in one.episodes] for one in orders] == [[0, 1, 2, 3], [4, 5, 6]]
    assert all(one.seats[0].deterministic and one.seed == Seed(low=5, high=6) for one in orders)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert [one.returns for one in done.results] == [[float(index)] for index in range(7)]
    assert done.view.return_mean == 3.0
    assert done.view.episodes == 7
    assert not driven.core.evaluating
    assert driven.trains, "training goes on"


def test_C3_evaluation_episodes_of_a_lapsed_lease_are_given_to_another() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.do(driven.core.pause(driven.now))
    driven.play(10)
    driven.play(11)
    driven.do(driven.core.request_evaluation(4, True, Seed(low=5, high=6), driven.now))
    driven.play(10)
    driven.close(11)
    driven.wait(2.1)
    driven.play(10)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert [one.instance_id for one in done.results] == [0, 1, 2, 3]


def test_no_update_begins_while_an_evaluation_is_under_way() -> None:
    driven = DrivenCore.started()
    driven.do(driven.core.request_evaluation(2, False, Seed(low=5, high=6), driven.now))
    driven.play(10, 2)
    driven.play(11, 2)
    assert not driven.trains
    driven.play(10)
    driven.play(11)
    assert len(driven.trains) == 1


# --- games that break ---


def failed(kind: str, worker_index: int | None = None) -> GameFailed:
    return GameFailed.model_validate(
        {
            "run_id": "run-1",
            "kind": kind,
            "name": "TypeError",
            "text": "x is undefined",
            "stack": None if kind == "hang" else "at tick",
            "worker_index": worker_index,
            "seed": {"low": 1, "high": 2},
        }
    )


def test_a_game_that_cannot_be_loaded_is_fatal() -> None:
    driven = DrivenCore()
    driven.do(driven.core.connect_host(1, host_hello(), "local", 0.0))
    driven.do(driven.core.receive(1, failed("load"), 0.0))
    (broken,) = driven.wanted(effects.GameBroken)
    assert broken.fatal
    assert (broken.report.text, broken.report.seed) == ("x is undefined", "0000000200000001")


def test_a_worker_that_hangs_loses_its_leases_at_once_and_the_fleet_goes_on() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    driven.do(driven.core.receive(HOST, failed("hang", 0), driven.now))
    (broken,) = driven.wanted(effects.GameBroken)
    assert not broken.fatal
    assert broken.report.worker_index == 0
    driven.play(11)
    assert len(driven.trains) == 1


def test_a_game_that_ends_worker_after_worker_is_fatal() -> None:
    driven = DrivenCore.started()
    for generation in range(6):
        connection_id = 20 + generation
        driven.join(connection_id, 0)
        driven.say(connection_id, failed("throw"))
        assert not any(one.fatal for one in driven.wanted(effects.GameBroken))
        driven.close(connection_id)
    assert [one.fatal for one in driven.wanted(effects.GameBroken)][-1]


def test_messages_of_the_wrong_role_are_refused() -> None:
    driven = DrivenCore.started()
    with pytest.raises(ProtocolError):
        driven.core.receive(HOST, driven.workers[10].progress()[0], 0.0)
    with pytest.raises(ProtocolError):
        driven.core.receive(10, HostStatus(run_id="run-1", num_workers=1), 0.0)
    with pytest.raises(ProtocolError):
        driven.core.offer_block(HOST, played_block(), 0.0)


def test_S1_what_cannot_work_is_refused_when_the_game_is_known() -> None:
    driven = DrivenCore(small_config(horizon=65_536, instances_per_worker=1))
    with pytest.raises(ConfigurationError, match="the largest horizon that fits is"):
        driven.host()


def test_the_fleet_view_names_everybody() -> None:
    driven = DrivenCore.started()
    driven.now = 1.0
    driven.play(10)
    driven.now = 2.0
    driven.play(10)
    view = driven.core.fleet_view(2.0)
    (host,) = view.hosts
    assert [(one.worker_index, one.state) for one in host.workers] == [(0, "waiting"), (1, "playing")]
    assert host.workers[0].collected_steps == 24
    # 12 steps between the first block at 1 s and the second at 2 s
    assert host.workers[0].steps_per_second == pytest.approx(12.0, rel=0.15)
    assert view.leases_open == len([lease for worker in driven.workers.values() for lease in worker.leases])
