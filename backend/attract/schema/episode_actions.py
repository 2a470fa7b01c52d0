"""A recorded episode's actions between base64 and arrays, bounded before anything is unpacked."""

import base64
import binascii
import math
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.errors import ConfigurationError
from attract.schema.recorded_episode import (
    HASH_DIGITS,
    MAX_ACTION_BYTES,
    PackedActions,
    RecordedEpisode,
)

DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "uint8": np.dtype("u1"),
    "uint16": np.dtype("<u2"),
    "int32": np.dtype("<i4"),
    "float32": np.dtype("<f4"),
}
RAW_DEFLATE: Final = -15
"""`zlib`'s name for a stream without header."""


def unpack_actions(packed: PackedActions) -> NDArray[Any]:
    """The numbers of packed actions.

    Returns: [steps, agents] or [steps, agents, components] of the packed dtype, not writeable.

    Raises: ConfigurationError: the data is damaged, or is not what dtype and shape say.
    """
    kind = DTYPES[packed.dtype]
    num_bytes = math.prod(packed.shape) * kind.itemsize
    if num_bytes > MAX_ACTION_BYTES:
        raise ConfigurationError(
            f"{packed.shape} of {packed.dtype} has {num_bytes:,} bytes; the limit is {MAX_ACTION_BYTES:,}",
            setting="actions.shape",
        )
    try:
        data = base64.b64decode(packed.data, validate=True)
        if packed.deflated:
            data = _inflated(data, num_bytes)
    except (binascii.Error, zlib.error) as error:
        raise ConfigurationError(f"the actions are damaged: {error}", setting="actions.data") from None
    if len(data) != num_bytes:
        raise ConfigurationError(
            f"{len(data):,} bytes, where shape {packed.shape} of {packed.dtype} needs {num_bytes:,}",
            setting="actions.data",
        )
    return np.frombuffer(data, kind).reshape(packed.shape)


def pack_actions(actions: NDArray[Any]) -> PackedActions:
    """Deflate actions, [steps, agents] or [steps, agents, components], whole numbers in the least dtype.

    Raises: RuntimeError: for a dtype that is neither float32 nor whole.
    """
    if actions.dtype.kind == "f":
        name = "float32"
    elif actions.dtype.kind in "iu":
        highest = int(actions.max(initial=0))
        lowest = int(actions.min(initial=0))
        name = "int32" if lowest < 0 or highest > 0xFFFF else "uint8" if highest <= 0xFF else "uint16"
    else:
        raise RuntimeError(f"actions are float32 or whole numbers, got {actions.dtype}")
    data = np.ascontiguousarray(actions, DTYPES[name]).tobytes()
    packer = zlib.compressobj(9, zlib.DEFLATED, RAW_DEFLATE)
    packed = packer.compress(data) + packer.flush()
    is_smaller = len(packed) < len(data)
    return PackedActions(
        dtype=name,
        shape=list(actions.shape),
        deflated=is_smaller,
        data=base64.b64encode(packed if is_smaller else data).decode(),
    )


def deflated(episode: RecordedEpisode) -> RecordedEpisode:
    """The same episode with its actions as small as they are kept. Raises: as `unpack_actions`."""
    if episode.actions.deflated:
        return episode
    return episode.model_copy(update={"actions": pack_actions(unpack_actions(episode.actions))})


def check_recorded(episode: RecordedEpisode) -> None:
    """Check what its fields say of each other.

    Raises: ConfigurationError: naming the field that disagrees; or as `unpack_actions`.
    """
    num_agents = len(episode.seats)
    steps, agents = episode.actions.shape[:2]
    if steps != episode.num_steps:
        raise ConfigurationError(
            f"{steps} steps of actions, `num_steps` says {episode.num_steps}", setting="actions.shape"
        )
    if agents != num_agents:
        raise ConfigurationError(
            f"actions of {agents} agents, `seats` has {num_agents}", setting="actions.shape"
        )
    if len(episode.returns) != num_agents:
        raise ConfigurationError(
            f"{len(episode.returns)} returns, `seats` has {num_agents} agents", setting="returns"
        )
    if (episode.error is not None) != (episode.end_reason == "failed"):
        raise ConfigurationError(
            f"`end_reason` is {episode.end_reason}: only a failed episode has an error", setting="error"
        )
    wanted = num_marks(episode.num_steps, episode.marks.interval)
    found = len(episode.marks.hashes) // HASH_DIGITS
    if found not in (0, wanted):
        raise ConfigurationError(
            f"{found} hashes: {episode.num_steps} steps with one every {episode.marks.interval} need "
            f"{wanted}",
            setting="marks.hashes",
        )
    unpack_actions(episode.actions)


def num_marks(num_steps: int, interval: int) -> int:
    """How many marks an episode has: one before step 0, and one before every `interval`-th step."""
    return -(-num_steps // interval)


def _inflated(data: bytes, num_bytes: int) -> bytes:
    """At most one byte more than expected: a stranger's file cannot fill the memory."""
    stream = zlib.decompressobj(RAW_DEFLATE)
    return stream.decompress(data, num_bytes + 1)
