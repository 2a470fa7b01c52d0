"""Checkpoints: safetensors and JSON in one folder per version, complete or not there at all (rule D1)."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import safetensors.numpy
import safetensors.torch
import torch
from safetensors import SafetensorError

from attract.errors import CheckpointError
from attract.learner.checkpoints.tensor_namespaces import strip_prefix
from attract.runs.checkpoint_document import DOCUMENT_FILE, read_document, read_tensors, sealed

POLICY_FILE = "policy.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
_TEMPORARY_PREFIX = ".writing-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One version as read back: plain data, not shared with anything."""

    path: Path
    policy_version: int
    policy: dict[str, torch.Tensor]
    """The policy's state dict and the observation statistics; of several, named by `with_prefixes`."""
    optimizer: dict[str, torch.Tensor]
    document: dict[str, Any]
    """Everything that is no tensor: counters, curriculum, random state, settings."""

    @property
    def policy_ids(self) -> tuple[str, ...]:
        """Names of the policies that it holds; empty where it holds a sole one."""
        return tuple(self.document.get("policies", {}))

    def part(self, policy_id: str) -> Self:
        """The part of one of several policies, as a checkpoint of a sole one.

        Raises: CheckpointError: when it holds none of that name.
        """
        own = self.document.get("policies", {}).get(policy_id)
        if own is None:
            held = ", ".join(self.policy_ids)
            raise CheckpointError(str(self.path), f"it has no policy {policy_id!r}; it has {held}")
        return replace(
            self,
            policy=strip_prefix(self.policy, policy_id, self.policy_ids),
            optimizer=strip_prefix(self.optimizer, policy_id, self.policy_ids),
            document={**{key: value for key, value in self.document.items() if key != "policies"}, **own},
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version as the files of its folder: safe to write, on another thread, during the next update."""

    policy_version: int
    files: Mapping[str, bytes]
    document: Mapping[str, Any]
    """What was to be kept beside the tensors."""

    @classmethod
    def take(
        cls,
        policy_version: int,
        policy: Mapping[str, torch.Tensor],
        optimizer: Mapping[str, torch.Tensor],
        document: Mapping[str, Any],
    ) -> Self:
        """Serialise the version as it stands; `document` holds JSON values."""
        files = {POLICY_FILE: to_bytes(policy), OPTIMIZER_FILE: to_bytes(optimizer)}
        described = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in files.items()
        }
        whole = sealed(policy_version, {**document, "files": described})
        files[DOCUMENT_FILE] = json.dumps(whole).encode()
        return cls(policy_version, files, document)


def write_checkpoint(checkpoints: Path, snapshot: Snapshot) -> Path:
    """Make the snapshot durable as `checkpoints/<version>`; when this returns it survives a power cut (D1).

    Raises: OSError: when the disk refuses; nothing half-written is left under the version's name.
    """
    target = checkpoints / str(snapshot.policy_version)
    temporary = checkpoints / f"{_TEMPORARY_PREFIX}{snapshot.policy_version}"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        _write_durably(temporary, snapshot.files)
        _fsync_folder(temporary)
        temporary.rename(target)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    try:
        _fsync_folder(checkpoints)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint folder, every byte checked against the hashes in its document.

    Raises: CheckpointError: when something is missing, cut short, changed, or of a format not known here.
    """
    document = read_document(path)
    tensors: dict[str, dict[str, torch.Tensor]] = {}
    for name in (POLICY_FILE, OPTIMIZER_FILE):
        try:
            tensors[name] = safetensors.torch.load(read_tensors(path, document, name))
        except (SafetensorError, ValueError, KeyError) as error:
            raise CheckpointError(str(path), f"{name}: {error}") from error
    return Checkpoint(
        path, int(document["policy_version"]), tensors[POLICY_FILE], tensors[OPTIMIZER_FILE], document
    )


def find_newest(checkpoints: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, and a note for each newer one that was passed over."""
    notes: list[str] = []
    for version in sorted(versions_in(checkpoints), reverse=True):
        try:
            return load_checkpoint(checkpoints / str(version)), notes
        except CheckpointError as error:
            notes.append(f"passed over: {error}")
    return None, notes


def versions_in(checkpoints: Path) -> list[int]:
    """Versions that have a folder, whole or not, in no order."""
    if not checkpoints.is_dir():
        return []
    return [int(entry.name) for entry in checkpoints.iterdir() if entry.name.isdecimal() and entry.is_dir()]


def set_aside_newer(checkpoints: Path, policy_version: int | None) -> None:
    """Rename versions above `policy_version` (None: all) out of the way; delete half-written folders."""
    if not checkpoints.is_dir():
        return
    for entry in checkpoints.iterdir():
        if entry.name.startswith(_TEMPORARY_PREFIX):
            shutil.rmtree(entry, ignore_errors=True)
    for version in versions_in(checkpoints):
        if policy_version is None or version > policy_version:
            number = 0
            while (aside := checkpoints / f"{version}.broken-{number}").exists():
                number += 1
            (checkpoints / str(version)).rename(aside)


def weights_sha256(state: Mapping[str, torch.Tensor]) -> str:
    """Hash of names, types, shapes and bytes of a state dict, sorted by name; equal on every device."""
    digest = hashlib.sha256()
    for name in sorted(state):
        array = state[name].detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}\n".encode())
        digest.update(array.numpy().tobytes())
    return digest.hexdigest()


def to_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """The tensors in safetensors' format, sorted by name: equal tensors give equal bytes."""
    # The same bytes as safetensors gives for torch's tensors, in a third of the time: it looks for shared
    # memory first.
    return safetensors.numpy.save(
        {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in sorted(tensors.items())}
    )


def _write_durably(folder: Path, files: Mapping[str, bytes]) -> None:
    with contextlib.ExitStack() as stack:
        written = [stack.enter_context((folder / name).open("wb")) for name in files]
        for file, data in zip(written, files.values(), strict=True):
            file.write(data)
            file.flush()
        # All written first: the sync of one file takes most of what the others need to the disk with it.
        for file in written:
            os.fsync(file.fileno())


def _fsync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
