"""What a packed observation says of itself."""

import pytest
from pydantic import ValidationError

from attract.schema.messages import Block
from attract.schema.pictures import CONTINUES, REPEATS, WHOLE, PackedPictures
from blocks import played_block


def test_kinds_are_the_bytes_that_workers_write() -> None:
    # `web/worker/src/rollout/stack-packer.ts` has the same three.
    assert (CONTINUES, REPEATS, WHOLE) == (0, 1, 2)


def test_nothing_is_packed_unless_a_block_says_so() -> None:
    assert played_block().packed == {}
    assert PackedPictures() == PackedPictures(stacks=None, deflated=False)


def test_stacks_are_described_whole() -> None:
    plain = played_block().model_dump()
    with pytest.raises(ValidationError, match=r"packed\.obs\.stacks\.bootstrap"):
        Block.model_validate({**plain, "packed": {"obs": {"stacks": {"step": plain["valid"]}}}})
