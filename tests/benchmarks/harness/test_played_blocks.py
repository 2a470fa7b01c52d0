"""What the benchmark's fleet sends is what a gateway takes."""

import pytest

from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema.frames import decode_from_browser
from attract.schema.game import GameReference
from attract.schema.messages import Block, WelcomeWorker
from attract_benchmarks.harness.played_blocks import CARTPOLE, PlayedBlocks
from blocks import SEED, train_lease

WELCOME = WelcomeWorker(
    run_id="run-1",
    worker_id=3,
    game=GameReference(name="cartpole", sha256="ab" * 32, url="games/x.js"),
    description=CARTPOLE,
    instance_ids=list(range(40, 136)),
    seed=SEED,
    horizon=64,
    max_frame_bytes=1 << 18,
)


def test_each_segment_of_a_lease_is_a_usable_block_that_follows_the_one_before():
    blocks = PlayedBlocks(WELCOME)
    layout = StoreLayout.for_run(CARTPOLE, PolicyLayout(), 64, 96)
    seen: list[tuple[int, int, int, int]] = []
    for lease in (train_lease(7, version=0, num_segments=2), train_lease(9, version=1)):
        for frame in blocks.frames(lease):
            block = decode_from_browser(frame)
            assert isinstance(block, Block)
            arrays = check_block(block, layout)
            assert arrays["slot_id"].tolist() == WELCOME.instance_ids
            assert set(block.episodes.end_reason) == {"terminated", "time_limit"}
            first = set(arrays["first_step"].tolist())
            seen.append((block.lease_id, block.segment_index, block.policy_version, *first))
    assert seen == [(7, 0, 0, 0), (7, 1, 0, 64), (9, 0, 1, 128)]


def test_a_segment_that_does_not_fit_a_frame_is_refused():
    with pytest.raises(RuntimeError, match="expected frames of at most 100000 bytes"):
        PlayedBlocks(WELCOME.model_copy(update={"max_frame_bytes": 100_000}))
