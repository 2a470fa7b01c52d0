"""Damaged frames through decoder and block check: each is refused for a reason, or is a message in bounds."""

import tracemalloc
from collections import Counter

import pytest

from attract.errors import ProtocolError
from attract.experience.store import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema import frames
from attract.schema.messages import Block
from blocks import played_block
from fake_worker import counting_description
from mutants_of_frames import golden_frames, mutants

SEED = 20261122
HORIZON = 4
MAX_PEAK_BYTES = 8 << 20


def judge(number: int) -> Counter[str]:
    """How many of so many damaged frames ended how; any other exception is a defect."""
    layout = StoreLayout.for_run(counting_description(), PolicyLayout(), HORIZON, capacity=64)
    block = frames.encode(played_block(horizon=HORIZON))
    outcomes: Counter[str] = Counter()
    for data in mutants([*golden_frames(), block, block], number, SEED):
        try:
            message = frames.decode_from_browser(data)
            if isinstance(message, Block):
                check_block(message, layout)
                outcomes["a block that may be taken"] += 1
            else:
                outcomes["a message"] += 1
        except ProtocolError as error:
            assert len(str(error)) < 1000, "a refusal travels in a frame and stays readable"
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {SEED}: {data!r}") from error
    return outcomes


@pytest.mark.parametrize("number", [40_000, pytest.param(150_000, marks=pytest.mark.long)])
def test_no_damaged_frame_is_more_than_refused(number: int) -> None:
    tracemalloc.start()
    try:
        judge(2000)
        assert tracemalloc.get_traced_memory()[1] < MAX_PEAK_BYTES
    finally:
        tracemalloc.stop()
    outcomes = judge(number)
    print(outcomes)
    assert outcomes["refused"] > outcomes["a message"] > 0 < outcomes["a block that may be taken"]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_none_of_5_000_000_damaged_frames_is_more_than_refused() -> None:
    print(judge(5_000_000))
