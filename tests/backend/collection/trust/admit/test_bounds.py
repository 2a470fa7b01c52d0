from typing import Any

import numpy as np
import pytest

from attract.collection import effects, trust_handlers
from attract.collection.trust.admit import CONTROLS, Bounds
from attract.errors import ProtocolError
from attract.schema.api import CheckFinding
from attract.schema.game import GameDescription, RewardRange
from attract.schema.messages import Block, BlockAck, FinalObservations
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
    SetSpace,
)
from attract.schema.tensor import from_numpy
from blocks import played_block
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

MOST = 3.4028234663852886e38


def described(**changes: Any) -> GameDescription:
    return counting_description().model_copy(update=changes)


def rewarded(*rewards: float) -> Block:
    block = played_block(num_slots=3, horizon=4)
    values = np.zeros((4, 3), np.float32)
    values.flat[: len(rewards)] = rewards
    return block.model_copy(update={"reward": from_numpy(values)})


def test_hostile_08_a_steps_reward_is_held_against_the_range_of_its_updates() -> None:
    # Two updates a step, of -0.1 to 1 each: a step is worth -0.2 to 2.
    bounds = Bounds(described(reward=RewardRange(low=-0.1, high=1)))
    bounds.check(rewarded(2.0, -0.2, 0.0))
    for wrong in (2.01, -0.21, 200.0):
        with pytest.raises(ProtocolError, match=r"block.reward"):
            bounds.check(rewarded(0.5, wrong))
    # An agent that takes no part gets 0, whatever the range; two updates of 1 to 2 give 4 at most.
    above = Bounds(described(reward=RewardRange(low=1, high=2)))
    above.check(rewarded(1.0, 4.0, 0.0))
    with pytest.raises(ProtocolError):
        above.check(rewarded(-0.5))


def test_a_game_that_declares_no_range_may_reward_with_anything() -> None:
    Bounds(described()).check(rewarded(1e20, -1e20))


def seen(space: DictSpace | BoxSpace, **changes: Any) -> tuple[Bounds, Block]:
    """A block [4 steps, 3 slots] of zeros, but for `changes`: by key and place, a number."""
    spaces = space.spaces if isinstance(space, DictSpace) else {"obs": space}
    kinds = {key: space.stored_type for key, space in spaces.items()}
    shapes = {key: space.stored_shape for key, space in spaces.items()}
    steps = {key: np.zeros((4, 3, *shapes[key]), kinds[key]) for key in spaces}
    after = {key: np.zeros((3, *shapes[key]), kinds[key]) for key in spaces}
    for key, (place, number) in changes.items():
        steps[key][place] = number
    block = played_block(num_slots=3, horizon=4).model_copy(
        update={
            "observation": {key: from_numpy(values) for key, values in steps.items()},
            "bootstrap_observation": {key: from_numpy(values) for key, values in after.items()},
            "final_observations": None,
        }
    )
    return Bounds(described(observation=space)), block


def test_hostile_08_choices_are_held_against_their_space() -> None:
    space = DictSpace(spaces={"tile": DiscreteSpace(n=4), "hand": MultiDiscreteSpace(nvec=[2, 5])})
    for change in ({}, {"tile": ((1, 2), 3)}, {"hand": ((3, 0, 1), 4)}):
        bounds, block = seen(space, **change)
        bounds.check(block)
    for change in ({"tile": ((1, 2), 4)}, {"tile": ((0, 0), -1)}, {"hand": ((3, 0, 0), 2)}):
        bounds, block = seen(space, **change)
        with pytest.raises(ProtocolError, match=f"observation.{next(iter(change))}"):
            bounds.check(block)
    bits = Bounds(described(observation=DictSpace(spaces={"keys": MultiBinarySpace(n=2)})))
    numbers = np.zeros((4, 3, 2), np.uint8)
    block = played_block(num_slots=3, horizon=4).model_copy(
        update={
            "observation": {"keys": from_numpy(numbers)},
            "bootstrap_observation": {"keys": from_numpy(np.full((3, 2), 2, np.uint8))},
            "final_observations": None,
        }
    )
    with pytest.raises(ProtocolError, match=r"bootstrap_observation.keys"):
        bits.check(block)


