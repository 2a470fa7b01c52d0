from typing import Any

import numpy as np
import pytest

from attract.collection import effects
from attract.collection.batches import (
    AcceptedBlock,
    Pool,
    close_batch,
    episodes_in_order,
    rows_of_policies,
    sorted_rows,
)
from attract.collection.planning import start_warmup
from attract.collection.seating import Seating
from attract.schema.episodes import Episode, Episodes
from attract.schema.learner import Warmup
from blocks import played_block
from driven_core import DrivenCore

SECRET = 12345
ONE = Seating(("main",))


def block(rows: list[int], slots: list[int], step: int, **changes: Any) -> AcceptedBlock:
    values: dict[str, Any] = {
        "rows": np.array(rows),
        "slot_id": np.array(slots),
        "first_step": np.full(len(rows), step),
        "lease_id": 1,
        "policy_version": 0,
        "worker_id": 0,
        "local": True,
        "valid_steps": 4 * len(rows),
        "episodes": Episodes.of([], 1),
    }
    return AcceptedBlock(**(values | changes))


def episodes(*ends: tuple[int, int]) -> Episodes:
    """One for each (instance, step of the segment at which it ended)."""
    return Episodes.of(
        [
            Episode(instance, 0, step, [0.0], length_steps=1, length_ticks=1, end_reason="terminated")
            for instance, step in ends
        ],
        1,
    )


def test_C8_rows_follow_from_slot_and_first_step() -> None:
    blocks = [block([7, 3], [2, 0], 4), block([1, 0], [0, 2], 0), block([5], [1], 8)]
    # slot 0: steps 0 (row 1), 4 (row 3); slot 1: row 5; slot 2: steps 0 (row 0), 4 (row 7)
    assert sorted_rows(blocks).tolist() == [1, 3, 5, 0, 7]
    assert sorted_rows(blocks[::-1]).tolist() == [1, 3, 5, 0, 7]


def test_C8_episodes_follow_from_instance_and_step() -> None:
    first = block([0, 1], [0, 1], 4, episodes=episodes((1, 3), (0, 1)))
    second = block([2, 3], [0, 1], 0, episodes=episodes((1, 2), (0, 3), (0, 1)))
    for blocks in ([first, second], [second, first]):
        found = [(episode.instance_id, episode.step) for episode in episodes_in_order(blocks, 1)]
        assert found == [(0, 1), (0, 3), (0, 1), (1, 2), (1, 3)]


def test_C7_one_segment_per_local_lease_and_every_other_one_is_verified() -> None:
    blocks = [
        block([0, 1, 2], [0, 1, 2], 0, lease_id=1),
        block([3, 4, 5], [3, 4, 5], 0, lease_id=2, worker_id=1),
    ]
    batch = close_batch(blocks, batch_id=1, version=0, secret=SECRET, seating=ONE)
    assert batch.verify == "sample"
    assert len(batch.verify_rows) == 2
    assert {row // 3 for row in batch.verify_rows} == {0, 1}
    assert batch.worker_of(4) == 1
    assert batch.worker_of(99) is None
    again = close_batch(blocks[::-1], batch_id=1, version=0, secret=SECRET, seating=ONE)
    assert again.verify_rows == batch.verify_rows, "drawn from the secret, not from arrival"
    drawn = {
        close_batch(blocks, batch_id=number, version=0, secret=SECRET, seating=ONE).verify_rows
        for number in range(30)
    }
    assert len(drawn) == 9, "any segment may be looked at"
    invited = block([6, 7], [6, 7], 0, local=False, lease_id=3)
    mixed = close_batch([blocks[0], invited], batch_id=1, version=0, secret=SECRET, seating=ONE)
    assert mixed.verify == "all"
    assert set(mixed.verify_rows) > {6, 7}


def messages_and_samples(secret: int) -> tuple[list[Any], list[list[int]]]:
    """All that workers were told in five updates of one fleet, and the rows that were spot-checked."""
    driven = DrivenCore.started(secret=secret, max_workers=2)
    for _ in range(5):
        for connection_id in (10, 11):
            driven.play(connection_id)
        driven.publish()
    sent = [effect for effect in driven.log if isinstance(effect, effects.Send | effects.SendPolicy)]
    return sent, [train.verify_rows for train in driven.trains]


def test_C7_hostile_07_what_is_looked_at_does_not_follow_from_what_a_worker_is_told() -> None:
    messages, looked_at = messages_and_samples(secret=1)
    assert len(looked_at) == 5
    others = {secret: messages_and_samples(secret) for secret in (1, 2, 3)}
    assert all(other[0] == messages for other in others.values()), "workers see no difference"
    assert others[1][1] == looked_at, "and yet it is a draw that can be repeated by who has the secret"
    assert others[2][1] != looked_at
    assert others[3][1] != looked_at
    # Whoever guesses each update's two segments of three from all that he knows is right one time in nine.
    draws = {tuple(messages_and_samples(secret)[1][0]) for secret in range(60)}
    assert len(draws) == 9


def test_a_pool_is_taken_whole() -> None:
    pool = Pool()
    pool.add(block([0, 1], [0, 1], 0))
    pool.add(block([2], [2], 0, policy_version=3))
    assert pool.num_segments == 3
    assert [segment.policy_version for segment in pool.drop_unusable(1, 5)] == [0]
    assert pool.num_segments == 1
    assert len(pool.take()) == 1
    assert pool.num_segments == 0
    assert pool.take() == []


def test_S1_a_sealed_batch_stays_as_it_is_and_goes_first() -> None:
    pool = Pool()
    first, second, third = (block([row], [0], row) for row in range(3))
    pool.add(first)
    pool.seal()
    pool.add(second)
    pool.add(third)
    assert (pool.num_sealed, pool.num_segments) == (1, 2)
    assert pool.take() == [first]
    assert (pool.num_sealed, pool.num_segments) == (0, 2)
    assert pool.take() == [second, third]


def test_each_batch_that_waits_takes_what_is_one_version_older() -> None:
    pool = Pool()
    sealed = [block([row], [0], row, policy_version=version) for row, version in enumerate((3, 4, 5))]
    filling = [
        block([row + 3], [0], row + 3, policy_version=version) for row, version in enumerate((3, 4, 5, 6))
    ]
    for segment in sealed:
        pool.add(segment)
    pool.seal()
    for segment in filling:
        pool.add(segment)
    gone = pool.drop_unusable(5, 5)
    # the batch now filling takes version 5 alone, the sealed one before it 4 and 5
    assert {segment.rows[0] for segment in gone} == {0, 3, 4, 6}
    assert [segment.policy_version for segment in pool.take()] == [4, 5]
    assert [segment.policy_version for segment in pool.take()] == [5]


def test_S1_a_batch_closes_at_the_first_lease_boundary_with_enough_and_the_surplus_trains() -> None:
    driven = DrivenCore.started(rollout_segments=2, batch_segments=7)
    driven.play(11)  # three segments of an open lease
    driven.play(10)  # six so far
    assert not driven.trains
    driven.play(10)  # nine, and 10's lease ends
    assert [len(train.rows) for train in driven.trains] == [9]
    assert len(set(driven.trains[0].rows)) == 9


def test_S1_with_enough_but_no_boundary_nothing_closes() -> None:
    driven = DrivenCore.started(rollout_segments=2, batch_segments=3)
    driven.play(10)
    driven.play(11)
    driven.wait(0.1)  # whatever else happens meanwhile
    assert not driven.trains
    driven.play(11)
    assert [len(train.rows) for train in driven.trains] == [9]


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
        (result.instance_id, result.episode, index)
        for effect in driven.wanted(effects.EpisodesCounted)
        for index, result in enumerate(effect.results, effect.first_index)
    ]
    # Episodes of 7 steps: episode 0 is cut, episode 1 ends at step 13, in the fourth segment.
    assert counted == []
    assert driven.core.counters.episodes == 6
    for connection_id in order:
        driven.play(connection_id)
    counted = [
        (result.instance_id, index)
        for effect in driven.wanted(effects.EpisodesCounted)
        for index, result in enumerate(effect.results, effect.first_index)
    ]
    assert counted == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert driven.trains[-1].counters.global_episode_index == 6


