"""What messages are made of: numbers and texts within limits, tensors, spaces."""

from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from attract.errors import ProtocolError
from attract.schema.base import Amount, Count, FiniteModel, Name, Seconds, Seed, Text, UInt32, WireModel
from attract.schema.messages import Tensor
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    ObservationSpace,
    SetSpace,
)
from attract.schema.tensor import DTYPES, from_numpy, to_flags, to_numpy, view


class Sample(WireModel):
    number: float = 1.5


class FiniteSample(FiniteModel):
    number: float = 1.5


def test_records_do_not_change_and_take_no_unknown_key():
    with pytest.raises(ValidationError, match="frozen"):
        Sample().number = 2.0  # type: ignore[misc]
    with pytest.raises(ValidationError, match="other"):
        Sample.model_validate({"other": 1})


def test_infinities_are_for_our_own_processes_alone():
    assert Sample.model_validate_json(Sample(number=float("inf")).model_dump_json()).number == float("inf")
    for number in (float("inf"), float("-inf"), float("nan")):
        with pytest.raises(ValidationError, match="finite"):
            FiniteSample(number=number)


def test_a_default_is_required_of_who_reads_and_written_by_who_sends():
    assert Sample().model_dump() == {"number": 1.5}
    assert Sample.model_json_schema(mode="serialization")["required"] == ["number"]


@pytest.mark.parametrize(
    ("kind", "smallest", "largest"),
    [(UInt32, 0, 2**32 - 1), (Count, 0, 2**53 - 1), (Amount, -1e30, 1e30), (Seconds, 0.0, 1e9)],
)
def test_numbers_keep_to_their_limits(kind: Any, smallest: float, largest: float):
    adapter: TypeAdapter[float] = TypeAdapter(Annotated[kind, None])
    assert adapter.validate_python(smallest) == smallest
    assert adapter.validate_python(largest) == largest
    beyond = largest * 1.01 if isinstance(largest, float) else largest + 1
    for wrong in (beyond, -1 if smallest == 0 else -beyond):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


@pytest.mark.parametrize(("kind", "least", "most"), [(Name, 1, 120), (Text, 0, 20_000)])
def test_texts_keep_to_their_lengths(kind: Any, least: int, most: int):
    adapter: TypeAdapter[str] = TypeAdapter(Annotated[kind, None])
    assert adapter.validate_python("a" * most) == "a" * most
    assert adapter.validate_python("a" * least) == "a" * least
    for wrong in ([least - 1] if least else []) + [most + 1]:
        with pytest.raises(ValidationError):
            adapter.validate_python("a" * wrong)


def test_C5_a_seed_is_two_words_of_32_bits():
    assert Seed(low=2**32 - 1, high=0).low == 2**32 - 1
    with pytest.raises(ValidationError, match="high"):
        Seed(low=0, high=2**32)


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


def test_size_is_the_product_of_the_shape():
    assert BoxSpace(shape=[2, 3, 4]).size == 24
    assert BoxSpace(shape=[]).size == 1


def test_bounds_are_one_number_none_or_one_per_element():
    assert BoxSpace(shape=[2], low=-1.0, high=None).high is None
    assert BoxSpace(shape=[2, 2], low=[0.0, 1.0, 2.0, 3.0]).low == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(ValidationError, match=r"high has 3 numbers, shape \[2\] needs 2"):
        BoxSpace(shape=[2], high=[1.0, 2.0, 3.0])


def test_labels_are_one_per_action():
    assert DiscreteSpace(n=2, labels=["left", "right"]).labels == ["left", "right"]
    with pytest.raises(ValidationError, match="1 labels for 2 actions"):
        DiscreteSpace(n=2, labels=["left"])


@pytest.mark.parametrize("shape", [[0], [-1], [1 << 21], [1, 1, 1, 1, 1]])
def test_shapes_that_no_buffer_should_have_are_refused(shape: list[int]):
    with pytest.raises(ValidationError):
        BoxSpace(shape=shape)