def test_hostile_08_a_row_of_a_set_holds_a_thing_or_none() -> None:
    space = DictSpace(spaces={"rocks": SetSpace(max=2, shape=[1])})
    for change in ({}, {"rocks": ((1, 2, 1, 0), -1e30)}, {"rocks": ((1, 2, 1), 1.0)}):
        bounds, block = seen(space, **change)
        bounds.check(block)
    for number in (2.0, -1.0):
        bounds, block = seen(space, rocks=((1, 2, 1, 1), number))
        with pytest.raises(ProtocolError, match=r"observation.rocks\[3\]: -?[12], step 1 of column 2"):
            bounds.check(block)


@pytest.mark.parametrize(
    ("place", "number", "is_outside"),
    [
        ((0, 0, 0), -1.0, False),
        ((0, 0, 0), -1.5, True),
        ((2, 1, 1), 1e30, False),
        ((2, 1, 2), 0.2, False),  # as 32 bits have it
        ((2, 1, 2), 0.3, True),
        ((2, 1, 0), -MOST, False),
    ],
)
def test_hostile_08_boxes_are_looked_at_element_by_element(
    place: tuple[int, ...], number: float, is_outside: bool
) -> None:
    low: list[float] = [-1.0, -MOST, -1.0]
    space = BoxSpace(shape=[3], low=low, high=[1.0, MOST, 0.2])
    bounds, block = seen(space, obs=(place, number))
    if number == -MOST:
        space = BoxSpace(shape=[3], low=None, high=1.0)
        bounds = Bounds(described(observation=space))
    found = bounds.outside(block)
    assert (found is not None) == is_outside
    if found is not None:
        step, column, element = place
        assert found == f"observation.obs[{element}]: {number:g}, step {step} of column {column}"


def test_hostile_08_the_last_observation_of_a_truncated_episode_is_looked_at_too() -> None:
    bounds, block = seen(BoxSpace(shape=[1], low=0.0, high=1.0))
    for number, is_outside in ((1.0, False), (1.5, True)):
        final = FinalObservations(
            step=from_numpy(np.array([1], np.int32)),
            column=from_numpy(np.array([2], np.int32)),
            observation={"obs": from_numpy(np.full((1, 1), number, np.float32))},
            value=from_numpy(np.zeros(1, np.float32)),
            recurrent_state={},
        )
        found = bounds.outside(block.model_copy(update={"final_observations": final}))
        assert found == ("final_observations.observation.obs[0]: 1.5" if is_outside else None)


def test_hostile_08_a_guests_block_is_looked_at_before_it_counts_and_that_of_the_admins_own_is_not() -> None:
    driven = DrivenCore(small_config(), described(reward=RewardRange(low=0, high=10)))
    driven.host()
    driven.join(10, 0)
    driven.tier = "invited"
    driven.join(11, 1, host_id="1" * 32)
    driven.ready()
    for connection_id, is_guest in ((10, False), (11, True)):
        block = next(
            message for message in driven.workers[connection_id].play() if isinstance(message, Block)
        )
        forged = block.model_copy(update={"reward": from_numpy(np.full((4, 3), 50, np.float32))})
        if is_guest:
            with pytest.raises(ProtocolError, match=r"block\.reward"):
                driven.block(connection_id, forged)
        else:
            assert driven.block(connection_id, forged).accepted


def test_E9_what_is_left_of_an_agent_that_takes_no_part_is_outside_of_nothing() -> None:
    bounds, block = seen(BoxSpace(shape=[1], low=0.0, high=1.0), obs=((2, 1, 0), 7.0))
    assert bounds.outside(block) is not None
    valid = np.ones((4, 3), np.uint8)
    valid[2, 1] = 0
    assert bounds.outside(block.model_copy(update={"valid": from_numpy(valid)})) is None


