"""The versions of a run, and the ONNX models and policy.json that can be had of it."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from attract.errors import CheckpointError, UnknownRunError
from attract.runs.archive import RunArchive, known_run
from attract.runs.version_model import version_model
from attract.schema.run_list import VersionsView
from attract.settings.collection import policy_ids

if TYPE_CHECKING:
    # A command that only reads past runs imports no active one.
    from attract.run.active import ActiveRun

MAX_CACHED_BYTES: Final = 32 << 20
"""Size of all models of older versions at hand; the one that was asked for longest ago goes first."""

ModelKey = tuple[str, int, str, int]
"""Run, version, policy, and when its checkpoint was written: a run that was rolled back makes it anew."""


class RunModels:
    """Models by run, version and policy; `active` gives the active run, if there is one."""

    def __init__(self, archive: RunArchive, active: Callable[[], "ActiveRun | None"]) -> None:
        self._archive = archive
        self._active = active
        self._made: OrderedDict[ModelKey, bytes] = OrderedDict()
        """Models of older versions, the one asked for last at the end."""
        self._lock = Lock()

    def policy_ids(self, run_id: str) -> tuple[str, ...]:
        """A run's policies. Raises: UnknownRunError."""
        if (run := self._active_run(run_id)) is not None:
            return policy_ids(run.settings.collection.seats)
        return self._archive.policy_ids(run_id)

    def versions(self, run_id: str) -> VersionsView:
        """The versions that are there. It reads files: not for the event loop. Raises: UnknownRunError."""
        return VersionsView(run_id=run_id, versions=self._archive.versions(run_id))

    def latest_version(self, run_id: str) -> int:
        """Newest version whose ONNX models can be had. Raises: UnknownRunError."""
        if (run := self._active_run(run_id)) is not None:
            name, *_ = self.policy_ids(run_id)
            if run.policy(run.policy_version, name) is None:
                raise UnknownRunError(f"run {run_id} has no policy yet")
            return run.policy_version
        version = self._archive.exported_version(run_id)
        if version is None:
            raise UnknownRunError(f"run {run_id} has exported no policy")
        return version

    async def model(self, run_id: str, version: int, policy_id: str | None = None) -> bytes:
        """ONNX bytes of a version: a recent one of the active run, the exported one, or made of a checkpoint.

        Args:
            policy_id: which of the run's policies; None: its sole one.

        Raises: UnknownRunError: no such run, policy or version, or it has several policies and none is named.
        """
        is_active = self._active_run(run_id) is not None
        names = self.policy_ids(run_id) if is_active else await asyncio.to_thread(self.policy_ids, run_id)
        if policy_id is None and len(names) == 1:
            policy_id = names[0]
        if policy_id is None or policy_id not in names:
            problem = "several policies" if policy_id is None else f"no policy {policy_id}"
            raise UnknownRunError(f"run {run_id} has {problem}: name one of {', '.join(names)} by ?policy=")
        if (run := self._active_run(run_id)) is not None:
            onnx = run.policy(version, policy_id)
            if onnx is not None:
                return onnx
        return await asyncio.to_thread(self._saved, run_id, version, policy_id)

    async def all_models(self, run_id: str, version: int) -> dict[str, bytes]:
        """As `model`, of each of the run's policies by its id."""
        return {name: await self.model(run_id, version, name) for name in self.policy_ids(run_id)}

    def document(self, run_id: str) -> bytes:
        """The `policy.json` of a run's export. Raises: UnknownRunError: no such run, or nothing exported."""
        document = self._archive.exported_document(run_id)
        if document is None:
            raise UnknownRunError(f"run {run_id} has exported no policy")
        return document

    def _saved(self, run_id: str, version: int, policy_id: str) -> bytes:
        """The exported model, or one made of a checkpoint."""
        with known_run(run_id):
            directory = self._archive.directory(run_id)
            if self._archive.exported_version(run_id) == version:
                return self._archive.exported_model(run_id, policy_id)
            template = self._archive.template(run_id, policy_id)
            folder, latest = (
                directory.inside(directory.checkpoints / str(version)),
                directory.marked("latest"),
            )
        is_announced = latest is None or version <= latest
        if not is_announced or not folder.is_dir():
            raise UnknownRunError(f"version {version} of run {run_id} is not there any more")
        if template is None:
            raise UnknownRunError(
                f"run {run_id} has no model from which those of its versions are made: "
                f"`attract export {run_id} --out DIR --version {version}` makes this one"
            )
        return self._made_of(run_id, folder, version, policy_id, template)

    def _made_of(self, run_id: str, folder: Path, version: int, policy_id: str, template: bytes) -> bytes:
        try:
            key = (run_id, version, policy_id, folder.stat().st_mtime_ns)
            with self._lock:
                if key in self._made:
                    self._made.move_to_end(key)
                    return self._made[key]
            model = version_model(folder, policy_id, template)
        except CheckpointError as error:
            raise UnknownRunError(
                f"version {version} of run {run_id} cannot be played: {error.problem}"
            ) from None
        except OSError:
            raise UnknownRunError(f"version {version} of run {run_id} is not there any more") from None
        with self._lock:
            self._made[key] = model
            num_bytes = sum(map(len, self._made.values()))
            while num_bytes > MAX_CACHED_BYTES:
                _, oldest = self._made.popitem(last=False)
                num_bytes -= len(oldest)
        return model

    def _active_run(self, run_id: str) -> "ActiveRun | None":
        """The active run, if it is this one."""
        run = self._active()
        return None if run is None or run.run_id != run_id else run
