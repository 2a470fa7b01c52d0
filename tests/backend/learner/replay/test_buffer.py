"""The replay buffer against a list of all steps ever added, and by hand."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import ConfigurationError
from attract.experience.batch import Batch, Finals, load_batch
from attract.learner.replay.buffer import ReplayBuffer, Transitions, columns_of
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
)
from attract.settings.run import PolicySettings
from batches import PlayedFleet
from fake_worker import counting_description

GAMMA = 0.5
CPU = torch.device("cpu")


def make_batch(
    rewards: list[list[float]],
    *,
    first: int = 0,
    slots: list[int] | None = None,
    terminated: tuple[tuple[int, int], ...] = (),
    truncated: tuple[tuple[int, int], ...] = (),
    invalid: tuple[tuple[int, int], ...] = (),
    masked: bool = False,
    offset: float = 0.0,
) -> Batch:
    """`rewards` per step and column; the observation before step t of column s is 1000 s + first + t, that
    after the last step is half a step later, and a final one is negative."""
    reward = torch.tensor(rewards)
    horizon, columns = reward.shape

    def flags(places: tuple[tuple[int, int], ...]) -> torch.Tensor:
        found = torch.zeros(horizon, columns, dtype=torch.bool)
        for step, column in places:
            found[step, column] = True
        return found

    steps = first + torch.arange(horizon).unsqueeze(1) + 1000.0 * torch.arange(columns) + offset
    cut = [place for place in truncated if place not in terminated]
    finals = Finals(
        torch.tensor([step for step, _ in cut], dtype=torch.int64),
        torch.tensor([column for _, column in cut], dtype=torch.int64),
        {"obs": torch.tensor([-float(steps[place]) - 1 for place in cut])},
    )
    zeros = torch.zeros(horizon, columns)
    return Batch(
        observation={"obs": steps},
        action=torch.ones(horizon, columns, dtype=torch.int64),
        log_prob=zeros,
        value=zeros,
        reward=reward,
        final_value=zeros,
        terminated=flags(terminated),
        truncated=flags(truncated),
        valid=~flags(invalid),
        bootstrap_value=zeros[0],
        bootstrap_observation={"obs": steps[-1] + 0.5},
        finals=finals,
        slot_id=torch.tensor(slots or list(range(columns))),
        first_step=torch.full((columns,), first),
        policy_version=torch.zeros(columns, dtype=torch.int64),
        worker_id=torch.zeros(columns, dtype=torch.int64),
        action_mask=torch.ones(horizon, columns, 2, dtype=torch.bool) if masked else None,
    )


def buffer_with(*batches: Batch, rows: int = 1000) -> ReplayBuffer:
    buffer = ReplayBuffer(rows, 1 << 30, "dqn")
    for batch in batches:
        buffer.add(batch)
    return buffer


def drawable(buffer: ReplayBuffer) -> dict[float, int]:
    """The row of each observation that can be drawn."""
    generator = torch.Generator().manual_seed(0)
    rows = buffer.draw(4000, generator, gamma=0.0, n_steps=1, divisor=None).start.unique()
    assert len(rows) == buffer.num_steps
    observed = buffer.observations(rows, CPU)["obs"]
    return dict(zip(observed.tolist(), rows.tolist(), strict=True))


def from_observation(
    buffer: ReplayBuffer, observation: float, n_steps: int, divisor: float | None = None
) -> tuple[float, float, float]:
    """Rewards, discount, and the observation to bootstrap from."""
    start = torch.tensor([drawable(buffer)[observation]])
    found: Transitions = buffer.transitions(start, gamma=GAMMA, n_steps=n_steps, divisor=divisor)
    end = buffer.observations(found.end, CPU)["obs"]
    return float(found.rewards), float(found.discount), float(end)


def test_n_steps_within_a_segment_and_past_its_end_by_hand():
    buffer = buffer_with(make_batch([[1.0], [2.0], [4.0]]))
    assert from_observation(buffer, 0.0, 1) == (1.0, 0.5, 1.0)
    # 1 + 2 / 2, a quarter of what follows
    assert from_observation(buffer, 0.0, 2) == (2.0, 0.25, 2.0)
    # The segment ends after one step: its own bootstrap, though three were wanted.
    assert from_observation(buffer, 2.0, 3) == (4.0, 0.5, 2.5)
    buffer.add(make_batch([[8.0], [16.0], [32.0]], first=3))
    # Once the slot's next segment is there: 4 + 8 / 2 + 16 / 4, an eighth of what follows
    assert from_observation(buffer, 2.0, 3) == (12.0, 0.125, 5.0)


def test_E1_a_termination_has_no_future_and_a_truncation_bootstraps_from_its_final_observation():
    ended = make_batch([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]], terminated=((1, 0),), truncated=((1, 1),))
    buffer = buffer_with(ended)
    assert from_observation(buffer, 0.0, 3)[:2] == (2.0, 0.0)
    assert from_observation(buffer, 1000.0, 3) == (2.0, 0.25, -1002.0)
    # The next episode begins with the step after.
    assert from_observation(buffer, 2.0, 1) == (4.0, 0.5, 2.5)
    both = make_batch([[1.0]], terminated=((0, 0),), truncated=((0, 0),))
    assert from_observation(buffer_with(both), 0.0, 1)[:2] == (1.0, 0.0)


def test_S2_a_chain_ends_where_a_segment_is_missing_or_its_game_had_failed():
    gap = buffer_with(make_batch([[1.0], [2.0]]), make_batch([[4.0], [8.0]], first=4))
    assert from_observation(gap, 1.0, 2) == (2.0, 0.5, 1.5)
    failed = buffer_with(make_batch([[1.0], [2.0]]), make_batch([[4.0], [8.0]], first=2, invalid=((0, 0),)))
    assert from_observation(failed, 1.0, 2) == (2.0, 0.5, 1.5)
    # Within a segment there is no observation to bootstrap from.
    within = buffer_with(make_batch([[1.0], [2.0], [4.0]], invalid=((2, 0),)))
    assert from_observation(within, 0.0, 3) == (1.0, 0.5, 1.0)
    assert drawable(within).keys() == {0.0}


def test_with_masks_a_target_needs_an_observation_whose_allowed_actions_are_known():
    buffer = buffer_with(make_batch([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]], truncated=((1, 1),), masked=True))
    # Not the last step, nor the truncated one.
    assert drawable(buffer).keys() == {0.0, 1.0, 1000.0}
    assert from_observation(buffer, 1000.0, 3) == (1.0, 0.5, 1001.0)
    buffer.add(make_batch([[8.0, 8.0]], first=3, masked=True))
    assert drawable(buffer).keys() == {0.0, 1.0, 2.0, 1000.0, 1002.0}
    assert from_observation(buffer, 1.0, 2) == (4.0, 0.25, 3.0)


def test_P11_rewards_are_divided_when_drawn_and_clipped():
    buffer = buffer_with(make_batch([[3.0], [90.0]]))
    # 3 / 2 + 0.5 * min(10, 45)
    assert from_observation(buffer, 0.0, 2, divisor=2.0) == (6.5, 0.25, 1.5)


def test_bytes_stay_bytes_and_memory_has_its_bound():
    batch = make_batch([[1.0]] * 8)
    pictures = replace(
        batch,
        observation={"obs": torch.arange(8 * 100, dtype=torch.uint8).view(8, 1, 10, 10)},
        bootstrap_observation={"obs": torch.zeros(1, 10, 10, dtype=torch.uint8)},
    )
    buffer = ReplayBuffer(1000, 118 * 20, "dqn")
    # 100 of the picture, 4 of the action, 14 of the rest: 20 rows, two blocks of nine.
    for first in range(0, 80, 8):
        buffer.add(replace(pictures, first_step=torch.tensor([first])))
    assert buffer.num_bytes == 118 * 20
    found = buffer.observations(torch.tensor([0]), CPU)["obs"]
    assert found.dtype == torch.uint8 and found.shape == (1, 10, 10)


def test_a_buffer_that_an_update_does_not_fit_in_names_the_smallest_that_works():
    with pytest.raises(ConfigurationError, match=r"dqn.buffer_size: .* 8 rows.* 9:?.*\n.* works is 9"):
        buffer_with(make_batch([[1.0]] * 8), rows=8)
    small = ReplayBuffer(1000, 100, "dqn")
    with pytest.raises(ConfigurationError, match=r"dqn.buffer_mebibytes: .*\n.* works is 1"):
        small.add(make_batch([[1.0]] * 8))


def test_D2_rows_that_are_restored_are_drawn_as_before_and_the_next_segment_follows_none():
    one = buffer_with(
        make_batch([[1.0], [2.0]], masked=True), make_batch([[4.0], [8.0]], first=2, masked=True)
    )
    tensors, document = one.rows()
    other = buffer_with()
    other.restore({name: tensor.clone() for name, tensor in tensors.items()}, document)
    assert (other.num_steps, other.num_bytes) == (one.num_steps, one.num_bytes)
    for start in drawable(one):
        assert from_observation(one, start, 3) == from_observation(other, start, 3)
    rows = torch.arange(2)
    assert torch.equal(other.masks(rows, CPU), one.masks(rows, CPU))
    assert torch.equal(other.actions(rows, CPU), one.actions(rows, CPU))
    # What its slot plays next is another episode, as far as is known.
    for buffer in (one, other):
        buffer.add(make_batch([[16.0]], first=4, masked=True))
    assert drawable(one).keys() - drawable(other).keys() == {3.0}
    assert from_observation(other, 2.0, 3) == (4.0, 0.5, 3.0)


@pytest.mark.parametrize("spoilt", ["capacity", "next", "length", "written"])
def test_rows_that_do_not_fit_are_refused_and_nothing_is_taken_over(spoilt: str):
    tensors, document = buffer_with(make_batch([[1.0], [2.0]])).rows()
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    buffer = buffer_with(rows=10) if spoilt == "capacity" else buffer_with()
    if spoilt == "next":
        tensors["next"][0] = 3
    elif spoilt == "length":
        tensors["reward"] = tensors["reward"][:2]
    elif spoilt == "written":
        document["written"] = -1
    with pytest.raises(ValueError, match=r"room for|not there|expected"):
        buffer.restore(tensors, document)
    assert (buffer.num_steps, buffer.num_bytes) == (0, 0)
    buffer.add(make_batch([[1.0]]))
    assert buffer.num_steps == 1


def test_nothing_is_drawn_from_an_empty_buffer():
    with pytest.raises(RuntimeError, match="expected steps"):
        ReplayBuffer(10, 1000, "dqn").draw(1, torch.Generator(), gamma=1.0, n_steps=1, divisor=None)


@dataclass
class Node:
    """An observation that was ever added, and what is known of the step from it."""

    reward: float = 0.0
    is_terminated: bool = False
    following: float | None = None
    """The observation after; None: nothing is drawn from here."""


@st.composite
def blocks(draw: st.DrawFn) -> list[Batch]:
    """Blocks of two slots, some with a gap before them, with ends and invalid steps anywhere."""
    horizon, firsts, found = draw(st.integers(1, 3)), 0, list[Batch]()
    for number in range(draw(st.integers(1, 5))):
        firsts += draw(st.sampled_from([0, 0, 0, 7]))
        places = [(step, column) for step in range(horizon) for column in range(2)]

        def some(places: list[tuple[int, int]] = places) -> tuple[tuple[int, int], ...]:
            return tuple(place for place in places if draw(st.sampled_from([False, False, False, True])))

        rewards = draw(
            st.lists(
                st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=2),
                min_size=horizon,
                max_size=horizon,
            )
        )
        found.append(
            make_batch(
                rewards,
                first=firsts,
                terminated=some(),
                truncated=some(),
                invalid=some(),
                offset=10_000.0 * number,
            )
        )
        firsts += horizon
    return found


def remembered(batches: list[Batch], capacity: int) -> tuple[dict[float, Node], list[float]]:
    """All observations as a list of everything would have them, and the newest `capacity`."""
    nodes, order = dict[float, Node](), list[float]()
    last = dict[int, tuple[int, float]]()
    for batch in batches:
        horizon, columns = batch.valid.shape
        observed = batch.observation["obs"]
        for column in range(columns):
            after_all = float(batch.bootstrap_observation["obs"][column])
            order += [*observed[:, column].tolist(), after_all]
            nodes[after_all] = Node()
            first = int(batch.first_step[column])
            for step in range(horizon):
                here = float(observed[step, column])
                node = nodes[here] = Node(float(batch.reward[step, column]))
                if not batch.valid[step, column]:
                    continue
                node.is_terminated = bool(batch.terminated[step, column])
                if node.is_terminated:
                    node.following = here
                elif batch.truncated[step, column]:
                    node.following = -here - 1
                elif step + 1 == horizon:
                    node.following = after_all
                elif batch.valid[step + 1, column]:
                    node.following = float(observed[step + 1, column])
            if column in last and last[column][0] == first and batch.valid[0, column]:
                nodes[last[column][1]].following = float(observed[0, column])
            last.pop(column, None)
            if batch.valid[-1, column] and not (batch.terminated | batch.truncated)[-1, column]:
                last[column] = (first + horizon, float(observed[-1, column]))
        assert batch.finals is not None
        for final in batch.finals.observation["obs"].tolist():
            order.append(final)
            nodes[final] = Node()
    return nodes, order[-capacity:]


@settings(max_examples=300, deadline=None)
@given(blocks(), st.integers(0, 20), st.integers(1, 4))
def test_it_draws_what_a_list_of_all_steps_says(batches: list[Batch], room: int, n_steps: int):
    largest = max(2 * (batch.valid.shape[0] + 1) + len(batch.finals.step) for batch in batches)
    nodes, alive = remembered(batches, largest + room)
    buffer = buffer_with(*batches, rows=largest + room)
    expected = {place for place in alive if nodes[place].following is not None}
    assert buffer.num_steps == len(expected)
    if not expected:
        return
    rows = drawable(buffer)
    assert rows.keys() == expected
    found = buffer.transitions(torch.tensor(list(rows.values())), gamma=GAMMA, n_steps=n_steps, divisor=None)
    ends = buffer.observations(found.end, CPU)["obs"]
    for number, start in enumerate(rows):
        total, discount, place = 0.0, 1.0, start
        for _ in range(n_steps):
            node = nodes[place]
            if node.following is None:
                break
            total += discount * node.reward
            discount *= 0.0 if node.is_terminated else GAMMA
            place = node.following
            if node.is_terminated:
                break
        assert (float(found.rewards[number]), float(found.discount[number])) == (total, discount)
        assert discount == 0.0 or float(ends[number]) == place


@pytest.mark.parametrize(
    ("action", "masked"),
    [
        (DiscreteSpace(n=3), True),
        (MultiDiscreteSpace(nvec=[3, 2]), False),
        (MultiBinarySpace(n=4), False),
        (BoxSpace(shape=[2], low=-1.0, high=1.0), False),
    ],
)
def test_the_columns_of_a_game_are_what_its_buffer_has(tmp_path: Path, action: ActionSpace, masked: bool):
    spaces = {
        "one": BoxSpace(shape=[3]),
        "two": BoxSpace(shape=[2], dtype="uint8"),
        "bits": MultiBinarySpace(n=5),
    }
    changes = {"observation": DictSpace(spaces=spaces), "action": action, "action_mask": masked}
    fleet = PlayedFleet(
        tmp_path / "store", counting_description().model_copy(update=changes), PolicySettings()
    )
    batch = load_batch(fleet.store, fleet.play(None, 0)).at_version(0)
    tensors, _ = buffer_with(batch).rows()
    columns = columns_of(fleet.store.layout)
    assert {name: (str(tensor.numpy().dtype), tensor.shape[1:]) for name, tensor in tensors.items()} == {
        name: column[:2] for name, column in columns.items()
    }
