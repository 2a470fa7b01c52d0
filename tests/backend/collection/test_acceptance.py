from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from attract.collection import effects
from attract.collection.acceptance import Acceptance, Fresh
from attract.collection.effects import Verdict
from attract.collection.leases import LeaseBook
from attract.collection.seating import Seating
from attract.errors import ProtocolError
from attract.schema.episodes import Episode, columns_of
from attract.schema.messages import Block, FromBrowser, LeaseVoid, RolloutClose
from attract.schema.tensor import from_numpy
from blocks import played_block
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

CONNECTIONS = st.sampled_from([10, 11])


def test_C1_fresh_has_both_ends() -> None:
    assert [version in Fresh(2, 3) for version in (1, 2, 3, 4)] == [False, True, True, False]


def test_C1_half_a_block_is_never_accepted() -> None:
    driven = DrivenCore.started()
    lease_id = driven.workers[10].leases[0].lease_id
    assert driven.block(10, played_block(num_slots=2, lease_id=lease_id)).accepted
    assert driven.block(10, played_block(num_slots=3, lease_id=lease_id)).reason == "duplicate"
    rest = played_block(num_slots=1, first_instance=2, lease_id=lease_id)
    assert driven.block(10, rest).accepted


def test_S5_T4_E9_only_valid_steps_are_counted_but_every_tick_of_a_game() -> None:
    description = counting_description(num_agents=3)
    driven = DrivenCore(small_config(num_workers=1, instances_per_worker=2, horizon=7), description)
    driven.host()
    driven.join(10)
    driven.workers[10].breaks = True
    driven.ready()
    driven.play(10)
    # Per game and episode of 7 steps: agent 0 takes part in 7, agents 1 and 2 in 5 each. Ticks: 2 a step.
    counters = driven.core.counters
    assert (counters.collected_steps, counters.ticks) == (2 * (7 + 5 + 5), 2 * 7 * 2)
    assert driven.trains[0].counters.agent_steps == 34
    driven.publish()
    assert driven.core.counters.agent_steps == 34


def test_E9_ticks_go_on_while_the_first_agent_takes_no_part() -> None:
    block = played_block(horizon=7, description=counting_description(num_agents=3), breaks=True)
    # The first agent misses steps 3 and 4 like the third; the second takes part in them, or not.
    ticks = np.frombuffer(block.executed_ticks.data, "<u2").reshape(7, 3).copy()
    for others, expected in ((2, 14), (0, 10)):
        ticks[:, 0] = [2, 2, 2, 0, 0, 2, 2]
        ticks[3:5, 1] = others
        ticks[3:5, 2] = 0
        changed = block.model_copy(update={"executed_ticks": from_numpy(ticks)})
        assert Acceptance(LeaseBook(), Seating(("main",) * 3), 4).num_ticks(changed) == expected
    # A game whose first agent is in another block is counted by that block.
    rest = block.model_copy(
        update={
            "slot_id": from_numpy(np.array([1, 2], np.int32)),
            "executed_ticks": from_numpy(ticks[:, 1:].copy()),
        }
    )
    assert Acceptance(LeaseBook(), Seating(("main",) * 3), 4).num_ticks(rest) == 0


