"""The JSON of a checkpoint: what it says beside its tensors, sealed by a hash; read without torch."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attract.errors import CheckpointError, FileError
from attract.files import first_problem, parse_object, read_file
from attract.schema.learner import Counters

FORMAT_VERSION = 1
DOCUMENT_FILE = "checkpoint.json"
_MAX_BYTES = 16 << 20
_MAX_TENSOR_BYTES = 4 << 30


def sealed(policy_version: int, document: Mapping[str, Any]) -> dict[str, Any]:
    """`document`, which holds JSON values, as it is written: with its format, its version and its hash."""
    whole: dict[str, Any] = {
        "format": "attract-checkpoint",
        "format_version": FORMAT_VERSION,
        "policy_version": policy_version,
        **document,
    }
    return {**whole, "sha256": _sha256(whole)}


def read_document(path: Path) -> dict[str, Any]:
    """What the checkpoint folder `path` says, checked against its own hash; its tensors are not looked at.

    Raises: CheckpointError: when it is missing, cut short, changed, or of a format not known here.
    """
    if not path.is_dir():
        raise CheckpointError(str(path), "there is no such folder")
    data = read_exactly(path / DOCUMENT_FILE, None)
    try:
        document = parse_object(data, path / DOCUMENT_FILE)
    except FileError as error:
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} {error.problem}") from None
    if document.get("format") != "attract-checkpoint":
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} is not a checkpoint's")
    if document.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            str(path), f"format {document.get('format_version')!r}; this version reads {FORMAT_VERSION}"
        )
    if document.get("sha256") != _sha256(document):
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} is not what was written (its SHA-256 differs)")
    _check_parts(path, document)
    return document


def read_counters(path: Path) -> Counters:
    """What a run had counted when it wrote the checkpoint folder `path`.

    Raises: CheckpointError: as `read_document`, or it has no counters.
    """
    return counters_of(path, read_document(path))


def counters_of(path: Path, document: Mapping[str, Any]) -> Counters:
    """The counters in a checkpoint's document, which was read from folder `path`. Raises: CheckpointError."""
    try:
        return Counters.model_validate(document.get("counters"))
    except ValidationError as error:
        raise CheckpointError(str(path), f"{DOCUMENT_FILE}: counters: {first_problem(error)}") from None


def read_tensors(path: Path, document: Mapping[str, Any], name: str) -> bytes:
    """The bytes of one of a checkpoint's files of tensors, checked against its document.

    Raises: CheckpointError: the document does not describe it, or it is not what was written.
    """
    described = document.get("files", {}).get(name)
    size = described.get("bytes") if isinstance(described, dict) else None
    if not isinstance(size, int) or not 0 <= size <= _MAX_TENSOR_BYTES:
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} does not say how large {name} is")
    data = read_exactly(path / name, size)
    if hashlib.sha256(data).hexdigest() != described.get("sha256"):
        raise CheckpointError(str(path), f"{name} is not what was written (its SHA-256 differs)")
    return data


def _check_parts(path: Path, document: Mapping[str, Any]) -> None:
    """Check the types that readers rely on: the seal proves only that the file is whole."""
    version = document.get("policy_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise CheckpointError(str(path), f"{DOCUMENT_FILE}: policy_version is no version's number")
    for name in ("files", "counters", "curriculum", "policies", "metrics", "lineage"):
        if not isinstance(document.get(name, {}), dict):
            raise CheckpointError(str(path), f"{DOCUMENT_FILE}: {name} is not a JSON object")
    for policy_id, own in document.get("policies", {}).items():
        if not isinstance(own, dict):
            raise CheckpointError(
                str(path), f"{DOCUMENT_FILE}: policies.{policy_id[:80]} is not a JSON object"
            )


def read_exactly(path: Path, num_bytes: int | None) -> bytes:
    """All bytes of a checkpoint's file; its size is checked before anything is read.

    Args:
        num_bytes: how many it must have; None: at most 16 MiB.

    Raises: CheckpointError: when it has another size, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if num_bytes is not None and size != num_bytes:
            raise CheckpointError(str(path.parent), f"{path.name} has {size} bytes, expected {num_bytes}")
        if num_bytes is None and size > _MAX_BYTES:
            raise CheckpointError(str(path.parent), f"{path.name} has {size} bytes, too many")
        return read_file(path, _MAX_BYTES if num_bytes is None else num_bytes, path.parent.parent)
    except FileError as error:
        raise CheckpointError(str(path.parent), f"{path.name}: {error.problem}") from None
    except OSError as error:
        raise CheckpointError(str(path.parent), f"{path.name}: {error.strerror}") from error


def _sha256(document: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
