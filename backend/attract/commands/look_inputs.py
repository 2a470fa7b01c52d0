"""Inputs of `attract look` as the command line has them: `Enter@10`, `#start@5`, `right #cell@5`."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from attract.errors import ConfigurationError, nearest_name
from attract.schema.devices import PAD_BUTTONS, PAD_STICKS, POINTER_INPUTS

PRESS_FRAMES: Final = 4
"""How long a press or a click lasts: games that look at keys once in some frames see it."""
MAX_FRAMES: Final = 3_600
MAX_INPUTS: Final = 50
MAX_TARGET: Final = 400
AFTER_INPUTS: Final = 30
"""Frames after the last input, unless a number of frames is given."""
FRAMES: Final = 60
SPELLED: Final = re.compile(r"(?P<target>.+)@(?P<first>\d{1,6})(?:-(?P<end>\d{1,6}))?", re.DOTALL)
PLACE: Final = re.compile(r"\s*(\d{1,5}(?:\.\d+)?)\s*,\s*(\d{1,5}(?:\.\d+)?)\s*")
KEY: Final = re.compile(r"Key[A-Z]|Digit[0-9]|Numpad[0-9]|F(?:[1-9]|1[0-2])")
NAMED_KEYS: Final = (
    *("Space", "Enter", "NumpadEnter", "Escape", "Tab", "Backspace", "Delete", "Home", "End"),
    *("PageUp", "PageDown", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"),
    *("ShiftLeft", "ShiftRight", "ControlLeft", "ControlRight", "AltLeft", "AltRight", "MetaLeft"),
    *("Semicolon", "Equal", "Comma", "Minus", "Period", "Slash", "Backquote"),
    *("BracketLeft", "Backslash", "BracketRight", "Quote"),
)
"""Keys that the virtual clock knows, beside those of `KEY`."""

InputKind = Literal["key", "pointer", "action", "rotate"]
Target = str | tuple[float, float]
"""A CSS selector, or a place in CSS pixels."""


@dataclass(frozen=True)
class GivenInput:
    """Something that is pressed in the frames `first` to `end - 1`."""

    name: str
    """A key's code, what the pointer does as it was written, or an action's label."""
    kind: InputKind
    first: int
    end: int
    how: str = "press"
    """A row of `POINTER_INPUTS`."""
    targets: tuple[Target, ...] = ()
    """Where the pointer does it, and its second place."""

    def order(self) -> dict[str, Any]:
        """As `web/page-probe` takes it."""
        fields = asdict(self)
        return {**fields, "from": fields.pop("first"), "to": fields.pop("end")}


def given_inputs(
    press: Iterable[str] = (),
    hold: Iterable[str] = (),
    click: Iterable[str] = (),
    action: Iterable[str] = (),
    pointer: Iterable[str] = (),
    rotate: Iterable[int] = (),
) -> list[GivenInput]:
    """The inputs of all flags, in the order of their first frames.

    Raises: ConfigurationError: one is not written as it should be, or there are too many.
    """
    found = [
        *(_key("--press", text) for text in press),
        *(_key("--hold", text) for text in hold),
        *(_click(text) for text in click),
        *(_pointer(text) for text in pointer),
        *(_input("--action", text, "action", "left@0-30") for text in action),
        *(GivenInput("rotate", "rotate", frame, frame + 1) for frame in rotate),
    ]
    if len(found) > MAX_INPUTS:
        raise ConfigurationError(
            f"{len(found)} inputs, at most {MAX_INPUTS} are allowed",
            setting="look",
            fix="look several times, or hold a key for longer: --hold ArrowLeft@10-400",
        )
    return sorted(found, key=lambda entry: entry.first)


def frames_of(inputs: list[GivenInput], frames: int | None) -> int:
    """How many frames are played: as asked for, else until a moment after the last input.

    Raises: ConfigurationError: an input begins after the last frame, or there are too many frames.
    """
    number = max(FRAMES, *(entry.end + AFTER_INPUTS for entry in inputs)) if inputs else FRAMES
    number = number if frames is None else frames
    if not 0 <= number <= MAX_FRAMES:
        raise ConfigurationError(f"{number} frames", setting="--frames", fix=f"0 to {MAX_FRAMES}")
    late = next((entry for entry in inputs if entry.first >= number), None)
    if late is not None:
        raise ConfigurationError(
            f"{late.name}@{late.first} comes after the last frame, which is {number - 1}",
            setting="--frames",
            fix=f"--frames {late.end + AFTER_INPUTS}",
        )
    return number


def _key(flag: str, text: str) -> GivenInput:
    given = _input(flag, text, "key", "ArrowLeft@60-90" if flag == "--hold" else "Enter@10")
    if given.name not in (*NAMED_KEYS, *PAD_BUTTONS, *PAD_STICKS) and KEY.fullmatch(given.name) is None:
        fix = "codes as KeyboardEvent.code has them: ArrowLeft, Space, Enter, KeyA, Digit1"
        if re.fullmatch("[A-Za-z]", given.name):
            fix = f"Key{given.name.upper()}"
        elif re.fullmatch("[0-9]", given.name):
            fix = f"Digit{given.name}"
        elif (arrow := f"Arrow{given.name.capitalize()}") in NAMED_KEYS:
            fix = arrow
        elif near := nearest_name(given.name, NAMED_KEYS):
            fix = f"did you mean {near}?"
        raise ConfigurationError(f"{given.name!r} is no key's code", setting=flag, fix=fix)
    return given


def _click(text: str) -> GivenInput:
    given = _input("--click", text, "pointer", "#start@5 or 120,80@5")
    target = _target(given.name)
    name = target if isinstance(target, str) else f"{target[0]:g},{target[1]:g}"
    return replace(given, name=name, targets=(target,))


def _pointer(text: str) -> GivenInput:
    given = _input("--pointer", text, "pointer", "'right #cell@5' or 'drag #card to 120,80@5-20'")
    how, _, rest = given.name.partition(" ")
    if how not in POINTER_INPUTS:
        near = nearest_name(how, POINTER_INPUTS)
        fix = f"did you mean {near}?" if near else f"one of {', '.join(POINTER_INPUTS)}"
        raise ConfigurationError(f"{how!r} is nothing that the pointer does", setting="--pointer", fix=fix)
    has_second = POINTER_INPUTS[how].second is not None
    targets = rest.split(" to ", 1) if has_second else [rest]
    if len(targets) <= has_second or not all(map(str.strip, targets)):
        places = "PLACE to PLACE" if has_second else "PLACE"
        raise ConfigurationError(
            f"{text[:80]!r} does not say where", setting="--pointer", fix=f"'{how} {places}@{given.first}'"
        )
    return replace(given, how=how, targets=tuple(map(_target, targets)))


def _target(text: str) -> Target:
    place = PLACE.fullmatch(text)
    return text.strip() if place is None else (float(place[1]), float(place[2]))


def _input(flag: str, text: str, kind: InputKind, example: str) -> GivenInput:
    spelled = SPELLED.fullmatch(text)
    if spelled is None or len(spelled["target"]) > MAX_TARGET:
        raise ConfigurationError(
            f"{text[:80]!r} does not name a frame", setting=flag, fix=f"{flag} {example}"
        )
    first = int(spelled["first"])
    end = first + PRESS_FRAMES if spelled["end"] is None else int(spelled["end"])
    if end <= first:
        raise ConfigurationError(
            f"{text!r} ends before it begins", setting=flag, fix=f"a later frame than {first}"
        )
    return GivenInput(spelled["target"], kind, first, end)
