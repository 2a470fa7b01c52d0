import pytest

from attract.collection import effects, inputs, message_handlers, trust_handlers
from attract.errors import ConfigurationError, ProtocolError
from attract.schema.messages import (
    LeaseVoid,
    RunEnded,
    Seed,
    WelcomeWorker,
)
from blocks import played_block
from driven_core import HOST, DrivenCore, small_config

# --- joining ---


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
    assert [closing.connection_id for closing in driven.wanted(effects.CloseConnection)] == [10]
    driven.give(message_handlers.disconnected, 10)
    driven.wait(3.0)
    driven.play(20)
    assert driven.acks[-1].accepted


def test_a_worker_of_another_run_is_refused() -> None:
    driven = DrivenCore.started()
    hello = driven.workers[10].hello().model_copy(update={"run_id": "run-0"})
    with pytest.raises(ProtocolError) as caught:
        driven.core.handle(message_handlers.connected, 0.0, 30, hello, "local")
    assert caught.value.close_code == 4004


# --- the run ---


def test_pause_finishes_what_is_under_way_and_resume_goes_on() -> None:
    driven = DrivenCore.started()
    driven.give(inputs.pause)
    count = len(driven.leases())
    driven.play(10, 2)
    driven.play(11, 2)
    assert not driven.trains
    assert len(driven.leases()) == count
    driven.give(inputs.resume)
    assert len(driven.trains) == 1


def test_stop_ends_workers_and_keeps_hosts() -> None:
    driven = DrivenCore.started()
    driven.give(inputs.end_run)
    assert len(driven.messages(RunEnded, HOST)) == 1
    assert {closing.connection_id for closing in driven.wanted(effects.CloseConnection)} == {10, 11}
    assert driven.core.next_deadline() is None
    assert driven.block(10, played_block(lease_id=1)).reason == "spent lease"
    assert driven.core.handle(inputs.end_run, driven.now) == []


def test_an_evaluation_is_split_over_the_fleet_and_comes_back_in_order() -> None:
    driven = DrivenCore.started()
    driven.give(inputs.request_evaluation, 7, True, Seed(low=5, high=6))
    for connection_id in (11, 10, 10, 11, 10, 11):
        driven.play(connection_id)
    orders = [lease for lease in driven.leases() if lease.purpose == "evaluate"]
    assert [[order.index for order in lease.episodes] for lease in orders] == [[0, 1, 2, 3], [4, 5, 6]]
    assert all(order.seats[0].deterministic and order.seed == Seed(low=5, high=6) for order in orders)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert [result.returns for result in done.results] == [[float(index)] for index in range(7)]
    assert done.view.return_mean == 3.0
    assert done.view.episodes == 7
    assert driven.core.evaluation is None
    assert driven.trains, "training goes on"


def test_one_evaluation_at_a_time_and_none_before_there_is_a_version() -> None:
    driven, seed = DrivenCore(), Seed(low=5, high=6)
    with pytest.raises(RuntimeError, match="there is none yet"):
        driven.give(inputs.request_evaluation, 2, True, seed)
    driven = DrivenCore.started()
    driven.give(inputs.request_evaluation, 2, True, seed)
    with pytest.raises(RuntimeError, match="expected no evaluation to be under way"):
        driven.give(inputs.request_evaluation, 2, True, seed)


def test_an_older_version_is_evaluated_and_then_the_newest_plays_on() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(10)
    driven.play(11)
    driven.publish()
    assert driven.core.learner.public == 1
    seen = len(driven.wanted(effects.SendPolicy))
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6), version=0)
    for _ in range(2):
        driven.play(10)
        driven.play(11)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert done.view.policy_version == 0
    orders = [lease for lease in driven.leases() if lease.purpose == "evaluate"]
    assert {lease.seats[0].policy_version for lease in orders} == {0}
    assert [sent.policy_version for sent in driven.wanted(effects.SendPolicy)[seen:]][-2:] == [1, 1]
    assert driven.core.learner.public == 1


def test_C3_evaluation_episodes_of_a_lapsed_lease_are_given_to_another() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.give(inputs.pause)
    driven.play(10)
    driven.play(11)
    driven.give(inputs.request_evaluation, 4, True, Seed(low=5, high=6))
    driven.play(10)
    driven.close(11)
    driven.wait(2.1)
    driven.play(10)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert [result.instance_id for result in done.results] == [0, 1, 2, 3]


def test_no_update_begins_while_an_evaluation_is_under_way() -> None:
    driven = DrivenCore.started()
    driven.give(inputs.request_evaluation, 2, False, Seed(low=5, high=6))
    driven.play(10, 2)
    driven.play(11, 2)
    assert not driven.trains
    driven.play(10)
    driven.play(11)
    assert len(driven.trains) == 1


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
    assert [(worker.worker_index, worker.state) for worker in host.workers] == [
        (0, "waiting"),
        (1, "playing"),
    ]
    assert host.workers[0].collected_steps == 24
    # 12 steps between the first block at 1 s and the second at 2 s
    assert host.workers[0].steps_per_second == pytest.approx(12.0, rel=0.15)
    assert view.leases_open == len([lease for worker in driven.workers.values() for lease in worker.leases])


def test_hostile_D4_who_sends_two_frames_that_cannot_be_read_is_left_out() -> None:
    driven = DrivenCore.started()
    driven.give(trust_handlers.frame_unreadable, 10, "a map of 500000 names")
    assert not driven.messages(LeaseVoid, 10)
    driven.give(trust_handlers.frame_unreadable, 10, "a map of 500000 names")
    assert driven.messages(LeaseVoid, 10)
    (host,) = driven.core.fleet_view(driven.now).hosts
    reasons = {worker.worker_index: worker.left_out for worker in host.workers}
    assert reasons == {0: "it sent messages that cannot be read: a map of 500000 names", 1: None}
