"""The devices that a game's page can be played on: one table, from which the browser's is generated."""

import re
from typing import Final, Literal, NamedTuple

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
