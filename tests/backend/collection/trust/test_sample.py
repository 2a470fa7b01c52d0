"""Verdicts on single segments: what accuses, what does not, and who is looked at how often (rule C10)."""

import numpy as np

from attract.collection.batches import AcceptedBlock
from attract.collection.leases import Lesson
from attract.collection.trust.sample import Audit, Item
from attract.schema.episode_results import EpisodeColumns
from attract.schema.episodes import Episodes
from attract.schema.messages import Block, FromBrowser
from attract.schema.tensor import from_numpy
from driven_core import DrivenCore

GUEST, OWN = "0123abcd@192.0.2.1", ""


def first_block() -> Block:
    """One block of three games, as a worker of the counting game sends it."""
    driven = DrivenCore.started()
    said: list[FromBrowser] = driven.workers[10].play()
    return next(message for message in said if isinstance(message, Block))


def accepted(block: Block) -> AcceptedBlock:
    numbers = np.arange(block.slot_id.shape[0])
    return AcceptedBlock(numbers, numbers, numbers, 1, 0, 0, False, 12, Episodes(EpisodeColumns(), 1))


def forged(block: Block, factor: float) -> Block:
    reward = np.frombuffer(block.reward.data, "<f4").reshape(block.reward.shape) * np.float32(factor)
    return block.model_copy(update={"reward": from_numpy((reward + 1).astype(np.float32))})


def column(block: Block, item: Item, lease_id: int, index: int) -> Block:
    """What a replay of that item would answer, cut out of a block that has it."""
    slots = np.frombuffer(block.slot_id.data, "<i4")
    at = int(np.flatnonzero(slots == item.order.instance_id)[0])

    def cut(tensor, axis):
        kinds = {"float32": "<f4", "int32": "<i4", "uint8": "u1", "uint16": "<u2"}
        array = np.frombuffer(tensor.data, kinds[tensor.dtype]).reshape(tensor.shape)
        return from_numpy(np.take(array, [at], axis))

    names = ("action", "log_prob", "value", "reward", "terminated", "truncated", "valid", "executed_ticks")
    return block.model_copy(
        update={
            **{name: cut(getattr(block, name), 1) for name in names},
            "observation": {"obs": cut(block.observation["obs"], 1)},
            "bootstrap_observation": {"obs": cut(block.bootstrap_observation["obs"], 0)},
            "slot_id": cut(block.slot_id, 0),
            "first_step": cut(block.first_step, 0),
            "lease_id": lease_id,
            "segment_index": index,
        }
    )


def replay(audit: Audit, truths: list[Block]) -> None:
    """One round of replays, each of which gives what the next of `truths` says."""
    items = audit.next_orders()
    audit.leased(99, items)
    for index, item in enumerate(items):
        audit.answer(column(truths[index % len(truths)], item, 99, index))
    audit.answered(99)


def auditing() -> Audit:
    audit = Audit(1, secret=7)
    audit.is_able = True
    return audit


def with_controls(audit: Audit, block: Block) -> None:
    """A segment of the admin's own worker was played again, and was the same."""
    only = int(np.frombuffer(block.slot_id.data, "<i4")[0])
    audit.take(OWN, 9, block, None, Lesson(), only=only)
    replay(audit, [block])


def test_C10_what_agrees_trains_and_what_differs_twice_in_the_same_way_is_caught() -> None:
    block = first_block()
    for sent, is_caught in ((block, False), (forged(block, 100), True)):
        audit = auditing()
        slots = from_numpy(np.array([50, 51, 52], np.int32))
        with_controls(audit, block.model_copy(update={"slot_id": slots}))
        audit.take(GUEST, 0, sent, accepted(sent), Lesson())
        assert not audit.passed, "it waits"
        for _ in range(3):
            replay(audit, [block])
        assert [caught.identity for caught in audit.caught] == [GUEST] * is_caught
        assert (len(audit.passed), len(audit.lost)) == ((0, 1) if is_caught else (1, 0))
        assert audit.num_held == 0


def test_C10_without_a_control_nobody_is_accused() -> None:
    block = first_block()
    audit = auditing()
    sent = forged(block, 100)
    audit.take(GUEST, 0, sent, accepted(sent), Lesson())
    for _ in range(3):
        replay(audit, [block])
    assert not audit.caught
    assert not audit.passed
    with_controls(audit, block.model_copy(update={"slot_id": from_numpy(np.array([50, 51, 52], np.int32))}))
    assert [caught.identity for caught in audit.caught] == [GUEST]


def test_C10_a_game_that_gives_something_else_each_time_accuses_nobody() -> None:
    block = first_block()
    audit = auditing()
    audit.take(GUEST, 0, block, accepted(block), Lesson())
    replay(audit, [forged(block, 2)])
    replay(audit, [forged(block, 3)])
    assert audit.off is not None
    assert "plays differently each time" in audit.notes[0]
    assert not audit.caught
    assert len(audit.passed) == 1
    assert not audit.must_wait(GUEST)


def test_C10_a_control_that_differs_turns_the_audit_off() -> None:
    block = first_block()
    audit = auditing()
    audit.take(OWN, 9, block, None, Lesson(), only=int(np.frombuffer(block.slot_id.data, "<i4")[0]))
    replay(audit, [forged(block, 2)])
    replay(audit, [forged(block, 2)])
    assert audit.off is not None
    assert "attract check" in audit.notes[0]
