"""Frames: one MessagePack map per message, checked whole before anyone sees it."""

import re
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import ormsgpack
from pydantic import TypeAdapter, ValidationError

from attract.errors import ProtocolError
from attract.schema.base import WireModel
from attract.schema.close_codes import MALFORMED
from attract.schema.inference import FROM_INFERENCE, TO_INFERENCE
from attract.schema.learner import FROM_LEARNER, TO_LEARNER
from attract.schema.messages import FROM_BROWSER, TO_BROWSER, FromBrowser

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


MAX_KEYS = 64
"""Top-level keys of a frame; no message has half as many, and an error is reported per unknown key."""
MAX_PROBLEMS = 100
"""With more, only their number is reported: listing them takes longer than finding them."""
MAX_SHOWN = 80
"""Characters of an offending value that are quoted back."""
MAX_FIX = 400
"""Characters of a validation message; some of them quote what came."""

LENGTH = struct.Struct("<I")
"""Stands before each frame on the socket pairs between our processes: its bytes, little-endian."""
MAX_MESSAGE_BYTES = 1 << 30
"""Size of a frame after a `LENGTH`."""

Message = TypeVar("Message")


def encode(message: WireModel) -> bytes:
    """One frame holding `message`, every default written out; byte for byte the same for equal messages."""
    return ormsgpack.packb(message, option=ormsgpack.OPT_SERIALIZE_PYDANTIC)


def message_length(data: bytes | bytearray, at: int = 0) -> int:
    """Length of the frame after the `LENGTH.size` bytes of `data` at `at`.

    Raises: ProtocolError: code `too_large`, above `MAX_MESSAGE_BYTES`.
    """
    (length,) = LENGTH.unpack_from(data, at)
    if length > MAX_MESSAGE_BYTES:
        raise ProtocolError(f"a message of {length} bytes", code="too_large")
    return length


def decode_from_browser(data: bytes | bytearray | memoryview) -> FromBrowser:
    """The message of one frame sent by a host or worker; tensor bytes are copied once, out of the frame.

    Bytes after the map are ignored: the parser does not say how far it read.

    Raises: ProtocolError: code `malformed`, naming the field, what came and what would be right.
    """
    check_size(data)
    return _decode(data, FROM_BROWSER, check=check_names)


def _decode(
    data: bytes | bytearray | memoryview,
    adapter: TypeAdapter[Message],
    check: Callable[[dict[Any, Any]], None] | None = None,
) -> Message:
    try:
        plain = ormsgpack.unpackb(data)
    except ormsgpack.MsgpackDecodeError as error:
        raise malformed(
            f"the frame of {len(data)} bytes is not MessagePack: {error}", fix="send one map per frame"
        ) from None
    if not isinstance(plain, dict):
        raise malformed(f"the frame holds {shown(plain)}", fix="send one map per frame, with `type`")
    if len(plain) > MAX_KEYS:
        raise malformed(
            f"the frame's map has {len(plain)} keys", fix=f"no message has more than {MAX_KEYS} keys"
        )
    if check is not None:
        check(plain)
    try:
        return adapter.validate_python(plain, strict=True)
    except ValidationError as error:
        if error.error_count() > MAX_PROBLEMS:
            raise malformed(
                f"the frame has {error.error_count()} problems", fix="follow the schema"
            ) from None
        first = error.errors(include_url=False, include_context=False)[0]
        more = error.error_count() - 1
        field = ".".join(str(part) for part in first["loc"]) or "type"
        came = "nothing" if first["type"] == "missing" else shown(first["input"])
        raise malformed(
            f"{field}: got {came}" + (f" (and {more} more problems)" if more else ""),
            fix=first["msg"][:MAX_FIX],
        ) from None


decode_to_browser: Final = partial(_decode, adapter=TO_BROWSER)
"""The message of one frame sent by the server; for fake browsers in tests and benchmarks."""
decode_to_learner: Final = partial(_decode, adapter=TO_LEARNER)
decode_from_learner: Final = partial(_decode, adapter=FROM_LEARNER)
decode_to_inference: Final = partial(_decode, adapter=TO_INFERENCE)
decode_from_inference: Final = partial(_decode, adapter=FROM_INFERENCE)


def malformed(reason: str, *, fix: str) -> ProtocolError:
    """The error for a frame or tensor that violates the schema; the socket closes with 4005."""
    return ProtocolError(reason, code="malformed", close_code=MALFORMED, fix=fix)


def shown(value: Any) -> str:
    """A short description of an offending value; never walks into containers, which may be deep or huge."""
    if isinstance(value, dict | list | tuple | bytes):
        return f"{type(value).__name__} of length {len(value)}"
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_SHOWN else value[:MAX_SHOWN] + "…")
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return type(value).__name__
