"""Packed pictures are made whole again, or refused before they take any memory."""

import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attract.errors import ProtocolError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.unpacking import BlockUnpacker
from attract.experience.validate import check_block
from attract.schema.game import GameDescription
from attract.schema.messages import Block, FinalObservations, Tensor
from attract.schema.spaces import BoxSpace
from attract.schema.step_numbers import CONTINUES, REPEATS, WHOLE, PackedPictures, PackedStacks
from attract.schema.tensor import from_numpy
from blocks import played_block
from fake_worker import counting_description

HORIZON, DEPTH = 4, 3
GAME = counting_description().model_copy(
    update={"observation": BoxSpace(dtype="uint8", shape=[2, 1, DEPTH]), "picture_stacks": {"obs": DEPTH}}
)
LAYOUT = StoreLayout.for_run(GAME, PolicyLayout(), HORIZON, 8)
UNPACKER = BlockUnpacker(LAYOUT, GAME.picture_stacks, 1 << 16)


def bytes_of(*rows: Any) -> Tensor:
    return from_numpy(np.array(rows, np.uint8))


def picture(value: int) -> list[list[list[int]]]:
    """Two pixels, of which the second is 100 more."""
    return [[[value]], [[value + 100]]]


def packed_block(**changes: Any) -> Block:
    """One slot, 4 steps: its second episode begins at step 2, after one that was truncated at step 1.

    Pictures 1 (sent with the two before it, 8 and 9), 2, then 5, 6; after the last step 7; before the
    reset 3.
    """
    plain = played_block(num_slots=1, horizon=HORIZON, episode_steps=2)
    finals = {
        "step": from_numpy(np.array([1], np.int32)),
        "column": from_numpy(np.array([0], np.int32)),
        "value": from_numpy(np.zeros(1, np.float32)),
    }
    stacks = PackedStacks(
        step=bytes_of([WHOLE], [CONTINUES], [REPEATS], [CONTINUES]),
        bootstrap=bytes_of(CONTINUES),
        final=bytes_of(CONTINUES),
        older=bytes_of([[[8, 9]], [[108, 109]]]),
    )
    fields: dict[str, Any] = {
        "observation": {"obs": bytes_of(*([picture(value)] for value in (1, 2, 5, 6)))},
        "bootstrap_observation": {"obs": bytes_of(picture(7))},
        "final_observations": FinalObservations(**finals, observation={"obs": bytes_of(picture(3))}),
        "truncated": bytes_of([0], [1], [0], [0]),
        "packed": {"obs": PackedPictures(stacks=stacks)},
    }
    return plain.model_copy(update=fields | changes)


def stacks_of(block: Block) -> PackedStacks:
    stacks = block.packed["obs"].stacks
    assert stacks is not None
    return stacks


def with_stacks(**changes: Any) -> dict[str, Any]:
    stacks = stacks_of(packed_block()).model_copy(update=changes)
    return {"packed": {"obs": PackedPictures(stacks=stacks)}}


def deflate(tensor: Tensor) -> Tensor:
    squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    data = squeezer.compress(tensor.data) + squeezer.flush()
    return tensor.model_copy(update={"data": data})


def deflated_block(block: Block | None = None) -> Block:
    """The same with all its pictures deflated."""
    block = block or packed_block()
    finals, stacks = block.final_observations, stacks_of(block)
    assert finals is not None
    packed = PackedPictures(stacks=stacks.model_copy(update={"older": deflate(stacks.older)}), deflated=True)
    return block.model_copy(
        update={
            "observation": {"obs": deflate(block.observation["obs"])},
            "bootstrap_observation": {"obs": deflate(block.bootstrap_observation["obs"])},
            "final_observations": finals.model_copy(
                update={"observation": {"obs": deflate(finals.observation["obs"])}}
            ),
            "packed": {"obs": packed},
        }
    )


def test_stacks_follow_from_the_newest_pictures() -> None:
    arrays = check_block(UNPACKER.unpack(packed_block()), LAYOUT)
    # The first pixel, the oldest picture first; the second pixel has 100 more in each.
    first = [[8, 9, 1], [9, 1, 2], [5, 5, 5], [5, 5, 6]]
    assert arrays["obs.obs"][:, 0, 0, 0].tolist() == first
    assert (arrays["obs.obs"][:, 0, 1, 0] - 100).tolist() == first
    # After the last step the stack goes on, before the reset it is that of step 1, and one more.
    assert arrays["bootstrap_obs.obs"][0, :, 0].tolist() == [[5, 6, 7], [105, 106, 107]]
    assert arrays["final_obs.obs"][0, :, 0].tolist() == [[1, 2, 3], [101, 102, 103]]


