"""The numbers by which a run is watched."""

from attract.collection.standing import standing_of
from attract.collection.state import CollectionState
from blocks import played_block
from driven_core import DrivenCore, small_config


def test_before_the_game_is_known_there_is_nothing_to_count() -> None:
    standing = standing_of(CollectionState(small_config()))
    assert (dict(standing.hosts), dict(standing.workers), dict(standing.rows)) == ({}, {}, {})
    assert (standing.leases_open, standing.blocks_accepted, standing.versions_unpublished) == (0, 0, 0)


def test_workers_are_counted_by_what_they_do() -> None:
    driven = DrivenCore.started(schedule="sync")
    state = driven.core
    assert dict(standing_of(state).hosts) == {"local": 1}
    assert dict(standing_of(state).workers) == {("local", "playing"): 2}
    driven.play(10)
    assert dict(standing_of(state).workers) == {("local", "playing"): 1, ("local", "waiting"): 1}
    driven.close(11)
    assert dict(standing_of(state).workers) == {("local", "returning"): 1, ("local", "waiting"): 1}
    driven.wait(2.1)
    # It did not come back: what it owed is the other's now.
    assert dict(standing_of(state).workers) == {("local", "playing"): 1}


def test_rows_and_blocks_are_counted_as_they_fill() -> None:
    driven = DrivenCore.started(schedule="sync")
    state = driven.core
    capacity = state.require_described().acceptance.rows.capacity
    before = standing_of(state)
    assert (before.rows, before.leases_open) == ({"free": capacity - 6, "promised": 6, "taken": 0}, 2)
    driven.play(10)
    driven.block(11, played_block(lease_id=999))
    after = standing_of(state)
    assert after.rows == {"free": capacity - 6, "promised": 3, "taken": 3}
    assert (after.blocks_accepted, after.blocks_refused, after.leases_open) == (1, 1, 1)


def test_D1_a_version_that_is_not_durable_yet_is_not_published() -> None:
    driven = DrivenCore.started(schedule="overlap")
    state = driven.core
    assert standing_of(state).versions_unpublished == 0
    driven.play(10)
    driven.play(11)
    batch = driven.trains[-1].batch_id
    driven.train()
    assert standing_of(state).versions_unpublished == 1
    driven.publish_trained(batch)
    assert standing_of(state).versions_unpublished == 0
