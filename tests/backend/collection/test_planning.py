import sys
from pathlib import Path
from types import FrameType
from typing import Any

import attract.collection.planning as planning
from attract.schema.messages import LeaseVoid
from driven_core import DrivenCore, small_config

PACKAGE = str(Path(planning.__file__).parent)


def lines_run(num_workers: int) -> int:
    """Lines of the core's own code that run while each worker plays one lease and the learner updates."""
    driven = DrivenCore(small_config(num_workers=num_workers, instances_per_worker=1))
    driven.host(max_workers=num_workers)
    for index in range(num_workers):
        driven.join(10 + index, index)
    driven.ready()
    lines = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        for index in range(num_workers):
            driven.play(10 + index)
        driven.publish()
    finally:
        sys.settrace(before)
    return lines


def test_the_cost_of_a_message_hardly_grows_with_the_fleet() -> None:
    # 8 if no message cost more in a fleet of 8 times the workers, 64 if each cost 8 times as much. What
    # grows is one pass over the open leases; with passes over all workers it was 50.
    assert lines_run(160) / lines_run(20) < 28


def beside_a_visitor() -> DrivenCore:
    """Two workers of the admin's own that have played (10, 11), and a visitor with its first lease (12)."""
    driven = DrivenCore.started(schedule="sync")
    driven.play(10)
    driven.play(11)
    driven.tier = "invited"
    driven.join(12, 0, host_id="1" * 32)
    driven.publish()
    assert len(driven.leases(12)) == 1
    return driven


def play_own(driven: DrivenCore) -> None:
    """The admin's own workers play what they have, replays too."""
    for _ in range(3):
        for connection_id in (10, 11):
            if driven.workers[connection_id].leases:
                driven.play(connection_id)


def test_hostile_D5_C2_batches_wait_for_a_visitor_once_it_has_played() -> None:
    driven = beside_a_visitor()
    for update in range(2, 5):
        play_own(driven)
        assert len(driven.trains) == update
        driven.publish()
    assert len(driven.leases(12)) == 1, "it still has time to load"
    driven.play(12)
    (refusal,) = [ack.reason for ack in driven.acks if not ack.accepted]
    assert refusal == "too old: played by version 1, the next update uses 4 up"
    play_own(driven)
    assert len(driven.trains) == 4
    driven.play(12)
    play_own(driven)
    assert len(driven.trains) == 5


def test_C2_a_first_block_that_is_too_old_shows_that_its_worker_plays() -> None:
    driven = beside_a_visitor()
    (first,) = driven.leases(12)
    play_own(driven)
    driven.publish()
    driven.play(12)
    assert driven.messages(LeaseVoid, 12)[-1].lease_id == first.lease_id
    play_own(driven)
    driven.publish()
    visitor = driven.core.fleet.by_id(2)
    assert visitor.has_played
    assert visitor.leases[0].is_awaited


def test_C2_a_visitor_that_plays_in_time_is_trained_on() -> None:
    driven = beside_a_visitor()
    driven.play(12)
    play_own(driven)
    batch = driven.core.learner.batch
    assert batch is not None
    assert {batch.worker_of(row) for row in batch.rows} == {0, 1, 2}
