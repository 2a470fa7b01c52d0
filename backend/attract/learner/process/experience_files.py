"""Experience that outlives the learner: a file for each policy of a run, beside the checkpoints."""

import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attract.learner.algorithms.algorithm import Algorithm, HasExperience

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
        clock: in seconds.
    """

    def __init__(
        self,
        run_dir: Path,
        algorithms: Mapping[str, Algorithm],
        game_sha256: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = run_dir / FOLDER
        self._kept = {
            policy_id: algorithm
            for policy_id, algorithm in algorithms.items()
            if isinstance(algorithm, HasExperience) and algorithm.save_minutes is not None
        }
        self._game_sha256 = game_sha256
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
                tensors, document = _read(path)
                if document["game_sha256"] != self._game_sha256:
                    raise ValueError("it is of another game")
                steps = algorithm.restore_experience(tensors, document)
            except (OSError, EOFError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
                notes.append(f"{path.name} was not loaded: {type(error).__name__}: {error}")
            else:
                notes.append(f"the replay buffer goes on with {steps:,} saved steps")
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


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Raises: OSError, EOFError, BadZipFile, KeyError, ValueError: it is not there, or not whole."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
        arrays = {name: saved[name] for name in saved.files}
    document = json.loads(arrays.pop(_ABOUT).tobytes())
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, document
