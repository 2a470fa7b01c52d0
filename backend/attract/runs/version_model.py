"""The ONNX model of a version, from another version's model and the version's checkpoint; without torch.

All models of one policy have the same graph, so only the bytes of the weights differ.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.errors import CheckpointError, FileError
from attract.runs.checkpoint_document import read_document, read_tensors
from attract.runs.directory import MAX_MODEL_BYTES, MODEL, RunDirectory
from attract.settings.collection import MAIN

POLICY_FILE: Final = "policy.safetensors"
# Numbers of the fields in ONNX's protobuf, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
_GRAPH, _METADATA, _INITIALIZER, _DATA_TYPE, _NAME, _RAW_DATA = 7, 14, 5, 2, 8, 9
_VARINT, _BYTES = 0, 2
_FIXED_SIZES: Final = {1: 8, 5: 4}
_FLOAT32 = 1
_MAX_VARINT_BYTES = 10
log = logging.getLogger(__name__)


def version_model(checkpoint: Path, policy_id: str, template: bytes) -> bytes:
    """The model of one policy in a checkpoint.

    Args:
        checkpoint: the version's folder.
        policy_id: which of the run's policies.
        template: ONNX bytes of any other version of that policy, with or without the output `action`.

    Returns: ONNX bytes without the template's metadata, which are of another version.
    Raises: CheckpointError: the checkpoint is damaged or gone, or the template is of another network.
    """
    weights = _weights(checkpoint, policy_id)
    model = bytearray(template)
    cuts: list[tuple[int, int]] = []
    places: dict[str, slice] = {}
    is_behind_weights = False
    try:
        for field, begin, end, start in _fields(template, 0, len(template)):
            if field == _METADATA:
                cuts.append((start, end))
            if field != _GRAPH:
                continue
            for inner, inner_begin, inner_end, _ in _fields(template, begin, end):
                if inner != _INITIALIZER:
                    continue
                name, place = _initializer(template, inner_begin, inner_end)
                if name not in weights or place is None:
                    # The weights come first; what follows are constants of the graph.
                    is_behind_weights = True
                elif is_behind_weights:
                    raise CheckpointError(str(checkpoint), "it lacks weights that the run's model has")
                else:
                    places[name] = place
    except (IndexError, UnicodeDecodeError) as error:
        raise CheckpointError(str(checkpoint), f"the run's model is damaged: {error}") from None
    for name, place in places.items():
        data = weights[name].tobytes()
        if len(data) != place.stop - place.start:
            raise CheckpointError(str(checkpoint), f"{name} is of another size than in the run's model")
        model[place] = data
    if not places:
        raise CheckpointError(str(checkpoint), "the run's model has none of its weights")
    for begin, end in reversed(cuts):
        del model[begin:end]
    return bytes(model)


def opponent_models(directory: RunDirectory) -> dict[int, bytes]:
    """The model of each opponent of a run of one policy, by version; of those that are damaged none."""
    template = directory.read(MODEL, MAX_MODEL_BYTES)
    found: dict[int, bytes] = {}
    if template is None:
        return found
    for version in directory.opponents():
        try:
            folder = directory.inside(directory.checkpoints / str(version))
            found[version] = version_model(folder, MAIN, template)
        except (CheckpointError, FileError, OSError) as error:
            log.warning("version %d is no opponent any more: %s", version, error)
    return found


def _weights(checkpoint: Path, policy_id: str) -> dict[str, NDArray[Any]]:
    """The float32 tensors of a policy by name: its weights, and what is kept beside them."""
    # A fleet imports the server, and has no safetensors.
    import safetensors.numpy
    from safetensors import SafetensorError

    document = read_document(checkpoint)
    try:
        tensors: Mapping[str, NDArray[Any]] = safetensors.numpy.load(
            read_tensors(checkpoint, document, POLICY_FILE)
        )
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(str(checkpoint), f"{POLICY_FILE}: {error}") from None
    policies = document.get("policies", {})
    # As `learner.checkpoints.tensor_namespaces` names them.
    prefix = f"{policy_id}/" if len(policies) > 1 else ""
    if policies and policy_id not in policies:
        raise CheckpointError(str(checkpoint), f"it has no policy {policy_id!r}")
    return {
        name.removeprefix(prefix): tensor for name, tensor in tensors.items() if tensor.dtype == np.float32
    }


def _initializer(data: bytes, begin: int, end: int) -> tuple[str, slice | None]:
    """Name of a tensor and the place of its bytes; None unless these are float32."""
    name, place, data_type = "", None, 0
    for field, field_begin, field_end, _ in _fields(data, begin, end):
        if field == _NAME:
            name = data[field_begin:field_end].decode()
        elif field == _RAW_DATA:
            place = slice(field_begin, field_end)
        elif field == _DATA_TYPE:
            data_type, _ = _varint(data, field_begin, end)
    return name, place if data_type == _FLOAT32 else None


def _fields(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field of a protobuf message in `data[begin:end]`: number, begin and end of its value, its start.

    Raises: IndexError: it is none.
    """
    at = begin
    while at < end:
        start = at
        key, at = _varint(data, at, end)
        wire = key & 7
        if wire == _BYTES:
            length, at = _varint(data, at, end)
            last = at + length
        elif wire == _VARINT:
            _, last = _varint(data, at, end)
        elif wire in _FIXED_SIZES:
            last = at + _FIXED_SIZES[wire]
        else:
            raise IndexError(f"no field begins at byte {start}")
        if last > end:
            raise IndexError(f"the field at byte {start} is longer than the message")
        yield key >> 3, at, last, start
        at = last


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = 0
    for place in range(at, min(end, at + _MAX_VARINT_BYTES)):
        value |= (data[place] & 0x7F) << 7 * (place - at)
        if data[place] < 0x80:
            return value, place + 1
    raise IndexError(f"no number at byte {at}")