def test_C8_sync_gives_everybody_the_same_share_of_every_iteration() -> None:
    driven = DrivenCore.started(schedule="sync", batch_segments=13)
    assert [(lease.num_segments, lease.seats[0].policy_version) for lease in driven.leases()] == [
        (3, 0),
        (3, 0),
    ]
    driven.play(10, 3)
    assert len(driven.leases()) == 2, "who is first waits"
    driven.play(11, 3)
    assert len(driven.trains) == 1
    assert len(driven.leases()) == 2, "and so do all while the learner works"
    driven.publish()
    assert [(lease.num_segments, lease.seats[0].policy_version) for lease in driven.leases()[2:]] == [
        (3, 1),
        (3, 1),
    ]


def test_C6_overlap_numbers_episodes_as_they_come() -> None:
    driven = DrivenCore.started(schedule="overlap", rollout_segments=4)
    driven.play(11, 4)
    driven.play(10, 4)
    counted = [
        (result.instance_id, index)
        for effect in driven.wanted(effects.EpisodesCounted)
        for index, result in enumerate(effect.results, effect.first_index)
    ]
    assert counted == [(3, 0), (4, 1), (5, 2), (0, 3), (1, 4), (2, 5)]


def test_E1_cut_episodes_have_no_number_and_reach_no_statistic() -> None:
    driven = DrivenCore.started(rollout_segments=4)
    driven.play(10, 4)
    results = [result for effect in driven.wanted(effects.EpisodesCounted) for result in effect.results]
    assert {result.end_reason for result in results} == {"time_limit"}
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


def test_E9_a_batch_knows_the_rows_of_every_policy_and_verifies_each() -> None:
    seating = Seating(("hunter", "prey", "prey"))
    # Two games of three agents, one segment of each slot; row 10 + slot.
    blocks = [block([10, 13], [0, 3], 0), block([11, 12, 14, 15], [1, 2, 4, 5], 0)]
    for number in range(10):
        batch = close_batch(blocks, batch_id=number, version=0, secret=SECRET, seating=seating)
        assert batch.rows == (10, 11, 12, 13, 14, 15)
        assert batch.rows_by_policy == {"hunter": (10, 13), "prey": (11, 12, 14, 15)}
        assert len(batch.verify_rows) == 2, "one of each policy (C7)"
        assert len(set(batch.verify_rows) & {10, 13}) == 1


def test_P7_each_policys_warm_up_is_known_by_its_rows() -> None:
    seating = Seating(("hunter", "prey", "prey"))
    blocks = [block([11, 12, 14, 15], [1, 2, 4, 5], 0), block([10, 13], [0, 3], 0)]
    rows = rows_of_policies(blocks, seating)
    assert rows == {"hunter": (10, 13), "prey": (11, 12, 14, 15)}
    assert rows_of_policies([], seating) == {"hunter": (), "prey": ()}
    warmup = start_warmup(blocks, seating).message
    by_policy = {name: list(share) for name, share in rows.items()}
    assert warmup == Warmup(rows=[10, 11, 12, 13, 14, 15], rows_by_policy=by_policy)
    alone = start_warmup(blocks, Seating(("main",) * 3)).message
    assert alone == Warmup(rows=warmup.rows)
