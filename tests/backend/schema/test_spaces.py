"""Spaces know their size and refuse bounds and labels that do not fit."""

import pytest
from pydantic import TypeAdapter, ValidationError

from attract.schema.spaces import ActionSpace, BoxSpace, DictSpace, DiscreteSpace, ObservationSpace


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


def test_kind_tells_which_space_it_is():
    spaces = {"position": {"kind": "box", "shape": [2]}, "level": {"kind": "discrete", "n": 3}}
    read = TypeAdapter(ObservationSpace).validate_python({"kind": "dict", "spaces": spaces})
    assert isinstance(read, DictSpace)
    assert isinstance(read.spaces["level"], DiscreteSpace)
    with pytest.raises(ValidationError, match="Input tag 'dict'"):
        TypeAdapter(ActionSpace).validate_python({"kind": "dict", "spaces": spaces})
    with pytest.raises(ValidationError):
        DictSpace(spaces={})
