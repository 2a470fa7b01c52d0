"""The small steps that everything else of the core is made of: leases, policies, failures, counts."""

import pytest

from attract.collection import effects
from attract.collection.effects import Note, Send, SendPolicy
from attract.collection.state import CollectionState
from attract.schema.api import GameReport
from attract.schema.episodes import Episode, Episodes
from attract.schema.messages import LeaseVoid
from driven_core import DrivenCore, game_failure, small_config

# --- effects ---


def test_effects_are_taken_once_in_the_order_in_which_they_were_wanted() -> None:
    state = CollectionState(small_config())
    state.note("audit", "first")
    state.send(None, LeaseVoid(run_id="run-1", lease_id=1, reason="nobody is there"))
    state.send(7, LeaseVoid(run_id="run-1", lease_id=2, reason="second"))
    first, second = state.take_effects()
    assert first == Note("audit", "first")
    assert isinstance(second, Send)
    assert second.connection_id == 7
    assert state.take_effects() == []


def test_before_the_game_is_known_nothing_stands_on_it() -> None:
    state = CollectionState(small_config())
    with pytest.raises(RuntimeError, match="expected a described game"):
        state.require_described()
    state.free(None)
    state.free_blocks([])


# --- leases ---


def test_a_lease_keeps_rows_and_gives_back_those_it_did_not_use() -> None:
    driven = DrivenCore.started(schedule="sync")
    state = driven.core
    described = state.require_described()
    rows = described.acceptance.rows
    # Two workers of three games: one segment each.
    assert (rows.reserved, len(state.book.promised)) == (6, 2)
    worker = state.fleet.by_id(0)
    state.lapse(worker.leases[0], "tired", 1.0)
    assert (rows.reserved, rows.num_free, state.book.num_lapsed) == (3, rows.capacity, 1)
    assert (worker.leases, list(worker.voided), worker.owed) == ([], [1], 0)
    assert state.book.get(1) is None
    assert state.lease_of(worker, 2) is None, "the other worker's"
    (void,) = [effect.message for effect in state.take_effects() if isinstance(effect, Send)]
    assert void == LeaseVoid(run_id="run-1", lease_id=1, reason="tired")


def test_the_lease_behind_comes_to_the_front_when_the_first_ends() -> None:
    driven = DrivenCore.started(schedule="overlap")
    state = driven.core
    worker = state.fleet.by_id(0)
    first, second = worker.leases
    assert (first.front_since, second.front_since) == (0.0, None)
    assert state.deadline(worker) == state.book.deadline(first)
    state.end_lease(first, 4.0)
    assert (worker.leases, second.front_since) == ([second], 4.0)
    state.lapse_all(worker, "all", 5.0)
    assert state.deadline(worker) is None


def test_who_has_room_for_a_lease_is_remembered_and_who_has_none_is_not() -> None:
    driven = DrivenCore.started(schedule="overlap")
    state = driven.core
    worker = state.fleet.by_id(0)
    # One in play and one ahead: `prefetch` is 1.
    assert len(worker.leases) == 2
    state.takers.clear()
    state.touch(worker)
    assert state.takers == set()
    state.end_lease(worker.leases[0], 1.0)
    assert state.takers == {0}


# --- policies ---


def test_the_policies_of_a_version_are_sent_one_after_the_other() -> None:
    driven = DrivenCore.started(schedule="sync")
    state = driven.core
    worker = state.fleet.by_id(0)
    worker.forget_sent()
    state.send_policy(worker, 3, 2.0)
    assert (worker.sending_version, worker.sent_version, worker.acknowledged) == (3, 3, False)
    assert state.take_effects() == [SendPolicy(10, "main", 3)]
    worker.connection_id = None
    state.send_policy(worker, 4, 3.0)
    assert (worker.sending_version, state.take_effects()) == (3, []), "nobody is there to be sent it"


# --- games that fail ---


def test_a_game_that_ends_worker_after_worker_is_fatal() -> None:
    driven = DrivenCore.started()
    for generation in range(6):
        connection_id = 20 + generation
        driven.join(connection_id, 0)
        driven.say(connection_id, game_failure("throw"))
        assert not any(report.fatal for report in driven.wanted(effects.Report))
        driven.close(connection_id)
    assert [report.fatal for report in driven.wanted(effects.Report)][-1]


def test_hostile_02_six_false_failures_of_a_stranger_leave_it_out_and_end_nothing() -> None:
    driven = DrivenCore.started()
    driven.tier = "invited"
    for generation in range(6):
        driven.join(20 + generation, generation, host_id="f" * 32)
        driven.say(20 + generation, game_failure("throw"))
        driven.close(20 + generation)
    assert not any(report.fatal for report in driven.wanted(effects.Report))
    (note,) = [note for note in driven.wanted(effects.Note) if note.kind == "quarantine"]
    assert note.text == f"the browser {'f' * 32} is banned: its games keep failing"
    driven.join(40, 0, host_id="f" * 32)
    driven.play(10)
    driven.play(11)
    driven.publish()
    assert not driven.leases(40), "a new key is no new identity"
    assert len(driven.leases(10)) > 2, "the others play on"


def test_hostile_02_a_game_that_fails_for_every_stranger_and_nobody_ever_played_is_believed() -> None:
    driven = DrivenCore(tier="invited")
    driven.host()
    driven.ready()
    for stranger in range(3):
        for generation in range(3):
            assert not any(report.fatal for report in driven.wanted(effects.Report))
            connection_id = 20 + 10 * stranger + generation
            driven.join(connection_id, 0, host_id=f"{stranger:032x}")
            driven.say(connection_id, game_failure("throw"))
            driven.close(connection_id)
    assert [report.fatal for report in driven.wanted(effects.Report)][-1]


def test_a_worker_ends_once() -> None:
    driven = DrivenCore.started()
    state = driven.core
    worker = state.fleet.by_id(0)
    report = GameReport(kind="crash", name="Error", text="out of memory", stack=None)
    state.break_worker(worker, report, 0.0)
    assert worker.broken and worker.leases == []
    state.take_effects()
    state.break_worker(worker, report, 0.0)
    assert state.take_effects() == []


# --- what counts ---


def test_C6_E1_finished_episodes_are_numbered_on_and_cut_ones_only_counted() -> None:
    state = CollectionState(small_config())
    state.learner.counters.global_episode_index = 40
    one = Episode(0, 0, 1, (2.0,), 5, 10, "terminated")
    cut = one._replace(instance_id=1, end_reason="cut")
    state.count_episodes([], Episodes.of([one, cut, one._replace(instance_id=2)], 1))
    (counted,) = state.take_effects()
    assert isinstance(counted, effects.EpisodesCounted)
    assert counted.first_index == 40
    assert [each.instance_id for each in counted.results] == [0, 2]
    assert (state.learner.counters.episodes, state.learner.counters.global_episode_index) == (3, 42)
    state.count_episodes([], Episodes.of([cut], 1))
    assert state.take_effects() == []
    assert (state.learner.counters.episodes, state.learner.counters.global_episode_index) == (4, 42)