class Guests:
    """A worker of the admin's own on connection 10, a guest on 11; the game's box ends at `high`."""

    def __init__(self, high: float = 1e6, *, is_audited: bool = False) -> None:
        description = described(observation=BoxSpace(shape=[2], low=-1e6, high=high))
        self.driven = DrivenCore(small_config(secret=1), description)
        self.driven.host()
        self.driven.join(10, 0)
        self.driven.tier = "invited"
        self.driven.join(11, 1, host_id="1" * 32)
        self.driven.ready()
        if not is_audited:
            # The fake worker answers no replay.
            self.driven.give(trust_handlers.game_checked, [finding("random")])

    def play(self, connection_id: int, *, change: float = 0.0) -> None:
        for message in self.driven.workers[connection_id].play():
            if change and isinstance(message, Block):
                numbers = np.full((4, message.slot_id.shape[0], 2), change, np.float32)
                message = message.model_copy(update={"observation": {"obs": from_numpy(numbers)}})
            self.driven.say(connection_id, message)

    def answer_to(self, connection_id: int, change: float) -> BlockAck:
        """What its next block with such numbers is told."""
        for _ in range(20):
            before = len(self.driven.acks)
            self.play(connection_id, change=change)
            if len(self.driven.acks) > before:
                return self.driven.acks[before]
            self.round()
        raise AssertionError("it gets no lease any more")

    def round(self) -> None:
        self.play(10)
        self.play(11)
        if self.driven.updating:
            self.driven.publish()

    @property
    def notes(self) -> list[str]:
        return [f"{note.kind}: {note.text}" for note in self.driven.wanted(effects.Note)]


def test_hostile_08_outside_of_its_box_a_guests_segment_is_refused_and_nobody_accused() -> None:
    world = Guests()
    assert world.answer_to(11, 2e6).accepted, "nobody has shown yet that the game keeps to its box"
    world = Guests()
    bounds = world.driven.core.require_described().bounds
    for _ in range(CONTROLS):
        bounds.control(played_block(num_slots=3, horizon=4))
    refused = world.answer_to(11, 2e6)
    assert not refused.accepted
    assert "outside of the game's own box: observation.obs[0]: 2e+06" in (refused.reason or "")
    (note,) = [note for note in world.notes if note.startswith("bounds:")]
    assert "were refused" in note
    assert world.driven.core.conduct.num_out == 0
    # Those of the admin's own are not looked at any more.
    assert world.answer_to(10, 2e6).accepted


def test_hostile_08_where_the_admins_own_workers_leave_the_box_no_guest_is_held_to_it() -> None:
    world = Guests(high=0.5)
    for _ in range(CONTROLS + 2):
        world.round()
    assert all(ack.accepted for ack in world.driven.acks)
    (note,) = [note for note in world.notes if note.startswith("bounds:")]
    assert "a worker of the admin's own is outside as well: observation.obs" in note


def finding(finding_id: str) -> CheckFinding:
    return CheckFinding(
        id=finding_id,
        severity="error",
        text=f"it does {finding_id}",
        fix="",
        file=None,
        line=None,
        column=None,
        stack=None,
    )


def test_hostile_08_what_check_finds_out_of_bounds_binds_no_guest() -> None:
    world = Guests()
    world.driven.give(trust_handlers.game_checked, [finding("out-of-bounds")])
    for _ in range(3 * CONTROLS):
        world.round()
    assert world.answer_to(11, 2e6).accepted


@pytest.mark.parametrize("found", ["random", "clock", "not-reproducible", "state-survives-start"])
def test_C10_what_check_finds_switches_the_audit_off_before_anybody_is_accused(found: str) -> None:
    world = Guests(is_audited=True)
    world.driven.give(trust_handlers.game_checked, [finding("no-draw"), finding(found)])
    (note,) = [note for note in world.notes if note.startswith("audit:")]
    assert note == (
        "audit: what visitors play is not verified: `attract check` found that the game cannot be replayed: "
        f"it does {found}"
    )
    for _ in range(3):
        world.round()
    assert {lease.purpose for lease in world.driven.leases()} == {"train"}
    sound = Guests(is_audited=True)
    sound.driven.give(trust_handlers.game_checked, [finding("no-draw")])
    assert sound.notes == []
    for _ in range(3):
        sound.round()
    assert "replay" in {lease.purpose for lease in sound.driven.leases()}