class Faults(RuleBasedStateMachine):
    """Rule C1 under resent, reordered and lost messages, reconnects, lapses and lost updates."""

    def __init__(self) -> None:
        super().__init__()
        self.driven = DrivenCore.started(schedule="overlap", rollout_segments=2)
        for worker in self.driven.workers.values():
            worker.slots_per_block = 2
        self.held: list[tuple[int, FromBrowser]] = []
        self.sent: list[tuple[int, Block]] = []
        self.away = dict[int, object]()
        self.keys = set[tuple[int, int, int]]()
        self.owner = dict[int, tuple[int, int, int]]()
        self.trained = set[tuple[int, int, int]]()
        self.num_trains = 0

    def offer(self, connection_id: int, block: Block) -> None:
        acks = len(self.driven.acks)
        verdict: Verdict = self.driven.block(connection_id, block)
        assert len(self.driven.acks) == acks + 1, "acknowledged, whatever it is"
        if verdict.rows is not None and self.driven.acks[acks].accepted:
            slots = np.frombuffer(block.slot_id.data, "<i4").tolist()
            for row, slot in zip(verdict.rows.tolist(), slots, strict=True):
                key = (block.lease_id, slot, block.segment_index)
                assert key not in self.keys, "accepted twice"
                assert row not in self.owner, "two segments in one row"
                self.keys.add(key)
                self.owner[row] = key

    def deliver(self, connection_id: int, message: FromBrowser) -> None:
        if connection_id not in self.driven.workers:
            return
        if isinstance(message, Block):
            self.sent.append((connection_id, message))
            self.offer(connection_id, message)
        else:
            self.driven.say(connection_id, message)

    @rule(connection_id=CONNECTIONS, hold=st.booleans())
    def play(self, connection_id: int, hold: bool) -> None:
        if connection_id in self.driven.workers:
            for message in self.driven.workers[connection_id].play():
                if hold:
                    self.held.append((connection_id, message))
                else:
                    self.deliver(connection_id, message)

    @precondition(lambda self: self.held)
    @rule(pick=st.integers(0, 1000), lose=st.booleans())
    def release(self, pick: int, lose: bool) -> None:
        connection_id, message = self.held.pop(pick % len(self.held))
        if not lose:
            self.deliver(connection_id, message)

    @precondition(lambda self: self.sent)
    @rule(pick=st.integers(0, 1000), connection_id=CONNECTIONS)
    def resend(self, pick: int, connection_id: int) -> None:
        sender, block = self.sent[pick % len(self.sent)]
        known = self.driven.core.fleet_view(self.driven.now).leases_open
        assert known >= 0
        if sender == connection_id and connection_id in self.driven.workers:
            self.offer(connection_id, block)

    @rule(connection_id=CONNECTIONS)
    def disconnect(self, connection_id: int) -> None:
        if connection_id in self.driven.workers:
            self.away[connection_id] = self.driven.close(connection_id)

    @precondition(lambda self: self.away)
    @rule(connection_id=CONNECTIONS)
    def reconnect(self, connection_id: int) -> None:
        worker = self.away.pop(connection_id, None)
        if worker is not None:
            self.rejoin(connection_id, worker)

    def rejoin(self, connection_id: int, worker: object) -> None:
        # What it sends again on its new socket goes through `offer`, so that it is watched too.
        again = list(worker.unacknowledged)  # type: ignore[attr-defined]
        worker.unacknowledged = []  # type: ignore[attr-defined]
        self.driven.rejoin(connection_id, worker)  # type: ignore[arg-type]
        for block in again:
            self.offer(connection_id, block)

    @rule(seconds=st.sampled_from([0.5, 2.5, 16.0]))
    def wait(self, seconds: float) -> None:
        self.driven.wait(seconds)

    @precondition(lambda self: self.driven.updating)
    @rule(drop=st.booleans())
    def finish_update(self, drop: bool) -> None:
        rows = self.driven.trains[-1].rows
        for row in rows:
            self.owner.pop(row)
        if drop:
            self.driven.drop()
        else:
            self.driven.publish()

    @invariant()
    def updates_hold_accepted_segments_once(self) -> None:
        trains = self.driven.trains
        for train in trains[self.num_trains :]:
            keys = [self.owner[row] for row in train.rows]
            assert len(set(keys)) == len(keys)
            assert not set(keys) & self.trained, "trained twice"
            self.trained |= set(keys)
        self.num_trains = len(trains)

    def teardown(self) -> None:
        for connection_id, worker in self.away.items():
            self.rejoin(connection_id, worker)
        self.held.clear()
        before = len(self.driven.trains)
        for _ in range(200):
            if len(self.driven.trains) >= before + 3:
                return
            for connection_id in (10, 11):
                for message in self.driven.workers[connection_id].play():
                    self.deliver(connection_id, message)
            self.updates_hold_accepted_segments_once()
            if self.driven.updating:
                self.finish_update(drop=False)
            if not any(worker.leases for worker in self.driven.workers.values()):
                self.driven.wait(16.0)
        raise AssertionError("after the faults stopped, updates did not go on")


