"""One group of slots: what a worker's answer may be, and what is left of it when it may not."""

from typing import Any

import numpy as np
import pytest

from attract.errors import ProtocolError
from attract.schema.messages import Observe
from attract.schema.tensor import from_numpy
from attract.vector.batch import VectorLayout
from attract.vector.group import Group, Part
from fake_worker import counting_description
from step_server import FakeStepServer

LAYOUT = VectorLayout.for_game(counting_description(observation_size=4, max_steps=None), 64)
FIRST, SECOND = np.array([0, 1]), np.array([6, 7])


def group() -> Group:
    """Workers 0 and 1 with two games each, from row 10 on."""
    return Group(LAYOUT, 1, 10, [Part(0, 1, FIRST), Part(1, 1, SECOND)])


class Driven:
    """A group whose two workers have said what they see."""

    def __init__(self, episode_steps: int = 3) -> None:
        self.group = group()
        self.games = FakeStepServer(1, episode_steps)
        self.group.order(None, 0.0)
        for place, ids in enumerate((FIRST, SECOND)):
            self.group.take(self.group.members[place], self.games.answer(ids, 1, None))

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.group.order(np.zeros(4, np.int32), 1.0)
            for place, ids in enumerate((FIRST, SECOND)):
                self.group.take(self.group.members[place], self.games.answer(ids, 1, np.zeros(2)))

    def asked(self) -> Observe:
        """The first worker's true answer to a step that was just asked for."""
        self.group.order(np.zeros(4, np.int32), 1.0)
        return self.games.answer(FIRST, 1, np.zeros(2))


def test_parts_stand_side_by_side():
    one = group()
    assert one.slot_id.tolist() == [0, 1, 6, 7]
    assert one.slots == slice(10, 14)
    assert [(member.part.worker_id, member.columns) for member in one.members] == [
        (0, slice(0, 2)),
        (1, slice(2, 4)),
    ]
    assert list(one.members_of(1)) == [one.members[1]]
    assert list(one.members_of(9)) == []


def test_agents_of_a_game_are_neighbours():
    layout = VectorLayout.for_game(counting_description(num_agents=2), 4)
    assert Group(layout, 0, 0, [Part(0, 0, np.array([3, 5]))]).slot_id.tolist() == [6, 7, 10, 11]


def test_each_worker_is_sent_its_own_actions():
    one = group()
    orders = one.order(np.array([1, 2, 3, 4]), 5.0)
    assert [(order.worker_id, order.group) for order in orders] == [(0, 1), (1, 1)]
    assert [order.action.tolist() for order in orders if order.action is not None] == [[1, 2], [3, 4]]
    assert not one.is_complete
    assert [member.ordered_at for member in one.members] == [5.0, 5.0]


def test_what_came_is_delivered_side_by_side_and_counted():
    driven = Driven()
    looked = driven.group.deliver(counted=False)
    assert (looked.num_outcomes, looked.valid.any(), looked.active.all()) == (0, False, True)
    driven.step(3)
    batch = driven.group.deliver(counted=True)
    assert driven.group.is_complete
    assert (batch.group, batch.num_outcomes, batch.step_seconds) == (1, 1, 0.001)
    assert batch.reward.tolist() == [3.0] * 4
    assert batch.slot_step.tolist() == [3] * 4
    # Even games terminate after three steps, odd ones are truncated with what they saw before the reset.
    assert batch.terminated.tolist() == [True, False, True, False]
    assert batch.truncated.tolist() == [False, True, False, True]
    assert batch.final_column.tolist() == [1, 3]
    assert batch.final_observation["obs"].tolist() == [[1, 3, 0, 0.5], [7, 3, 0, 0.5]]
    assert [episode.instance_id for episode in batch.episodes] == [0, 1, 6, 7]
    driven.step()
    later = driven.group.deliver(counted=True)
    assert (later.num_outcomes, len(later.episodes), later.final_column.tolist()) == (2, 0, [])
    assert later.final_observation["obs"].shape == (0, 4)


def outcome(**changes: Any) -> Any:
    return lambda true: {"outcome": true.outcome.model_copy(update=changes)}


def flags(*values: int) -> Any:
    return from_numpy(np.array(values, np.uint8))


def ticks(*values: int) -> Any:
    return from_numpy(np.array(values, np.uint16))


FLOATS = from_numpy(np.zeros((1, 4), np.float32))
EPISODE = {"episode": 0, "step": 0, "returns": [1.0], "length_steps": 1, "length_ticks": 1}