def test_what_is_not_packed_is_the_same_block() -> None:
    block = played_block()
    assert UNPACKER.unpack(block) is block


def test_deflated_bytes_are_inflated() -> None:
    assert UNPACKER.unpack(deflated_block()) == UNPACKER.unpack(packed_block())


def test_pictures_that_are_no_stack_may_be_deflated_alone() -> None:
    game = GAME.model_copy(update={"picture_stacks": {}})
    unpacker = BlockUnpacker(StoreLayout.for_run(game, PolicyLayout(), HORIZON, 8), {}, 1 << 16)
    whole = UNPACKER.unpack(packed_block())
    assert whole.final_observations is not None
    finals = whole.final_observations.model_copy(
        update={"observation": {"obs": deflate(whole.final_observations.observation["obs"])}}
    )
    block = whole.model_copy(
        update={
            "observation": {"obs": deflate(whole.observation["obs"])},
            "bootstrap_observation": {"obs": deflate(whole.bootstrap_observation["obs"])},
            "final_observations": finals,
            "packed": {"obs": PackedPictures(deflated=True)},
        }
    )
    assert unpacker.unpack(block) == whole


def test_a_block_without_final_observations_has_none_afterwards() -> None:
    changes = with_stacks(final=bytes_of()) | {"final_observations": None}
    assert UNPACKER.unpack(packed_block(**changes)).final_observations is None


def cut(tensor: Tensor) -> Tensor:
    return tensor.model_copy(update={"data": tensor.data[:-1]})


def finals_at(step: int, column: int = 0) -> dict[str, Any]:
    finals = packed_block().final_observations
    assert finals is not None
    places = {
        "step": from_numpy(np.array([step], np.int32)),
        "column": from_numpy(np.array([column], np.int32)),
    }
    return {"final_observations": finals.model_copy(update=places)}


