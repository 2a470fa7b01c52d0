"""Tensors between the wire and numpy: checked before use, viewed without copying."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.schema.frames import malformed
from attract.schema.step_numbers import DecidedNumbers, DType, OutcomeNumbers, Tensor

DTYPES: Final[dict[DType, np.dtype[Any]]] = {
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
    "int32": np.dtype("<i4"),
    "uint8": np.dtype("u1"),
    "uint16": np.dtype("<u2"),
}


def to_numpy(
    tensor: Tensor, name: str, dtype: str | np.dtype[Any] | type, shape: Sequence[int | None]
) -> NDArray[Any]:
    """A read-only view of the tensor's bytes, once dtype, shape, byte count and finiteness are right.

    Args:
        tensor: as it came off the wire.
        name: the field, for messages ("block.reward").
        dtype: what it must be, as a wire name or a numpy dtype.
        shape: what it must be; None matches any extent.

    Returns: [*shape] array of `dtype`, little-endian, C order, not writeable; no bytes are copied.
    Raises: ProtocolError: naming field, what came and what would be right. Non-finite floats are refused.
    """
    wanted = _wire_dtype(dtype)
    if tensor.dtype != wanted:
        raise malformed(f"{name}: dtype {tensor.dtype}", fix=f"dtype must be {wanted}")
    came = tensor.shape
    # Most shapes agree whole; looking at each extent is for the others.
    if tuple(came) != tuple(shape) and (
        len(came) != len(shape)
        or any(want is not None and want != got for want, got in zip(shape, came, strict=True))
    ):
        readable = ", ".join("any" if extent is None else str(extent) for extent in shape)
        raise malformed(f"{name}: shape {came}", fix=f"shape must be [{readable}]")
    kind = DTYPES[wanted]
    num_bytes = math.prod(came) * kind.itemsize
    if len(tensor.data) != num_bytes:
        raise malformed(
            f"{name}: {len(tensor.data)} bytes of data", fix=f"{wanted} {came} needs {num_bytes} bytes"
        )
    array = np.frombuffer(tensor.data, dtype=kind).reshape(came)
    # `count_nonzero` of flags costs a third of what `all` does.
    if kind.kind == "f" and np.count_nonzero(np.isfinite(array)) != array.size:
        where = [int(index) for index in np.argwhere(~np.isfinite(array))[0]]
        raise malformed(f"{name}: {float(array[tuple(where)])} at {where}", fix="every number must be finite")
    return array


def view(tensor: Tensor) -> NDArray[Any]:
    """[*shape] read-only view of a tensor that was checked, in its own dtype; no bytes are copied."""
    return np.frombuffer(tensor.data, DTYPES[tensor.dtype]).reshape(tensor.shape)


def to_flags(tensor: Tensor, name: str, shape: Sequence[int | None]) -> NDArray[np.bool_]:
    """A read-only boolean view of a uint8 tensor of zeros and ones.

    Returns: [*shape] bool; no bytes are copied.
    Raises: ProtocolError: as `to_numpy`, and for any value other than 0 and 1.
    """
    array = to_numpy(tensor, name, "uint8", shape)
    if array.size and int(array.max()) > 1:
        raise malformed(f"{name}: a flag of {int(array.max())}", fix="flags are 0 or 1")
    return array.view(np.bool_)


def step_numbers(
    numbers: DecidedNumbers | OutcomeNumbers,
    wanted: Mapping[str, str],
    name: str,
    shape: Sequence[int | None],
) -> dict[str, NDArray[Any]]:
    """The numbers of each step that a message has, as they are kept.

    Args:
        wanted: name to dtype, `STEP_NUMBERS` or a part of them.
        name: the message, for error texts ("block").
        shape: of each.

    Returns: read-only views; no bytes are copied.
    Raises: ProtocolError: as `to_numpy` and `to_flags`.
    """
    return {
        key: to_flags(getattr(numbers, key), f"{name}.{key}", shape)
        if dtype == "bool"
        else to_numpy(getattr(numbers, key), f"{name}.{key}", dtype, shape)
        for key, dtype in wanted.items()
    }


def from_numpy(array: NDArray[Any]) -> Tensor:
    """The wire form of an array of any shape; booleans become uint8, bytes are copied once.

    Raises: RuntimeError: for a dtype that the wire does not have (float64, int64, ...): convert on purpose.
    """
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    dtype = _wire_dtype(array.dtype)
    contiguous = np.ascontiguousarray(array, dtype=DTYPES[dtype])
    return Tensor(dtype=dtype, shape=list(array.shape), data=contiguous.tobytes())


@cache
def _wire_dtype(dtype: str | np.dtype[Any] | type) -> DType:
    wanted = np.dtype(dtype)
    for name, kind in DTYPES.items():
        if kind == wanted.newbyteorder("<"):
            return name
    raise RuntimeError(f"the wire has {', '.join(DTYPES)}, got {wanted!r}")
