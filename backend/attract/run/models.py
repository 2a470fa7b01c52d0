"""The ONNX models and policy.json of a run that can be had: of the active one, or what was exported."""

from collections.abc import Callable

from attract.errors import UnknownRunError
from attract.run.active import ActiveRun
from attract.run.plan import policy_ids
from attract.run.record import RunArchive, known_run


class RunModels:
    """Models by run, version and policy; `active` gives the active run, if there is one."""

    def __init__(self, archive: RunArchive, active: Callable[[], ActiveRun | None]) -> None:
        self._archive = archive
        self._active = active

    def policy_ids(self, run_id: str) -> tuple[str, ...]:
        """A run's policies. Raises: UnknownRunError."""
        if (run := self._active_run(run_id)) is not None:
            return policy_ids(run.settings.collection.seats)
        with known_run(run_id):
            return self._archive.policy_ids(run_id)

    def latest_version(self, run_id: str) -> int:
        """Newest version whose ONNX models can be had. Raises: UnknownRunError."""
        if (run := self._active_run(run_id)) is not None:
            name, *_ = self.policy_ids(run_id)
            if run.policy(run.policy_version, name) is None:
                raise UnknownRunError(f"run {run_id} has no policy yet")
            return run.policy_version
        with known_run(run_id):
            version = self._archive.exported_version(run_id)
        if version is None:
            raise UnknownRunError(f"run {run_id} has exported no policy")
        return version

    def model(self, run_id: str, version: int, policy_id: str | None = None) -> bytes:
        """ONNX bytes of a recent version of the active run, or the exported one.

        Args:
            policy_id: which of the run's policies; None: its sole one.

        Raises: UnknownRunError: no such run, policy or version, or it has several policies and none is named.
        """
        names = self.policy_ids(run_id)
        if policy_id is None and len(names) == 1:
            policy_id = names[0]
        if policy_id is None or policy_id not in names:
            problem = "several policies" if policy_id is None else f"no policy {policy_id}"
            raise UnknownRunError(f"run {run_id} has {problem}: name one of {', '.join(names)} by ?policy=")
        if (run := self._active_run(run_id)) is not None:
            onnx = run.policy(version, policy_id)
            if onnx is not None:
                return onnx
        with known_run(run_id):
            if self._archive.exported_version(run_id) == version:
                return self._archive.exported_model(run_id, policy_id)
        raise UnknownRunError(f"run {run_id} no longer has the model of version {version} at hand")

    def document(self, run_id: str) -> bytes:
        """The `policy.json` of a run's export. Raises: UnknownRunError: no such run, or nothing exported."""
        with known_run(run_id):
            document = self._archive.exported_document(run_id)
        if document is None:
            raise UnknownRunError(f"run {run_id} has exported no policy")
        return document

    def _active_run(self, run_id: str) -> ActiveRun | None:
        """The active run, if it is this one."""
        run = self._active()
        return None if run is None or run.run_id != run_id else run
