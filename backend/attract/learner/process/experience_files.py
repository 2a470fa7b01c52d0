"""Experience that outlives the learner: a file for each policy of a run, beside the checkpoints."""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED

import numpy as np
import torch
from torch import Tensor

from attract.files import open_file, parse_object
from attract.learner.algorithms.algorithm import Algorithm, HasExperience
from attract.learner.replay.buffer import Column

FOLDER = "replay"
_ABOUT = "about"
"""Name of the JSON values among the arrays."""


class ExperienceFiles:
    """Saves and loads the experience of a run's policies; on the learner's main thread.

    A file is written beside the last one and then renamed, so that one of them is whole whatever happens.
    It takes no more than the experience itself. What it holds may be older or newer than the checkpoint.

    Args:
        run_dir: the run directory; the files are in its folder `replay`.
        algorithms: by policy id; those without experience have no file.
        game_sha256: of the description of the game. A file of another game is not loaded.
        columns: what a file of this game has by name, beside its JSON values.
        clock: in seconds.
    """

    def __init__(
        self,
        run_dir: Path,
        algorithms: Mapping[str, Algorithm],
        game_sha256: str,
        columns: Mapping[str, Column],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = run_dir / FOLDER
        self._kept = {
            policy_id: algorithm
            for policy_id, algorithm in algorithms.items()
            if isinstance(algorithm, HasExperience) and algorithm.save_minutes is not None
        }
        self._game_sha256 = game_sha256
        self._columns = columns
        self._clock = clock
        self._saved_at = clock()

    def save_if_due(self) -> str | None:
        """Save once the minutes have passed since the last time; see `save`."""
        minutes = min((kept.save_minutes or 0.0 for kept in self._kept.values()), default=None)
        if minutes is None or self._clock() - self._saved_at < 60.0 * minutes:
            return None
        return self.save()

    def save(self) -> str | None:
        """Save all there is; why the disk did not take it, None: it did, or there is nothing to save."""
        self._saved_at = self._clock()
        try:
            for policy_id, algorithm in self._kept.items():
                tensors, document = algorithm.experience()
                if any(len(tensor) for tensor in tensors.values()):
                    self._write(policy_id, tensors, {**document, "game_sha256": self._game_sha256})
        except OSError as error:
            return f"the replay buffer was not saved: {error}"
        return None

    def load(self) -> tuple[list[str], bool]:
        """Give each policy what was saved; what became of it, and whether every policy has its own again."""
        notes: list[str] = []
        num_loaded = 0
        for policy_id, algorithm in self._kept.items():
            path = self._path(policy_id)
            try:
                tensors, document = self._read(path)
                steps = algorithm.restore_experience(tensors, document)
            except Exception as error:
                # A file may be damaged in any way; without it the run goes on as one that saved none.
                notes.append(f"{path.name} was not loaded: {type(error).__name__}: {str(error)[:300]}")
            else:
                notes.append(f"the replay buffer continues with {steps:,} saved steps")
                num_loaded += 1
        return notes, bool(self._kept) and num_loaded == len(self._kept)

    def _path(self, policy_id: str) -> Path:
        return self._folder / f"{policy_id}.npz"

    def _write(self, policy_id: str, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        self._folder.mkdir(exist_ok=True)
        path = self._path(policy_id)
        temporary = path.with_suffix(".writing")
        arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
        arrays[_ABOUT] = np.frombuffer(json.dumps(document).encode(), np.uint8)
        try:
            with temporary.open("wb") as file:
                # Array by array, with a checksum of each, and no copy of the whole.
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        with open_file(path, self._folder) as file, np.load(file, allow_pickle=False) as saved:
            members = {member.filename: member.compress_type for member in saved.zip.infolist()}
            # Stored as they are, arrays take no more memory than the file has bytes.
            if members != dict.fromkeys([f"{name}.npy" for name in (*self._columns, _ABOUT)], ZIP_STORED):
                raise ValueError(f"it is of another form: {', '.join(members)[:200]}")
            document = parse_object(saved[_ABOUT].tobytes(), path)
            if document["game_sha256"] != self._game_sha256:
                raise ValueError("it is of another game")
            arrays = {name: saved[name] for name in self._columns}
        for name, (dtype, shape, below) in self._columns.items():
            array = arrays[name]
            if array.dtype != dtype or array.shape[1:] != shape or array.ndim != len(shape) + 1:
                raise ValueError(f"{name} is {array.dtype} {array.shape[1:]}, this game's is {dtype} {shape}")
            if below is not None and not bool(((array >= 0) & (array < below)).all()):
                raise ValueError(f"{name} has numbers that the game does not know")
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, document
