"""Frames: one MessagePack map per message, checked whole before anyone sees it."""

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import ormsgpack
from pydantic import TypeAdapter, ValidationError

from attract.errors import ProtocolError
from attract.schema.base import WireModel
from attract.schema.close_codes import MALFORMED
from attract.schema.frame_bounds import check_names, check_size
from attract.schema.inference import FROM_INFERENCE, TO_INFERENCE
from attract.schema.learner import FROM_LEARNER, TO_LEARNER
from attract.schema.messages import FROM_BROWSER, TO_BROWSER, FromBrowser

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
    """See `decode_from_browser`."""
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