BAD: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a stack where a picture should be": (
        lambda: {"observation": {"obs": from_numpy(np.zeros((4, 1, 2, 1, DEPTH), np.uint8))}},
        "block.observation.obs: shape",
    ),
    "a picture of too few bytes": (
        lambda: {"observation": {"obs": cut(packed_block().observation["obs"])}},
        "block.observation.obs: 7 bytes",
    ),
    "a bootstrap picture of another size": (
        lambda: {"bootstrap_observation": {"obs": bytes_of([[[1]]])}},
        "block.bootstrap_observation.obs",
    ),
    "no observation of the key": (lambda: {"observation": {}}, "block.observation: no obs"),
    "no bootstrap of the key": (
        lambda: {"bootstrap_observation": {}},
        "block.bootstrap_observation: no obs",
    ),
    "a key that is none": (
        lambda: {"packed": {"x" * 1000: packed_block().packed["obs"]}},
        "block.packed: key",
    ),
    "too few kinds": (lambda: with_stacks(step=bytes_of([WHOLE])), "stacks.step: shape"),
    "too many kinds of finals": (lambda: with_stacks(final=bytes_of(0, 0)), "stacks.final: shape"),
    "a kind that is none": (lambda: with_stacks(bootstrap=bytes_of(3)), "stacks.bootstrap: 3"),
    "a first step that continues": (
        lambda: with_stacks(step=bytes_of([CONTINUES], [CONTINUES], [REPEATS], [CONTINUES])),
        "stacks.step: a stack of step 0",
    ),
    "older pictures that are not needed": (
        lambda: with_stacks(older=from_numpy(np.zeros((2, 2, 1, DEPTH - 1), np.uint8))),
        "stacks.older: shape",
    ),
    "no older pictures": (
        lambda: with_stacks(older=from_numpy(np.zeros((0, 2, 1, DEPTH - 1), np.uint8))),
        "stacks.older: shape",
    ),
    "a final observation after the end": (lambda: finals_at(HORIZON), "final_observations.step: 4"),
    "a final observation of a negative step": (lambda: finals_at(-1), "final_observations.step: -1"),
    "a final observation of another column": (lambda: finals_at(1, 1), "final_observations.column: 1"),
    "slots in a square": (
        lambda: {"slot_id": from_numpy(np.zeros((1, 1), np.int32))},
        "block.slot_id: shape",
    ),
    "finals in a square": (
        lambda: {
            "final_observations": packed_block().final_observations.model_copy(  # pyright: ignore[reportOptionalMemberAccess]
                update={"step": from_numpy(np.zeros((1, 1), np.int32))}
            )
        },
        "block.final_observations.step: shape",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_block_that_cannot_be_rebuilt_is_refused(what: str) -> None:
    change, field = BAD[what]
    with pytest.raises(ProtocolError) as refused:
        UNPACKER.unpack(packed_block(**change()))
    assert refused.value.code == "malformed"
    assert field in refused.value.reason
    assert refused.value.fix
    assert len(refused.value.reason) < 300


def test_stacks_that_the_game_has_not_declared_are_refused() -> None:
    unpacker = BlockUnpacker(LAYOUT, {}, 1 << 16)
    with pytest.raises(ProtocolError, match=r"block\.packed\.obs\.stacks: present"):
        unpacker.unpack(packed_block())


@pytest.mark.parametrize("space", [BoxSpace(shape=[2, 1, 3]), BoxSpace(dtype="uint8", shape=[6])])
def test_only_pictures_are_packed(space: BoxSpace) -> None:
    game: GameDescription = counting_description().model_copy(update={"observation": space})
    unpacker = BlockUnpacker(StoreLayout.for_run(game, PolicyLayout(), HORIZON, 8), {}, 1 << 16)
    with pytest.raises(ProtocolError, match=r"block\.packed\.obs: (float32|uint8) of shape"):
        unpacker.unpack(packed_block(packed={"obs": PackedPictures(deflated=True)}))


def test_no_more_is_made_than_a_frame_may_hold() -> None:
    # A thousand slots in a block of a few hundred bytes: 1,000 x 5 stacks of 6 bytes.
    many = packed_block(slot_id=Tensor(dtype="int32", shape=[1 << 24], data=b""))
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=r"block\.packed: 503316\d\d\d? bytes") as refused:
            UNPACKER.unpack(many)
        assert tracemalloc.get_traced_memory()[1] < 1 << 16
    finally:
        tracemalloc.stop()
    assert "at most 65536 bytes" in (refused.value.fix or "")


def bomb() -> bytes:
    """64 MiB of zeros in 65 kB."""
    squeezer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return squeezer.compress(bytes(1 << 26)) + squeezer.flush()


def test_a_bomb_is_refused_at_the_size_that_would_be_right() -> None:
    block = deflated_block()
    for field in ("observation", "bootstrap_observation"):
        tensor = getattr(block, field)["obs"].model_copy(update={"data": bomb()})
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match=rf"block\.{field}\.obs: inflates to more"):
                UNPACKER.unpack(block.model_copy(update={field: {"obs": tensor}}))
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:-1], "no clean end"),
        (lambda data: data + b"\0", "no clean end"),
        (lambda data: b"\xff" + data, "cannot be inflated"),
        (lambda data: b"", "no clean end"),
        (lambda data: deflate(bytes_of(1, 2, 3)).data, "inflates to 3 bytes"),
    ],
)
def test_a_stream_that_is_not_whole_is_refused(spoil: Callable[[bytes], bytes], reason: str) -> None:
    block = deflated_block()
    tensor = block.observation["obs"]
    spoiled = tensor.model_copy(update={"data": spoil(tensor.data)})
    with pytest.raises(ProtocolError, match=reason):
        UNPACKER.unpack(block.model_copy(update={"observation": {"obs": spoiled}}))


@given(
    st.sampled_from(["step", "bootstrap", "final", "older"]),
    st.sampled_from(["uint8", "int32"]),
    st.lists(st.integers(0, 4), max_size=5),
    st.binary(max_size=40),
)
def test_random_words_in_the_place_of_each_part_are_refused_and_never_a_fault(
    name: str, dtype: Literal["uint8", "int32"], shape: list[int], data: bytes
) -> None:
    part = Tensor(dtype=dtype, shape=shape, data=data)
    for block in (packed_block(**with_stacks(**{name: part})), packed_block(observation={"obs": part})):
        with pytest.raises(ProtocolError):
            UNPACKER.unpack(block)