def episodes_of(*instances: int, returns: int = 1) -> Any:
    """Episodes that end now, of these games."""
    from attract.schema.messages import EpisodeResult

    values = EPISODE | {"returns": [1.0] * returns, "end_reason": "cut"}
    return outcome(
        episodes=[EpisodeResult.model_validate(values | {"instance_id": instance}) for instance in instances]
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda _true: {"step": 5}, "observe.step: 5 after 0"),
        (lambda _true: {"active": flags(1)}, "observe.active"),
        (lambda _true: {"episode": from_numpy(np.zeros(3, np.int32))}, "observe.episode"),
        (lambda _true: {"observation": {}}, "observe.observation: keys"),
        (lambda _true: {"observation": {"obs": FLOATS}}, "observe.observation.obs"),
        (outcome(reward=from_numpy(np.zeros(3, np.float32))), "observe.reward"),
        (outcome(terminated=flags(1, 0), truncated=flags(1, 0)), "observe.truncated: set beside terminated"),
        (outcome(executed_ticks=ticks(3, 1)), "observe.executed_ticks: 1 to 3"),
        (outcome(executed_ticks=ticks(0, 1)), "observe.executed_ticks: 0 to 1"),
        (outcome(valid=flags(0, 1)), "observe.reward, observe.terminated, observe.truncated"),
        (outcome(truncated=flags(1, 0)), "observe.final_column: missing"),
        (
            outcome(final_column=from_numpy(np.array([0], np.int32)), final_observation={"obs": FLOATS}),
            "observe.final_column: [0]",
        ),
        (episodes_of(6), "observe.episodes.instance_id: 6"),
        (episodes_of(0, 0), "observe.episodes.instance_id: 0"),
        (episodes_of(0, returns=2), "observe.episodes.returns: 2 entries"),
    ],
)
def test_an_answer_that_cannot_be_is_named_and_changes_nothing(change: Any, says: str):
    driven = Driven()
    true = driven.asked()
    with pytest.raises(ProtocolError) as refused:
        driven.group.take(driven.group.members[0], true.model_copy(update=change(true)))
    assert refused.value.reason.startswith(says)
    assert refused.value.fix
    assert driven.group.members[0].ordered_at == 1.0, "still awaited"
    batch = driven.group.deliver(counted=False)
    assert batch.slot_step.tolist() == [0] * 4
    assert (batch.reward.tolist(), batch.episodes) == ([0.0] * 4, ())
    driven.group.take(driven.group.members[0], true)
    assert driven.group.deliver(counted=False).reward.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_E9_an_invalid_step_has_no_reward_and_ends_nothing():
    driven = Driven()
    true = driven.asked()
    nothing = {
        "valid": flags(0, 1),
        "executed_ticks": ticks(0, 1),
        "reward": from_numpy(np.array([0, 2], np.float32)),
    }
    driven.group.take(driven.group.members[0], true.model_copy(update=outcome(**nothing)(true)))
    assert driven.group.deliver(counted=True).valid.tolist() == [False, True, False, False]


def test_I1_a_lost_worker_is_awaited_no_more_and_its_steps_are_invalid():
    driven = Driven()
    driven.step()
    driven.group.order(np.zeros(4, np.int32), 2.0)
    driven.group.lose(driven.group.members[1])
    driven.group.take(driven.group.members[0], driven.games.answer(FIRST, 1, np.zeros(2)))
    batch = driven.group.deliver(counted=True)
    assert batch.valid.tolist() == [True, True, False, False]
    assert batch.active.tolist() == [True, True, False, False]
    assert batch.reward.tolist() == [2.0, 2.0, 0.0, 0.0]
    # What it saw last stays; it is asked for nothing any more.
    assert batch.observation["obs"][2:, 1].tolist() == [1.0, 1.0]
    assert [order.worker_id for order in driven.group.order(np.zeros(4, np.int32), 3.0)] == [0]


def test_a_mask_is_needed_where_the_game_has_one():
    game = counting_description(observation_size=4, max_steps=None).model_copy(update={"action_mask": True})
    one = Group(VectorLayout.for_game(game, 4), 1, 0, [Part(0, 1, FIRST)])
    one.order(None, 0.0)
    answer = FakeStepServer(1).answer(FIRST, 1, None)
    with pytest.raises(ProtocolError, match=r"observe\.action_mask: missing"):
        one.take(one.members[0], answer)
    mask = np.array([[1, 0, 1], [0, 1, 1]], np.uint8)
    one.take(one.members[0], answer.model_copy(update={"action_mask": from_numpy(mask)}))
    allowed = one.deliver(counted=False).action_mask
    assert allowed is not None
    assert allowed.tolist() == mask.astype(bool).tolist()
