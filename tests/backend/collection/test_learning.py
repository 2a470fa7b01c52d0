from typing import Any

import numpy as np
import pytest

from attract.collection import effects, inputs, learner_handlers
from attract.collection.batches import ClosedBatch
from attract.collection.learning import LearnerState
from attract.schema.learner import Counters, RejectedRow, Warmup
from attract.schema.messages import LeaseVoid, Seed
from driven_core import DrivenCore, published, ready_learner, small_config


def batch(version: int) -> ClosedBatch:
    return ClosedBatch(
        batch_id=4,
        version=version,
        rows=(1, 2),
        verify_rows=(1,),
        verify="sample",
        worker_id=np.array([0, 0]),
        valid_steps=8,
    )


@pytest.mark.parametrize(("version", "outcome"), [(5, "same"), (6, "finished"), (4, "lost"), (7, "lost")])
def test_what_a_learner_that_came_back_means_for_its_batch(version: int, outcome: str) -> None:
    learner = LearnerState()
    learner.ready(ready_learner(5))
    learner.begin(batch(5))
    assert learner.ready(ready_learner(version)) == outcome
    assert learner.phase == ("busy" if outcome == "same" else "idle")
    assert learner.version == version


def test_D2_a_fresh_learner_brings_its_counters() -> None:
    learner = LearnerState()
    assert learner.ready(ready_learner(5, agent_steps=70, updates=5)) == "fresh"
    train = learner.begin(batch(5))
    assert (train.counters.agent_steps, train.counters.updates) == (78, 6)
    assert learner.counters.snapshot().agent_steps == 70, "not counted before it is committed"


@pytest.mark.parametrize(("rejected", "steps"), [([], 8), ([RejectedRow(row=1, largest_difference=1.0)], 4)])
def test_T4_rejected_rows_do_not_count(rejected: list[RejectedRow], steps: int) -> None:
    learner = LearnerState()
    learner.ready(ready_learner(5))
    learner.begin(batch(5))
    learner.commit(batch(5), published(6, 4, valid_steps=4, rejected=rejected))
    assert learner.counters.agent_steps == steps
    assert learner.version == 6


def test_P7_warm_up_is_random_uncounted_and_ordered() -> None:
    driven = DrivenCore(small_config(warmup_steps=40))
    driven.host()
    driven.join(11, 1)
    driven.join(10, 0)
    assert driven.leases() == [], "nobody plays, and no clock runs, for a learner that is still loading"
    driven.ready(needs_warmup=True)
    leases = driven.leases()
    # 40 steps of 2 x 3 slots of 4 steps: 2 segments each
    assert [lease.purpose for lease in leases] == ["warmup", "warmup"]
    assert [(lease.num_segments, lease.seats[0].script) for lease in leases] == [(2, "random")] * 2
    driven.play(11, 2)
    assert not driven.warmups
    driven.play(10, 2)
    (warmup,) = driven.warmups
    assert len(set(warmup.rows)) == 12
    assert driven.core.counters == Counters()
    assert not driven.wanted(effects.SendPolicy)
    driven.publish()
    assert [lease.purpose for lease in driven.leases()[2:]] == ["train"] * 4
    driven.play(10)
    driven.play(11)
    assert len(driven.trains[0].rows) == 6


def warming_up(**changes: Any) -> DrivenCore:
    """Two workers that have been given two segments each for the warm-up."""
    driven = DrivenCore(small_config(warmup_steps=40, **changes))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready(needs_warmup=True)
    return driven


@pytest.mark.parametrize(("segments", "rows"), [(0, 0), (1, 3)])
def test_P7_a_warm_up_ends_after_10_s_with_what_has_come(segments: int, rows: int) -> None:
    driven = warming_up()
    driven.play(10, segments)
    driven.wait(9.9)
    assert not driven.warmups
    driven.wait(0.2)
    (warmup,) = driven.warmups
    assert len(warmup.rows) == rows
    assert [void.lease_id for void in driven.messages(LeaseVoid)] == [1, 2]
    assert driven.core.fleet_view(driven.now).leases_lapsed == 0, "nothing was lost"
    assert driven.core.next_deadline() is None or driven.core.next_deadline() > driven.now
    driven.publish()
    assert {lease.purpose for lease in driven.leases()[2:]} == {"train"}
    driven.play(10)
    driven.play(11)
    assert len(driven.trains) == 1


def test_P7_in_sync_the_warm_up_takes_its_time() -> None:
    driven = warming_up(schedule="sync")
    driven.wait(12.0)
    assert not driven.warmups
    driven.play(10, 2)
    driven.play(11, 2)
    (warmup,) = driven.warmups
    assert len(warmup.rows) == 12


def test_P7_without_warm_up_steps_the_learner_is_told_so() -> None:
    driven = DrivenCore(small_config(warmup_steps=0))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready(needs_warmup=True)
    assert driven.warmups == [Warmup(rows=[])]


def test_P8_a_dropped_update_frees_its_rows_and_counts_nothing() -> None:
    driven = DrivenCore.started(schedule="sync")
    for consecutive in (1, 2, 3):
        driven.play(10)
        driven.play(11)
        driven.drop(consecutive)
    counters = driven.core.counters
    assert (counters.updates, counters.agent_steps) == (0, 0)
    # The run pauses; it is the run core that decides that.
    assert not driven.core.paused
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
    assert train.verify == "sample"
    assert len(train.verify_rows) == 2
    driven = DrivenCore(small_config(schedule="sync"), tier="invited")
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    driven.play(10)
    driven.play(11)
    train = driven.trains[0]
    assert train.verify == "all"
    assert train.verify_rows == train.rows


def test_a_learner_that_comes_back_gets_its_batch_again() -> None:
    driven = DrivenCore.started()
    driven.play(10)
    driven.play(11)
    driven.give(learner_handlers.lost)
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
    driven.give(learner_handlers.lost)
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


def both_trained() -> DrivenCore:
    """`overlap`: the first update is trained, its version not durable; the second batch was full before."""
    driven = DrivenCore.started(schedule="overlap")
    for _ in range(2):
        driven.play(10)
        driven.play(11)
    assert len(driven.trains) == 1
    driven.train()
    return driven


def test_D1_the_next_update_begins_while_the_version_is_written_and_nobody_hears_of_it_yet() -> None:
    driven = both_trained()
    first, second = driven.trains
    assert second.counters.agent_steps == 2 * first.counters.agent_steps
    assert driven.core.learner.public == 0
    assert {sent.policy_version for sent in driven.wanted(effects.SendPolicy)} == {0}
    driven.publish_trained(first.batch_id)
    assert driven.core.learner.public == 1
    assert {sent.policy_version for sent in driven.wanted(effects.SendPolicy)} == {0, 1}
    assert driven.updating, "the second is still under way"
    assert driven.core.counters.updates == 1


def test_D1_an_evaluation_is_of_the_version_that_is_public() -> None:
    driven = both_trained()
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    assert {sent.policy_version for sent in driven.wanted(effects.SendPolicy)} == {0}


def test_D1_a_version_that_was_lost_before_it_was_durable_is_trained_anew() -> None:
    driven = both_trained()
    driven.give(learner_handlers.lost)
    driven.version = 0
    driven.ready()
    assert [note.kind for note in driven.wanted(effects.Note)] == ["learner", "learner"]
    assert not driven.updating
    assert driven.core.learner.public == 0
    for _ in range(2):
        driven.play(10)
        driven.play(11)
    assert len(driven.trains) == 3
    driven.publish()
    assert driven.core.learner.public == 1
    assert {sent.policy_version for sent in driven.wanted(effects.SendPolicy)} == {0, 1}