class TestC1Faults(Faults.TestCase):
    settings = settings(max_examples=40, stateful_step_count=40, deadline=None, derandomize=True)

    def test_C1_each_segment_counts_once_under_all_faults(self) -> None:
        self.runTest()


def test_C1_a_block_counts_once_whatever_is_sent_again() -> None:
    driven = DrivenCore.started()
    (block, close) = driven.workers[10].play()
    assert driven.block(10, block).accepted
    again = driven.block(10, block)
    assert (again.accepted, again.reason) == (False, "duplicate")
    assert [ack.accepted for ack in driven.acks] == [True, False]
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


@pytest.mark.parametrize(
    ("slots", "instance", "known"),
    [([0, 1], 1, True), ([0, 1], 2, False), ([0, 2], 2, True), ([0, 2], 1, False), ([2, 0], 1, False)],
)
def test_C1_episodes_are_of_instances_that_have_a_slot_in_their_block(
    slots: list[int], instance: int, known: bool
) -> None:
    driven = DrivenCore.started()
    ended = Episode(instance, 0, 0, [0.0], length_steps=1, length_ticks=1, end_reason="terminated")
    flags = np.zeros((4, 2), np.bool_)
    if instance in slots:
        flags[0, slots.index(instance)] = True
    block = played_block(num_slots=2, lease_id=driven.workers[10].leases[0].lease_id).model_copy(
        update={
            "slot_id": from_numpy(np.array(slots, np.int32)),
            "episodes": columns_of([ended]),
            "terminated": from_numpy(flags),
        }
    )
    if known:
        assert driven.core.offer_block(10, block, 0.0).accepted
        return
    with pytest.raises(ProtocolError, match=f"instance_id: {instance}"):
        driven.core.offer_block(10, block, 0.0)


def test_C1_what_would_be_too_old_is_refused_and_what_is_accepted_is_trained() -> None:
    # One-segment batches: worker 10 closes two of them while worker 11 plays on at version 0.
    driven = DrivenCore.started(batch_segments=3)
    slow = driven.workers[11].leases[0]
    assert slow.seats[0].policy_version == 0
    for _ in range(2):
        driven.play(10)
        driven.publish()
    voided = [message.lease_id for message in driven.messages(LeaseVoid, 11)]
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
    driven.do(driven.core.decide_block(11, block, verdict, driven.now))
    assert not driven.acks[-1].accepted
    assert driven.core.fleet_view(0.0).blocks_refused == 1


def test_a_withdrawn_block_may_come_again() -> None:
    driven = DrivenCore.started()
    (block, _) = driven.workers[10].play()
    verdict = driven.core.offer_block(10, block, 0.0)
    driven.core.withdraw_block(block, verdict)
    assert driven.block(10, block).accepted


def with_episodes(block: Block, **columns: Any) -> Block:
    """The block with an episode that tells this of itself."""
    episodes = block.episodes.model_copy(update=columns)
    return block.model_copy(update={"episodes": episodes})


@pytest.mark.parametrize("kind", ["metrics", "reward_terms"])
@pytest.mark.parametrize("name", ["", "x" * 200, "not_declared"])
def test_hostile_05_a_block_names_only_metrics_that_the_game_declares(kind: str, name: str) -> None:
    driven = DrivenCore.started(num_workers=1, horizon=8)
    block = next(message for message in driven.workers[10].play() if isinstance(message, Block))
    values = [1.0] * len(block.episodes.instance_id)
    with pytest.raises(ProtocolError, match=rf"episodes.{kind}"):
        driven.block(10, with_episodes(block, **{kind: {name: values}}))
    driven.block(10, block)


def test_hostile_04_a_close_of_a_lease_that_is_not_the_senders_counts_for_nothing() -> None:
    driven = DrivenCore.started()
    close = next(message for message in driven.workers[11].play() if isinstance(message, RolloutClose))
    driven.say(10, close)
    driven.say(10, close.model_copy(update={"lease_id": 999}))
    assert not driven.wanted(effects.LeaseClosed)
    driven.say(11, close)
    (closed,) = driven.wanted(effects.LeaseClosed)
    assert closed.close == close
