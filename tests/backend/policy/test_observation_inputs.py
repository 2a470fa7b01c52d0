import torch

from attract.policy.observation_inputs import observation_inputs
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace


def test_a_plain_box_is_the_single_entry_obs():
    (entry,) = observation_inputs(BoxSpace(shape=[3]))
    assert (entry.key, entry.input_name, entry.suffix) == ("obs", "obs", "")
    assert observation_inputs(DictSpace(spaces={"only": BoxSpace(shape=[3])}))[0].input_name == "obs"


def test_entries_come_in_sorted_key_order_whatever_the_order_they_were_given_in():
    spaces = {"view": BoxSpace(shape=[8, 8, 3], dtype="uint8"), "ammo": DiscreteSpace(n=5)}
    entries = observation_inputs(DictSpace(spaces=spaces))
    assert [(entry.key, entry.input_name, entry.suffix) for entry in entries] == [
        ("ammo", "obs_0", "_0"),
        ("view", "obs_1", "_1"),
    ]
    assert [entry.kind for entry in entries] == ["one_hot", "image"]


def test_what_is_an_image_and_what_a_vector():
    kinds = [observation_inputs(BoxSpace(shape=shape))[0].kind for shape in ([], [4], [4, 4], [4, 4, 1])]
    assert kinds == ["vector", "vector", "vector", "image"]


def test_choices_become_one_hot_and_numbers_outside_of_them_zeros():
    (entry,) = observation_inputs(DictSpace(spaces={"a": MultiDiscreteSpace(nvec=[2, 3])}))
    encoded = entry.encode(torch.tensor([[1, 0], [0, 2], [77, -1]], dtype=torch.int32))
    assert encoded.tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]
    assert entry.num_features == 5
    (entry,) = observation_inputs(DictSpace(spaces={"a": DiscreteSpace(n=3)}))
    assert entry.encode(torch.tensor([2, 0], dtype=torch.int32)).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_P7_bytes_are_scaled_and_bits_are_not():
    (entry,) = observation_inputs(BoxSpace(shape=[2], dtype="uint8"))
    torch.testing.assert_close(
        entry.encode(torch.tensor([[51, 255]], dtype=torch.uint8)), torch.tensor([[0.2, 1.0]])
    )
    (entry,) = observation_inputs(DictSpace(spaces={"a": MultiBinarySpace(n=2)}))
    assert entry.encode(torch.tensor([[0, 1]], dtype=torch.uint8)).tolist() == [[0.0, 1.0]]