@pytest.mark.parametrize("maximum", [0, -1, 1.5, 1025, 10**9])
def test_sets_have_a_bounded_number_of_things(maximum: object):
    assert SetSpace(max=1024, shape=[1024]).stored_shape == (1024, 1025)
    with pytest.raises(ValidationError):
        TypeAdapter(ObservationSpace).validate_python({"kind": "set", "max": maximum, "shape": [4]})


@pytest.mark.parametrize("shape", [[], [0], [1025], [10**9], [2, 2], [1.5], None])
def test_things_of_a_set_have_one_bounded_row_each(shape: object):
    with pytest.raises(ValidationError):
        TypeAdapter(ObservationSpace).validate_python({"kind": "set", "max": 4, "shape": shape})


def test_a_set_is_no_action():
    with pytest.raises(ValidationError, match="Input tag 'set'"):
        TypeAdapter(ActionSpace).validate_python({"kind": "set", "max": 4, "shape": [4]})


AIM = {"kind": "box", "shape": [2], "low": 0, "high": [800, 600]}
BUTTON = {"kind": "discrete", "n": 2}


def test_a_mixed_action_has_all_choices_and_then_all_numbers_by_name():
    parts = {"gear": {"kind": "multi_discrete", "nvec": [3, 4]}, "aim": AIM, "button": BUTTON, "Lean": AIM}
    read = TypeAdapter(ActionSpace).validate_python({"kind": "mixed", "spaces": parts})
    assert isinstance(read, MixedSpace)
    assert (read.choices, read.action_shape) == ((2, 3, 4), (7,))
    assert (read.box.low, read.box.high) == ([0.0] * 4, [800, 600] * 2)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({}, "at least 2 items"),
        ({"aim": AIM}, "at least 2 items"),
        ({f"p{i}": BUTTON for i in range(16)} | {"aim": AIM}, "at most 16 items"),
        ({"aim": AIM, "lean": AIM}, "has a box and a discrete or multi_discrete part"),
        ({"a": BUTTON, "b": BUTTON}, "has a box and a discrete or multi_discrete part"),
        ({"__proto__": AIM, "b": BUTTON}, "'__proto__' is no name"),
        ({"a\n": AIM, "b": BUTTON}, r"'a\\n' is no name"),
        ({"a" * 33: AIM, "b": BUTTON}, "is no name: a letter, then up to 31"),
        ({"aim": AIM, "b": {"kind": "mixed", "spaces": {"aim": AIM, "b": BUTTON}}}, r"spaces\.b\n"),
        ({"aim": AIM, "b": {"kind": "multi_binary", "n": 2}}, r"spaces\.b\n"),
        ({"aim": AIM | {"low": None}, "b": BUTTON}, r"spaces\.aim: a box of an action is float32"),
        ({"aim": AIM | {"dtype": "uint8"}, "b": BUTTON}, r"spaces\.aim: a box of an action is float32"),
        ({"aim": AIM | {"shape": [4097], "high": 1}, "b": BUTTON}, r"spaces\.aim: 4097 real numbers"),
        ({"aim": AIM | {"high": [1]}, "b": BUTTON}, r"spaces\.aim"),
    ],
)
def test_a_mixed_action_that_is_none_is_refused_and_its_part_is_named(parts: dict, says: str):
    with pytest.raises(ValidationError, match=says):
        MixedSpace.model_validate({"kind": "mixed", "spaces": parts})


def test_kind_tells_which_space_it_is():
    spaces = {"position": {"kind": "box", "shape": [2]}, "level": {"kind": "discrete", "n": 3}}
    read = TypeAdapter(ObservationSpace).validate_python({"kind": "dict", "spaces": spaces})
    assert isinstance(read, DictSpace)
    assert isinstance(read.spaces["level"], DiscreteSpace)
    with pytest.raises(ValidationError, match="Input tag 'dict'"):
        TypeAdapter(ActionSpace).validate_python({"kind": "dict", "spaces": spaces})
    with pytest.raises(ValidationError):
        DictSpace(spaces={})
