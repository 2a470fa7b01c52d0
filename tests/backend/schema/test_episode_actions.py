"""Actions between base64 and arrays, and what a damaged file says."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attract.errors import ConfigurationError
from attract.schema.episode_actions import check_recorded, deflated, num_marks, pack_actions, unpack_actions
from attract.schema.recorded_episode import MAX_ACTION_BYTES, PackedActions, RecordedEpisode
from recorded_episodes import EPISODE

shapes = hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=30)


@given(hnp.arrays(np.int32, shapes, elements=st.integers(0, 2**20)) | hnp.arrays(np.float32, shapes))
def test_packed_actions_are_the_same_numbers_again(actions: np.ndarray):
    packed = pack_actions(actions)
    again = unpack_actions(packed)
    assert again.shape == actions.shape
    np.testing.assert_array_equal(again, actions)


@pytest.mark.parametrize(("highest", "dtype"), [(255, "uint8"), (256, "uint16"), (65_536, "int32")])
def test_whole_numbers_take_the_least_type(highest: int, dtype: str):
    assert pack_actions(np.array([[0], [highest]])).dtype == dtype


def test_a_minute_at_fifteen_decisions_a_second_is_small():
    random = np.random.default_rng(0).integers(0, 5, (900, 1))
    assert len(pack_actions(random).data) < 700


def packed(data: bytes, shape: list[int], *, deflated: bool = False) -> PackedActions:
    return PackedActions(dtype="uint8", shape=shape, deflated=deflated, data=base64.b64encode(data).decode())


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        (packed(b"abc", [2, 1]), r"3 bytes, where shape \[2, 1\] of uint8 needs 2"),
        (packed(b"a", [MAX_ACTION_BYTES, 2]), "the limit is 1,048,576"),
        (packed(b"not deflated", [2, 1], deflated=True), "the actions are damaged"),
        (packed(b"abc", [3, 1]).model_copy(update={"data": "abc"}), "the actions are damaged"),
    ],
)
def test_damaged_actions_say_what_is_wrong(actions: PackedActions, text: str):
    with pytest.raises(ConfigurationError, match=text):
        unpack_actions(actions)


def test_a_stream_that_would_fill_the_memory_is_read_no_further_than_its_shape_says():
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(64 << 20)) + packer.flush()
    with pytest.raises(ConfigurationError, match="3 bytes, where shape"):
        unpack_actions(packed(bomb, [2, 1], deflated=True))


def test_a_kept_episode_is_deflated_once():
    episode = RecordedEpisode.model_validate(
        {
            **EPISODE,
            "num_steps": 300,
            "actions": pack_actions(np.zeros((300, 1), np.uint8)).model_copy(
                update={"deflated": False, "data": base64.b64encode(bytes(300)).decode()}
            ),
        }
    )
    small = deflated(episode)
    assert len(small.actions.data) < 20
    assert small.actions.deflated and deflated(small) is small
    np.testing.assert_array_equal(unpack_actions(small.actions), unpack_actions(episode.actions))


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"num_steps": 4}, "actions.shape"),
        ({"seats": [{"player": "random"}] * 2, "returns": [1.0, 2.0]}, "actions.shape"),
        ({"returns": [1.0, 2.0]}, "returns"),
        ({"end_reason": "failed"}, "error"),
        ({"marks": {"interval": 1, "hashes": "0123abcd"}}, "marks.hashes"),
        (
            {"actions": {**EPISODE["actions"], "data": "AQAA"[:4], "shape": [3, 1], "deflated": True}},
            "actions",
        ),
    ],
)
def test_fields_that_disagree_are_named(change: dict[str, object], setting: str):
    check_recorded(RecordedEpisode.model_validate(EPISODE))
    with pytest.raises(ConfigurationError) as caught:
        check_recorded(RecordedEpisode.model_validate({**EPISODE, **change}))
    assert str(caught.value.setting).startswith(setting)


@pytest.mark.parametrize(("steps", "interval", "count"), [(0, 5, 0), (1, 5, 1), (5, 5, 1), (6, 5, 2)])
def test_a_mark_stands_before_every_interval(steps: int, interval: int, count: int):
    assert num_marks(steps, interval) == count
