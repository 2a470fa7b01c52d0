"""How far a run is with what comes before its first update."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract.collection.beginning import beginning_of, beginning_text
from attract.collection.config import MAX_WARMUP_SECONDS
from attract.schema.api import BeginningView
from attract.schema.messages import Progress
from driven_core import DrivenCore, small_config

BEGINNINGS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "beginnings.json").read_text())


def stage(driven: DrivenCore) -> tuple[str, int, int] | None:
    beginning = beginning_of(driven.core, driven.now)
    return None if beginning is None else (beginning.stage, beginning.steps, beginning.total_steps)


def report(driven: DrivenCore, connection_id: int, steps: int) -> None:
    """The worker says that each slot of its newest lease has played so many steps."""
    lease = driven.leases(connection_id)[-1]
    driven.say(connection_id, Progress(run_id="run-1", lease_id=lease.lease_id, steps=steps))


def test_each_stage_is_told_with_its_steps_until_the_first_update() -> None:
    driven = DrivenCore(small_config(warmup_steps=40))
    driven.wait(1.0)
    assert stage(driven) == ("game", 0, 0)
    driven.host()
    assert stage(driven) == ("learner", 0, 0)
    driven.ready(needs_warmup=True)
    driven.join(10, 0)
    assert stage(driven) == ("workers", 0, 0)
    driven.join(11, 1)
    # Two workers of three slots play two segments of four steps: 48 steps, of which 3 x 3 are told of.
    assert stage(driven) == ("warmup", 0, 48)
    report(driven, 10, 3)
    assert stage(driven) == ("warmup", 9, 48)
    driven.play(10, 1)
    assert stage(driven) == ("warmup", 12, 48)
    driven.play(10, 1)
    driven.play(11, 2)
    assert stage(driven) == ("learner", 0, 0)
    driven.publish()
    # The first batch: a segment of each of six slots.
    assert stage(driven) == ("batch", 0, 24)
    driven.play(10)
    assert stage(driven) == ("batch", 12, 24)
    driven.play(11)
    assert stage(driven) == ("update", 0, 0)
    driven.publish()
    assert stage(driven) is None


def test_seconds_are_those_of_the_stage_and_a_bounded_warm_up_says_so() -> None:
    for schedule, bound in (("overlap", MAX_WARMUP_SECONDS), ("sync", None)):
        driven = warming_up(schedule=schedule)
        driven.wait(4.0)
        beginning = beginning_of(driven.core, driven.now)
        assert beginning is not None
        assert (beginning.stage, beginning.seconds, beginning.max_seconds) == ("warmup", 4.0, bound)


def warming_up(**changes: Any) -> DrivenCore:
    """Two workers whose warm-up began at 100 s."""
    driven = DrivenCore(small_config(warmup_steps=40, **changes))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.wait(100.0)
    driven.ready(needs_warmup=True)
    return driven


@pytest.mark.parametrize("case", BEGINNINGS, ids=[case["text"] for case in BEGINNINGS])
def test_what_comes_before_the_first_update_is_told_with_steps_speed_and_time_left(
    case: dict[str, Any],
) -> None:
    assert beginning_text(BeginningView.model_validate(case["beginning"])) == case["text"]
