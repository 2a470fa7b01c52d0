import json
from itertools import pairwise

import pytest

from attract.errors import ConfigurationError
from attract.experience.layout import PolicyLayout, StoreLayout, observation_fields
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from fake_worker import counting_description


def test_every_array_of_a_run_has_its_place_and_none_overlaps() -> None:
    layout = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 10)
    offsets, end = layout.offsets(100)
    spans = []
    for field in layout.fields:
        count = 1
        for extent in layout.array_shape(field):
            count *= extent
        size = {"float32": 4, "int32": 4, "int64": 8, "uint16": 2, "bool": 1, "uint8": 1}[field.dtype]
        spans.append((offsets[field.name], offsets[field.name] + count * size))
    spans.sort()
    assert spans[0][0] == 128  # the first multiple of 64 after 100
    assert all(left[1] <= right[0] and right[0] % 64 == 0 for left, right in pairwise(spans))
    assert end == spans[-1][1]
    assert layout.array_shape(layout.field("obs.obs")) == (4, 10, 2)
    assert layout.array_shape(layout.field("first_step")) == (10,)
    assert layout.array_shape(layout.field("final_obs.obs")) == (4, 10, 2)


def test_a_layout_survives_json() -> None:
    layout = StoreLayout.for_run(counting_description(), PolicyLayout({"h": (8,)}), 4, 10)
    assert StoreLayout.from_json(json.loads(json.dumps(layout.to_json()))) == layout
    assert layout.recurrent_keys == ("h",)


@pytest.mark.parametrize("damage", [{"capacity": 0}, {"fields": [["obs", "sideways", "float32", []]]}])
def test_a_header_that_is_no_layout_is_refused(damage: dict[str, object]) -> None:
    good = StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 10).to_json()
    with pytest.raises(ValueError):
        StoreLayout.from_json(good | damage)


def test_dictionaries_are_sorted_and_masks_have_a_field() -> None:
    description = counting_description().model_copy(
        update={
            "observation": DictSpace(
                spaces={
                    "z": BoxSpace(dtype="uint8", shape=[3, 3]),
                    "a": DiscreteSpace(n=5),
                    "m": MultiDiscreteSpace(nvec=[2, 3]),
                    "b": MultiBinarySpace(n=4),
                }
            ),
            "action_mask": True,
        }
    )
    description = GameDescription.model_validate(description.model_dump())
    assert list(observation_fields(description).items()) == [
        ("a", ("int32", ())),
        ("b", ("uint8", (4,))),
        ("m", ("int32", (2,))),
        ("z", ("uint8", (3, 3))),
    ]
    layout = StoreLayout.for_run(description, PolicyLayout(), 4, 10)
    assert layout.observation_keys == ("a", "b", "m", "z")
    assert layout.has_action_mask
    assert layout.array_shape(layout.field("action_mask")) == (4, 10, 3)


def test_an_empty_store_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        StoreLayout.for_run(counting_description(), PolicyLayout(), 4, 0)


def test_masks_of_several_choices_stand_one_after_the_other() -> None:
    space = MultiDiscreteSpace(nvec=[2, 3])
    description = counting_description().model_copy(update={"action": space, "action_mask": True})
    layout = StoreLayout.for_run(description, PolicyLayout(), 4, 10)
    assert layout.array_shape(layout.field("action_mask")) == (4, 10, 5)
    assert layout.action_choices == (2, 3) and layout.num_actions is None
    assert layout.array_shape(layout.field("action")) == (4, 10, 2)


def test_images_double_no_store() -> None:
    def row_bytes(shape: list[int]) -> tuple[int, int]:
        observation = BoxSpace(shape=shape, dtype="uint8")
        description = counting_description().model_copy(update={"observation": observation})
        layout = StoreLayout.for_run(description, PolicyLayout(), 32, 1)
        return layout.num_finals, layout.row_bytes

    # 1,024 bytes are small: 32 steps, 32 finals and the bootstrap observation.
    finals, small = row_bytes([1024])
    assert finals == 32 and 65 * 1024 <= small < 65 * 1024 + 32 * 60
    # Images of 3,072 bytes: 32 steps, 8 finals and the bootstrap observation.
    finals, large = row_bytes([32, 32, 3])
    assert finals == 8 and 41 * 3072 <= large < 41 * 3072 + 32 * 60
