"""What a page may be given: the rows that adapters, `attract look`, the probe and docs/adapter.md share."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class PointerInput:
    """What the pointer does at a place during a step."""

    does: str
    """In the words of docs/adapter.md."""
    buttons: int = 0
    """What is held, as `MouseEvent.buttons`: 1 left, 2 right, 4 middle."""
    clicks: int = 1
    """Presses in a row."""
    wheel: int = 0
    """Pixels that the wheel turns down when the step begins."""
    second: Literal["end", "finger"] | None = None
    """What a second place is for."""
    spread: tuple[int, int] | None = None
    """Pixels between two fingers around the place, at first and in the end."""
    asks: tuple[str, ...] = ()
    """Events: the probe tries this on pages that listen to one of them."""


POINTER_INPUTS: Final = {
    "press": PointerInput("is pressed", buttons=1),
    "move": PointerInput("is moved there"),
    "right": PointerInput("presses the right button", buttons=2, asks=("contextmenu", "auxclick")),
    "middle": PointerInput("presses the middle button", buttons=4, asks=("auxclick",)),
    "double": PointerInput("clicks twice", buttons=1, clicks=2, asks=("dblclick",)),
    "wheel-up": PointerInput("turns the wheel up by a notch", wheel=-100, asks=("wheel", "mousewheel")),
    "wheel-down": PointerInput("turns the wheel down by a notch", wheel=100, asks=("wheel", "mousewheel")),
    "drag": PointerInput(
        "drags and drops to a second place", buttons=1, second="end", asks=("dragstart", "drop")
    ),
    "two": PointerInput("touches with a second finger at a second place", buttons=1, second="finger"),
    "pinch-in": PointerInput("moves two fingers together", buttons=1, spread=(160, 40)),
    "pinch-out": PointerInput("moves two fingers apart", buttons=1, spread=(40, 160)),
}
PAD_BUTTONS: Final = (
    *("PadA", "PadB", "PadX", "PadY", "PadLB", "PadRB", "PadLT", "PadRT", "PadBack", "PadStart"),
    *("PadLS", "PadRS", "PadUp", "PadDown", "PadLeft", "PadRight", "PadHome"),
)
"""Codes of a gamepad's buttons, in the order of the standard layout."""
PAD_STICKS: Final = tuple(
    f"PadStick{number}{way}" for number in ("", "2") for way in ("Left", "Right", "Up", "Down")
)
"""Codes of its sticks: of each axis the low end and the high one."""
