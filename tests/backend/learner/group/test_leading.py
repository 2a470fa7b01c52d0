import json

import pytest
import torch

from attract.errors import GroupError
from attract.learner.checkpoints.checkpoint import Snapshot, versions_in
from attract.learner.group.leading import broadcast_state, join_update
from attract.schema.learner import Counters, Export, Train, Warmup
from cell_processes import Beside, part, start_cells
from learner_world import LearnerHere, SignsFleet, begin_for, train_message

HORIZON, SLOTS = 8, 4


def snapshot(version=3):
    tensors = {"weight": torch.ones(2), "return_statistics.slots.slot": torch.ones(2)}
    return Snapshot.take(version, tensors, {"weight/step": torch.ones(())}, {"policy_version": version})


def led_by(kind):
    leader = Beside()
    assert broadcast_state(leader, snapshot(), kind) is None
    return tuple(leader.words)


def test_D2_the_others_have_what_cell_0_has_but_for_its_slots():
    found = broadcast_state(Beside(rank=1, led=led_by({"seed": 1})), snapshot(0), {"seed": 1})
    assert found is not None and found.policy_version == 3
    assert list(found.policy) == ["weight"] and list(found.optimizer) == ["weight/step"]


def test_0064_a_cell_that_trains_something_else_is_refused_for_good():
    with pytest.raises(GroupError, match="cell 1 and cell 0 differ in seed") as refused:
        broadcast_state(
            Beside(rank=1, led=led_by({"seed": 1, "game": "a"})), snapshot(0), {"seed": 2, "game": "a"}
        )
    assert refused.value.is_final


def train(**counters):
    return Train(
        batch_id=0,
        rows=[0],
        verify_rows=[],
        verify="all",
        counters=Counters(**counters),
        curriculum={"own": 1},
    )


def test_T4_counters_are_those_of_all_cells_together():
    before = Counters(collected_steps=100, agent_steps=90, ticks=100, episodes=7, updates=3)
    mine = train(collected_steps=132, agent_steps=120, ticks=140, episodes=8, updates=4)
    # can_learn, version, then what it has played since: collected, agent, ticks, episodes, index, updates.
    theirs = torch.tensor([1, 3, 64, 60, 64, 2, 2, 0])
    led = json.dumps({"lesson": 2}).encode()
    joined = join_update(Beside(theirs, rank=0, led=(led,)), mine, before, 3, 30, can_learn=True)
    assert joined.can_learn and joined.state.curriculum == {"lesson": 2}
    assert joined.state.counters == Counters(
        collected_steps=196, agent_steps=180, ticks=204, episodes=10, global_episode_index=2, updates=4
    )


def test_0064_one_without_anything_to_learn_from_is_enough_and_another_version_is_an_error():
    before, theirs = Counters(), torch.tensor([0, 3, 0, 0, 0, 0, 0, 0])
    assert not join_update(Beside(theirs), train(), before, 3, 0, can_learn=True).can_learn
    with pytest.raises(GroupError, match=r"cells are at versions \[4, 3\]"):
        join_update(Beside(theirs), train(), before, 4, 0, can_learn=True)


def learns(folder, num_updates, connection, group):
    """A learner with a fleet of its own; gives what it said of each version."""
    own = folder / str(group.rank)
    own.mkdir(exist_ok=True)
    fleet = SignsFleet(own / "store", num_slots=SLOTS, horizon=HORIZON, seed=group.rank)
    begin = begin_for(fleet, own / "run", resume=bool(versions_in(own / "run" / "checkpoints")))
    published = []
    with LearnerHere(begin, group=group) as here:
        version, onnx = here.ready.policy_version, here.ready.onnx
        base = here.ready.counters
        if here.ready.needs_warmup:
            first = here.ask(Warmup(rows=fleet.play(None, 0)))
            onnx = first.onnx
        for number in range(num_updates):
            message = train_message(number, fleet.play(onnx, version), HORIZON)
            counters = base.model_copy(
                update={
                    "collected_steps": base.collected_steps + SLOTS * HORIZON,
                    "episodes": base.episodes + 1,
                }
            )
            one = here.ask(
                message.model_copy(update={"counters": counters, "curriculum": {"of": group.rank}})
            )
            base, onnx, version = one.group.counters, one.onnx, one.policy_version
            is_led = (folder / "0" / "run" / "checkpoints" / str(version)).is_dir()
            published.append((version, one.weights_sha256, one.group.model_dump(), is_led))
        part(group)
        exported = here.ask(Export(out_dir=str(own / "export")))
        assert exported.error is None
    fleet.close()
    return published


def test_D1_D2_whole_learners_hold_the_same_versions_and_go_on_from_cell_0s(tmp_path):
    def run():
        return [cell.said() for cell in start_cells(2, learns, tmp_path, 3)]

    first, second = run()
    assert first == second
    assert [line[0] for line in first] == [1, 2, 3] and len({line[1] for line in first}) == 3
    # Nobody announced a version before it was on cell 0's disk.
    assert all(line[3] for line in first)
    assert first[-1][2]["counters"]["collected_steps"] == 3 * 2 * SLOTS * HORIZON
    assert first[-1][2]["counters"]["episodes"] == 6
    assert first[-1][2]["curriculum"] == {"of": 0}
    # Cell 0 has lost version 3, so the other cell's copy of it was never announced.
    lost = tmp_path / "0" / "run" / "checkpoints" / "3"
    lost.rename(lost.parent / "lost")
    later, other = run()
    assert later == other
    assert [line[0] for line in later] == [3, 4, 5]
    assert (tmp_path / "1" / "run" / "checkpoints" / "3.broken-0").is_dir()
    assert later[-1][2]["counters"]["collected_steps"] == 5 * 2 * SLOTS * HORIZON
