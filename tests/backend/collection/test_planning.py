import sys
from pathlib import Path
from types import FrameType
from typing import Any

import attract.collection.planning as planning
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
