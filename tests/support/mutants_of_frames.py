"""Frames of browsers, damaged in ways that a fuzzer finds: bits, lengths, splices, values of other kinds."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack

GOLDEN = Path(__file__).resolve().parents[2] / "shared_schema" / "golden" / "server"
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**53, 2**63 - 1, 1.5, float("nan"), float("inf"), 1.7e308),
    *("", "x" * 200, "\x00\x1b[2J\n", b"", b"\x00" * 64, [], {}, [[]], {"": 0}, [0] * 65),
)
"""Values put in the place of others."""


def golden_frames() -> list[bytes]:
    """Every message that a browser can send, as the golden frames have it."""
    return [path.read_bytes() for path in sorted(GOLDEN.glob("from_browser.*.bin"))]


def mutants(
    frames: list[bytes], number: int, seed: int, *, share_of_structure: float = 0.3
) -> Iterator[bytes]:
    """`number` damaged frames: that share in their structure, the others in their bytes."""
    draws = random.Random(seed)
    trees = [ormsgpack.unpackb(frame) for frame in frames]
    for _ in range(number):
        if draws.random() < share_of_structure:
            yield ormsgpack.packb(_changed(draws.choice(trees), draws))
        else:
            yield _damaged(draws.choice(frames), frames, draws)


def _damaged(frame: bytes, frames: list[bytes], draws: random.Random) -> bytes:
    data = bytearray(frame)
    at = draws.randrange(len(data))
    match draws.randrange(5):
        case 0:
            for _ in range(draws.randint(1, 4)):
                data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
        case 1:
            data[at] = draws.randrange(256)
        case 2:
            del data[at : at + draws.randint(1, 16)]
        case 3:
            data[at:at] = draws.randbytes(draws.randint(1, 16))
        case _:
            other = draws.choice(frames)
            data[at:] = other[draws.randrange(len(other)) :]
    return bytes(data)


def _changed(tree: Any, draws: random.Random) -> Any:
    """A copy of `tree` with one value, somewhere in it, changed, left out or doubled."""
    if isinstance(tree, dict) and tree:
        key = draws.choice(list(tree))
        match draws.randrange(8):
            case 0:
                return {name: value for name, value in tree.items() if name != key}
            case 1:
                return {**tree, draws.choice(["surprise", "", "type", key + "_"]): draws.choice(ODD)}
            case 2:
                return {**tree, key: draws.choice(ODD)}
            case _:
                return {**tree, key: _changed(tree[key], draws)}
    if isinstance(tree, list) and tree:
        at = draws.randrange(len(tree))
        match draws.randrange(4):
            case 0:
                return tree[:at] + tree[at + 1 :]
            case 1:
                return [*tree, tree[at]]
            case _:
                return [*tree[:at], _changed(tree[at], draws), *tree[at + 1 :]]
    if isinstance(tree, bytes) and tree:
        return tree[: draws.randrange(len(tree))] if draws.random() < 0.3 else draws.randbytes(len(tree))
    return draws.choice(ODD)
