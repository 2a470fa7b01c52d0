"""Tensors are refused unless dtype, shape, byte count and every number are right, and are never copied."""

import numpy as np
import pytest

from attract.errors import ProtocolError
from attract.schema.messages import Tensor
from attract.schema.tensor import DTYPES, from_numpy, to_flags, to_numpy, view


def test_round_trip_keeps_every_dtype_and_value():
    for dtype, kind in DTYPES.items():
        # 1000 * s + t would overflow uint8, so the values are the flat index: 0..5
        array = np.arange(6, dtype=kind).reshape(2, 3)
        tensor = from_numpy(array)
        back = to_numpy(tensor, "x", dtype, [2, 3])
        assert tensor.dtype == dtype
        assert back.dtype == kind
        np.testing.assert_array_equal(back, array)
        assert view(tensor).dtype == kind
        np.testing.assert_array_equal(view(tensor), array)


def test_bytes_are_little_endian_in_c_order():
    # 1 = 01 00, 256 = 00 01 as little-endian uint16; the transposed view must be written row by row
    array = np.array([[1, 2], [256, 3]], dtype=">u2").T
    tensor = from_numpy(array)
    assert tensor.dtype == "uint16"
    assert tensor.data == bytes([1, 0, 0, 1, 2, 0, 3, 0])


def test_view_shares_the_tensors_memory_and_cannot_be_written():
    tensor = from_numpy(np.ones((4, 2), np.float32))
    for array in (to_numpy(tensor, "x", np.float32, [4, None]), view(tensor)):
        assert np.shares_memory(array, np.frombuffer(tensor.data, np.uint8))
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2


def test_scalar_and_empty_arrays_pass():
    assert to_numpy(from_numpy(np.array(7, np.int32)), "x", "int32", []) == 7
    assert to_numpy(from_numpy(np.zeros((0, 5), np.float32)), "x", "float32", [None, 5]).shape == (0, 5)


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (Tensor(dtype="int32", shape=[2, 3], data=bytes(24)), "reward: dtype int32; dtype must be float32"),
        (Tensor(dtype="float32", shape=[3, 2], data=bytes(24)), "reward: shape [3, 2]; shape must be [2, 3]"),
        (Tensor(dtype="float32", shape=[6], data=bytes(24)), "reward: shape [6]; shape must be [2, 3]"),
        (
            Tensor(dtype="float32", shape=[2, 3], data=bytes(23)),
            "reward: 23 bytes of data; float32 [2, 3] needs 24 bytes",
        ),
        (
            Tensor(dtype="float32", shape=[2, 3], data=np.array([0, 1, 2, 3, np.nan, 5], "<f4").tobytes()),
            "reward: nan at [1, 1]; every number must be finite",
        ),
        (
            Tensor(dtype="float32", shape=[2, 3], data=np.array([0, 1, -np.inf, 3, 4, 5], "<f4").tobytes()),
            "reward: -inf at [0, 2]; every number must be finite",
        ),
    ],
)
def test_what_does_not_fit_is_refused_naming_field_and_remedy(tensor: Tensor, says: str):
    with pytest.raises(ProtocolError) as caught:
        to_numpy(tensor, "reward", "float32", [2, 3])
    assert says in str(caught.value)
    assert caught.value.close_code == 4005


def test_a_shape_that_would_overflow_is_refused_by_its_bytes():
    # (2^24)^6 elements: the product is a Python integer and cannot wrap to something small
    with pytest.raises(ProtocolError, match="0 bytes of data"):
        to_numpy(Tensor(dtype="uint8", shape=[1 << 24] * 6, data=b""), "x", "uint8", [None] * 6)


def test_flags_are_booleans_without_a_copy_and_only_zero_or_one():
    tensor = from_numpy(np.array([[True, False], [False, True]]))
    assert tensor.dtype == "uint8"
    view = to_flags(tensor, "terminated", [2, 2])
    assert view.dtype == np.bool_
    assert view.tolist() == [[True, False], [False, True]]
    assert np.shares_memory(view, np.frombuffer(tensor.data, np.uint8))
    with pytest.raises(ProtocolError, match=r"terminated: a flag of 2; flags are 0 or 1"):
        to_flags(Tensor(dtype="uint8", shape=[2], data=b"\x00\x02"), "terminated", [2])


def test_dtypes_that_the_wire_lacks_are_the_callers_bug():
    with pytest.raises(RuntimeError, match=r"the wire has float32, .* got dtype\('float64'\)"):
        from_numpy(np.zeros(2))
