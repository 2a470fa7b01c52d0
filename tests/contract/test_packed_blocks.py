"""What the worker packs, the gateway makes whole again: the same bits as if nothing had been packed."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.unpacking import BlockUnpacker
from attract.experience.validate import check_block
from attract.schema.frames import decode_from_browser
from attract.schema.game import GameDescription
from attract.schema.messages import Block
from node_driver import bundle_driver

MAX_BYTES = 1 << 22
SEEDS = range(40)

Play = Callable[[list[dict[str, Any]]], list[list[dict[str, str]]]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """The blocks of random play in Node: pairs, packed and as they are."""
    return bundle_driver("packing-driver.ts", tmp_path_factory.mktemp("packing"), aliases={})


def case_of(seed: int) -> dict[str, Any]:
    """Sizes of one play, drawn."""
    drawn = random.Random(seed)
    return {
        "seed": seed,
        "depth": 1 + seed % 4,
        "channels": drawn.choice([1, 3]),
        "isDict": drawn.random() < 0.3,
        "rows": drawn.randint(1, 5),
        "columns": drawn.randint(1, 5),
        "slots": drawn.randint(1, 6),
        "horizon": drawn.randint(1, 9),
        "segments": 3,
    }


def description_of(case: dict[str, Any]) -> GameDescription:
    depth = case["depth"]
    pixels = {
        "kind": "box",
        "dtype": "uint8",
        "shape": [case["rows"], case["columns"], depth * case["channels"]],
    }
    both = {"kind": "dict", "spaces": {"time": {"kind": "box", "shape": [1]}, "a_picture": pixels}}
    key = "a_picture" if case["isDict"] else "obs"
    return GameDescription.model_validate(
        {
            "id": "Stacked-v1",
            "tick_seconds": 0.1,
            "seconds_per_step": 0.1,
            "ticks_per_step": 1,
            "max_seconds": None,
            "max_steps": None,
            "observation": both if case["isDict"] else pixels,
            "action": {"kind": "discrete", "n": 2},
            "picture_stacks": {key: depth} if depth > 1 else {},
        }
    )


def decoded(frame: str) -> Block:
    block = decode_from_browser(bytes.fromhex(frame))
    assert isinstance(block, Block)
    return block


def test_every_stack_is_rebuilt_bit_for_bit_wherever_episodes_end_and_blocks_are_cut(play: Play) -> None:
    cases = [case_of(seed) for seed in SEEDS]
    num_packed = num_finals = 0
    kinds: set[int] = set()
    for case, pairs in zip(cases, play(cases), strict=True):
        description = description_of(case)
        layout = StoreLayout.for_run(description, PolicyLayout(), case["horizon"], 8)
        unpacker = BlockUnpacker(layout, description.picture_stacks, MAX_BYTES)
        for pair in pairs:
            packed, plain = decoded(pair["packed"]), decoded(pair["plain"])
            assert bool(packed.packed) == (case["depth"] > 1), case
            for observation in packed.packed.values():
                assert observation.stacks is not None
                kinds |= {
                    *observation.stacks.step.data,
                    *observation.stacks.bootstrap.data,
                    *observation.stacks.final.data,
                }
                num_packed += 1
            num_finals += len(plain.final_observations.step.data) if plain.final_observations else 0
            unpacked = unpacker.unpack(packed)
            # Not only equal once read: the same message.
            assert unpacked == plain, case
            arrays, wanted = check_block_loosely(unpacked, layout), check_block_loosely(plain, layout)
            for name, values in wanted.items():
                assert np.array_equal(arrays[name], values), (case, name)
    assert num_packed > 100
    assert num_finals > 100
    assert kinds == {0, 1, 2}


def check_block_loosely(block: Block, layout: StoreLayout) -> dict[str, Any]:
    """As the gateway reads it, whatever place there is for final observations."""
    roomy = StoreLayout(
        horizon=layout.horizon,
        capacity=layout.capacity,
        num_finals=layout.horizon,
        ticks_per_step=layout.ticks_per_step,
        action_choices=layout.action_choices,
        fields=layout.fields,
    )
    return check_block(block, roomy)
