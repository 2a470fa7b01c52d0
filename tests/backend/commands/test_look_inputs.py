"""How inputs of `attract look` are written, and what is refused."""

import re
from pathlib import Path

import pytest

from attract.commands.look_inputs import KEY, NAMED_KEYS, frames_of, given_inputs
from attract.errors import ConfigurationError
from check_rules import ROOT


def test_a_press_lasts_four_frames_and_a_hold_until_its_end() -> None:
    inputs = given_inputs(["Enter@10"], ["ArrowLeft@60-90"], ["#start@5"], ["left@0-30"])
    assert [(entry.name, entry.kind, entry.first, entry.end) for entry in inputs] == [
        ("left", "action", 0, 30),
        ("#start", "pointer", 5, 9),
        ("Enter", "key", 10, 14),
        ("ArrowLeft", "key", 60, 90),
    ]


def test_two_numbers_are_a_place_and_all_else_is_a_selector() -> None:
    place, attribute = given_inputs(click=["120, 80.5@5", 'a[href="x@y"] , b@6'])
    assert (place.kind, place.targets, place.name) == ("pointer", ((120, 80.5),), "120,80.5")
    assert (attribute.name, attribute.targets) == ('a[href="x@y"] , b', ('a[href="x@y"] , b',))
    assert place.order()["from"] == 5 and place.order()["to"] == 9


def test_the_pointer_does_a_row_of_the_table_at_one_place_or_two() -> None:
    right, drag = given_inputs(pointer=["right #cell@5", "drag .a > b to 120,80@6-20"])
    assert (right.name, right.how, right.targets) == ("right #cell", "right", ("#cell",))
    assert (drag.how, drag.targets, drag.end) == ("drag", (".a > b", (120, 80)), 20)
    for text, said in {
        "rigth #a@5": "'rigth' is nothing that the pointer does\n  did you mean right?",
        "drag #a@5": "does not say where\n  'drag PLACE to PLACE@5'",
        "right @5": "does not say where",
        "right #a": "does not name a frame",
    }.items():
        with pytest.raises(ConfigurationError) as caught:
            given_inputs(pointer=[text])
        assert said in str(caught.value)
    assert given_inputs(["PadA@5"])[0].name == "PadA"


@pytest.mark.parametrize(
    ("press", "said"),
    [
        ("Enter", "--press: 'Enter' does not name a frame\n  --press Enter@10"),
        ("Enterr@3", "'Enterr' is no key's code\n  did you mean Enter?"),
        ("a@3", "'a' is no key's code\n  KeyA"),
        ("1@3", "'1' is no key's code\n  Digit1"),
        ("left@3", "'left' is no key's code\n  ArrowLeft"),
        ("Up@3", "'Up' is no key's code\n  ArrowUp"),
        ("Enter@5-5", "'Enter@5-5' ends before it begins"),
        (f"{'x' * 500}@3", "does not name a frame"),
    ],
)
def test_what_is_not_written_as_it_should_be_is_named(press: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        given_inputs([press])
    assert said in str(caught.value)


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="51 inputs"):
        given_inputs(["Enter@1"] * 51)


def test_a_play_lasts_until_a_moment_after_the_last_input() -> None:
    inputs = given_inputs(hold=["ArrowLeft@60-90"])
    assert frames_of(inputs, None) == 120
    assert frames_of([], None) == 60
    assert frames_of(inputs, 61) == 61
    assert frames_of([], 0) == 0
    with pytest.raises(ConfigurationError, match="after the last frame, which is 59") as caught:
        frames_of(inputs, 60)
    assert caught.value.fix == "--frames 120"
    with pytest.raises(ConfigurationError, match="0 to 3600"):
        frames_of([], 3601)


def test_the_keys_are_those_that_the_clock_knows() -> None:
    source = (Path(ROOT) / "web/page-clock/src/key-codes.ts").read_text()
    named = source[source.index("const NAMED") : source.index("export const MODIFIERS")]
    assert set(re.findall(r"^  (\w+): \[", named, re.MULTILINE)) == set(NAMED_KEYS)
    assert [KEY.fullmatch(code) is not None for code in ("KeyA", "Digit7", "F12", "F13", "Keya")] == [
        *(True, True, True, False, False)
    ]
