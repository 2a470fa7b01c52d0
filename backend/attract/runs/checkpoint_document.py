"""The JSON of a checkpoint: what it says beside its tensors, sealed by a hash; read without torch."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from attract.errors import CheckpointError

FORMAT_VERSION = 1
DOCUMENT_FILE = "checkpoint.json"
_MAX_BYTES = 16 << 20


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
        document = json.loads(data)
    except ValueError as error:
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != "attract-checkpoint":
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} is not a checkpoint's")
    document = cast("dict[str, Any]", document)
    if document.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            str(path), f"format {document.get('format_version')!r}; this version reads {FORMAT_VERSION}"
        )
    if document.get("sha256") != _sha256(document):
        raise CheckpointError(str(path), f"{DOCUMENT_FILE} is not what was written (its SHA-256 differs)")
    return document


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
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(str(path.parent), f"{path.name}: {error.strerror}") from error


def _sha256(document: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
