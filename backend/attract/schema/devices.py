"""What a page is played on and with: devices, and names of inputs."""

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple


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


DeviceName = Literal["desktop", "desktop@2x", "phone", "phone-landscape", "tablet"]


class Device(NamedTuple):
    """What a page finds out about a device."""

    size: tuple[int, int] | None = None
    """Width and height of the page's window in CSS pixels; None: those that the page is given elsewhere."""
    pixel_ratio: float = 1
    touch: bool = False
    """Whether the pointer is a finger; such a device can be turned."""
    user_agent: str | None = None
    """None: the browser's own."""


def _android(model: str, kind: str = "") -> str:
    return (
        f"Mozilla/5.0 (Linux; Android 14; {model}) AppleWebKit/537.36 "
        f"(KHTML, like Gecko) Chrome/140.0.0.0 {kind}Safari/537.36"
    )


_PHONE: Final = Device((412, 839), 2.625, touch=True, user_agent=_android("Pixel 7", "Mobile "))
DEVICES: Final[dict[DeviceName, Device]] = {
    "desktop": Device(),
    "desktop@2x": Device(pixel_ratio=2),
    "phone": _PHONE,
    "phone-landscape": _PHONE._replace(size=(863, 360)),
    "tablet": Device((640, 1024), 2.5, touch=True, user_agent=_android("SM-X710")),
}
"""The sizes are those of Playwright's "Pixel 7" and "Galaxy Tab S9"."""
_FORCED: Final = re.compile(rb'globalThis\.attractDevice="([a-z0-9@-]+)";')


def on_device(code: bytes, device: DeviceName) -> bytes:
    """An adapter's module as it is played on `device`, whatever it says itself; on its first line."""
    return f'globalThis.attractDevice="{device}";'.encode() + code


def device_of(code: bytes) -> DeviceName | None:
    """The device that `on_device` put in front of a module; None: the adapter has its own."""
    forced = _FORCED.match(code)
    name = "" if forced is None else forced[1].decode()
    return name if name in DEVICES else None
