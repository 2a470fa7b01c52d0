"""Counts the names and items of a frame from its bytes, before it is decoded."""

import re
from typing import Any, Final

from attract.errors import ProtocolError
from attract.schema.close_codes import MALFORMED

MAX_NAMES: Final = 1024
"""Keys of one map, and of all maps of a frame outside lists: each may be a problem to report."""
MAX_ITEMS: Final = 1 << 19
"""Keys, values and list items of a frame: 8,192 games that end at once, with ten metrics each, have fewer."""
MAX_CONTAINERS: Final = 1 << 16
"""Maps and lists of a frame."""

_FIXED: Final = {1: b"\xcc\xd0", 2: b"\xcd\xd1", 4: b"\xca\xce\xd2", 8: b"\xcb\xcf\xd3"}
"""By their bytes: heads of numbers."""
_SCALARS: Final = re.compile(
    b"(?s:"
    + b"|".join(
        [
            rb"[\x00-\x7f\xc0\xc2\xc3\xe0-\xff]++",
            *(b"[%b].{%d}" % (heads, size) for size, heads in _FIXED.items()),
            *(re.escape(bytes([0xA0 + size])) + b".{%d}" % size for size in range(32)),
        ]
    )
    + b")++"
)
"""A run of small values: numbers, strings of up to 31 bytes, None, booleans."""
_HEADS: Final = re.compile(rb"(?s:(?:%b|[\x80-\x9f]){0,8192}+)" % _SCALARS.pattern)
"""Small values and the heads of short maps and lists, so many that the limits are asked often enough."""
_LENGTHS: Final = bytes(2 * (head & 15) if 0x80 <= head <= 0x8F else head & 15 for head in range(256))
"""By head of a short map or list: its names and items."""
_SIZED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""Bytes and long strings: how many bytes of length follow the head."""
_CONTAINERS: Final = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
"""Long lists and maps: the same."""


def check_size(data: bytes | bytearray | memoryview) -> None:
    """Refuse a frame that has too many names or items.

    A frame that is not MessagePack passes: the parser refuses it.

    Raises: ProtocolError: code `malformed`.
    """
    at, items, containers = 0, 0, 0
    while at < len(data):
        run = _HEADS.match(data, at)
        if run is not None and run.end() > at:
            heads = _SCALARS.sub(b"", run[0])
            at, items, containers = run.end(), items + sum(heads.translate(_LENGTHS)), containers + len(heads)
            _check_counts(items, containers)
            continue
        head = data[at]
        if head in _SIZED:
            width = _SIZED[head]
            at += 1 + width + int.from_bytes(data[at + 1 : at + 1 + width])
            continue
        if head not in _CONTAINERS:
            return
        width = _CONTAINERS[head]
        count = int.from_bytes(data[at + 1 : at + 1 + width])
        is_map = head in (0xDE, 0xDF)
        if is_map and count > MAX_NAMES:
            raise _too_many(f"a map of {count} names", MAX_NAMES)
        items += 2 * count if is_map else count
        containers += 1
        _check_counts(items, containers)
        at += 1 + width


def _check_counts(items: int, containers: int) -> None:
    if items > MAX_ITEMS:
        raise _too_many(f"{items} names and items", MAX_ITEMS)
    if containers > MAX_CONTAINERS:
        raise _too_many(f"{containers} maps and lists", MAX_CONTAINERS)


def check_names(message: dict[Any, Any]) -> None:
    """Refuse a message with too many names in its maps; those of maps in lists are not counted.

    Raises: ProtocolError: code `malformed`.
    """
    names, maps = 0, [message]
    while maps:
        found = maps.pop()
        names += len(found)
        if names > MAX_NAMES:
            raise _too_many(f"more than {MAX_NAMES} names outside lists", MAX_NAMES)
        maps.extend(value for value in found.values() if isinstance(value, dict))


def _too_many(what: str, limit: int) -> ProtocolError:
    return ProtocolError(
        f"the frame has {what}", code="malformed", close_code=MALFORMED, fix=f"at most {limit} are read"
    )
