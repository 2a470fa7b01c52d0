"""What is known of one run, active or past, whichever process writes it: read from its folder."""

import contextlib
import functools
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from typing_extensions import override

from attract.curriculum.window import EVALUATION_PREFIX, RETURN
from attract.errors import (
    AttractError,
    ConfigurationError,
    DamagedRunError,
    FileError,
    UnknownRunError,
)
from attract.files import parse_model, parse_object
from attract.runs.config_file import CONFIG
from attract.runs.directory import MAX_MODEL_BYTES, MODEL, RunDirectory, list_run_ids
from attract.runs.disk import is_locked
from attract.runs.exports import DOCUMENT_FILE, export_models, model_file
from attract.runs.log_entries import read_entries
from attract.runs.matches import read_match
from attract.runs.metrics import Event, MetricsStore
from attract.runs.plain_text import plain
from attract.runs.trash import TRASH, deleted_runs
from attract.schema.api import LogEntry, RunState, RunView
from attract.schema.match import MatchReport
from attract.schema.metrics import MetricsView
from attract.schema.run_list import VersionEvaluation, VersionView
from attract.settings.collection import policy_ids

VIEW = "view"
"""The fact that has how a run stood last."""
UNFINISHED = ("starting", "running", "paused", "evaluating")
MAX_REASON_CHARACTERS = 300
VERSION_METRICS = (
    RETURN,
    *(f"{family}{name}" for family in EVALUATION_PREFIX.values() for name in ("mean_reward", "std_reward")),
)
"""Metrics that a list of versions shows."""

P = ParamSpec("P")
R = TypeVar("R")


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: " + plain(str(error) or name, MAX_REASON_CHARACTERS)


@contextlib.contextmanager
def damage_named(run_id: str) -> Generator[None]:
    """Name the run whose files make the block fail, whatever they hold.

    Raises: DamagedRunError: in place of any other error than those that say what to do.
    """
    try:
        yield
    except FileError as error:
        raise DamagedRunError(
            run_id, f"{error.path.name}: {plain(error.problem, MAX_REASON_CHARACTERS)}"
        ) from None
    except AttractError:
        raise
    except Exception as error:
        raise DamagedRunError(run_id, _reason(error)) from None


@contextlib.contextmanager
def known_run(run_id: str) -> Generator[None]:
    """As `damage_named`, for who asks for a run by its id: UnknownRunError where there is none."""
    try:
        with damage_named(run_id):
            yield
    except ConfigurationError as error:
        raise UnknownRunError(str(error)) from None


def _of_run(
    method: Callable[Concatenate["RunArchive", str, P], R],
) -> Callable[Concatenate["RunArchive", str, P], R]:
    """A method for who asks for a run by its id: as `known_run`."""

    @functools.wraps(method)
    def ask(self: "RunArchive", run_id: str, *args: P.args, **kwargs: P.kwargs) -> R:
        with known_run(run_id):
            return method(self, run_id, *args, **kwargs)

    return ask


class RunArchive:
    """Reads any run of a runs directory, whichever process writes it; owned by the run service.

    What is asked for by a run's id raises UnknownRunError where there is no such run or thing, and
    DamagedRunError where it cannot be read.
    """

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir

    def run_ids(self) -> list[str]:
        """All runs, newest first."""
        return list_run_ids(self.runs_dir) if self.runs_dir.is_dir() else []

    @_of_run
    def directory(self, run_id: str) -> RunDirectory:
        """One run's folder, unlocked."""
        return RunDirectory.view(self.runs_dir, run_id)

    @_of_run
    def view(self, run_id: str) -> RunView:
        """How the run stood last. One whose process died without saying so counts as stopped."""
        directory = self.directory(run_id)
        with self.opened(directory) as (_, data):
            pass
        reference, description = directory.read_game()
        found = {"description": description, "game_reference": reference}
        data = {**data, **found, "newest_model": self.exported_version(run_id)}
        view = parse_model(data, RunView, directory.metrics_path)
        state = state_now(directory, view.state)
        now = {"state": state, "is_elsewhere": state in UNFINISHED}
        return view.model_copy(update={**now, "waiting_seconds": None, "beginning": None})

    @contextlib.contextmanager
    def opened(self, directory: RunDirectory) -> Generator[tuple[MetricsStore, dict[str, Any]]]:
        """A run's database, and what it keeps of how the run stood last, under the name of its folder now.

        Raises: ConfigurationError: when nothing was kept of it.
        """
        path = directory.metrics_path
        if not path.is_file():
            raise ConfigurationError(f"run {directory.run_id} has no metrics yet")
        with contextlib.closing(MetricsStore(path)) as store:
            data = store.fact(VIEW)
            if data is None:
                raise ConfigurationError(f"run {directory.run_id} has not begun")
            if not isinstance(data, dict):
                raise FileError(path, "its view of the run is not an object")
            yield store, {**data, "run_id": directory.run_id}

    @_of_run
    def metrics(
        self,
        run_id: str,
        names: Sequence[str] | None,
        *,
        from_steps: float | None = None,
        to_steps: float | None = None,
        max_points: int = 500,
    ) -> MetricsView:
        """The run's metrics, as `MetricsStore.query`."""
        with contextlib.closing(MetricsStore(self.directory(run_id).metrics_path)) as store:
            return store.query(run_id, names, from_steps=from_steps, to_steps=to_steps, max_points=max_points)

    @_of_run
    def versions(self, run_id: str) -> list[VersionView]:
        """The versions whose checkpoints are there, ascending; one that is not announced yet is left out."""
        directory = self.directory(run_id)
        versions, latest = directory.versions(), directory.marked("latest")
        if not versions or not directory.metrics_path.is_file():
            return []
        best, exported = directory.marked("best"), self.exported_version(run_id)
        with contextlib.closing(MetricsStore(directory.metrics_path)) as store:
            rows = store.of_versions(versions, VERSION_METRICS)
        rows = [row for row in rows if latest is None or row.policy_version <= latest]
        return [
            VersionView(
                policy_version=row.policy_version,
                update=row.update,
                agent_steps=row.agent_steps,
                seconds=row.seconds,
                return_mean=row.values.get(RETURN),
                evaluations=[] if row.is_merged else evaluations_of(row.values),
                best=row.policy_version == best,
                exported=row.policy_version == exported,
                newest=row is rows[-1],
            )
            for row in rows
        ]

    @_of_run
    def policy_ids(self, run_id: str) -> tuple[str, ...]:
        # Not as `read_settings`: the run may be of a time that had other settings.
        collection = self.directory(run_id).read_config()["settings"].get("collection") or {}
        seats = collection.get("seats", ()) if isinstance(collection, dict) else None
        if not isinstance(seats, list | tuple) or not all(isinstance(seat, str) for seat in seats):
            raise DamagedRunError(run_id, f"{CONFIG}: `collection.seats` is not a list of policies")
        return policy_ids(seats)

    @_of_run
    def exported_version(self, run_id: str) -> int | None:
        """Version of the models in the run's `export/`, None unless all of them are there."""
        directory = self.directory(run_id)
        models = export_models(directory.export, self.policy_ids(run_id))
        data = self._exported_file(directory, DOCUMENT_FILE) if all(map(os.path.lexists, models)) else None
        if data is None:
            return None
        path = directory.export / DOCUMENT_FILE
        version = parse_object(data, path).get("policy_version")
        if not isinstance(version, int):
            raise FileError(path, "does not say of which version it is")
        return version

    @_of_run
    def exported_model(self, run_id: str, policy_id: str) -> bytes:
        """ONNX bytes of one of the run's policies; `exported_version` says of which version."""
        name = model_file(policy_id, self.policy_ids(run_id))
        model = self._exported_file(self.directory(run_id), name)
        if model is None:
            raise ConfigurationError(f"run {run_id} has exported no {name}")
        return model

    @_of_run
    def template(self, run_id: str, policy_id: str) -> bytes | None:
        """A model from which those of all versions are made: the kept one, else the exported one."""
        kept = self.directory(run_id).read(MODEL, MAX_MODEL_BYTES)
        if kept is None and self.exported_version(run_id) is not None:
            return self.exported_model(run_id, policy_id)
        return kept

    @_of_run
    def exported_document(self, run_id: str) -> bytes | None:
        """The export's `policy.json`, which says what the models need; None unless all of them are there."""
        if self.exported_version(run_id) is None:
            return None
        return self._exported_file(self.directory(run_id), DOCUMENT_FILE)

    def _exported_file(self, directory: RunDirectory, name: str) -> bytes | None:
        return directory.read(f"{directory.export.name}/{name}", MAX_MODEL_BYTES)

    @_of_run
    def events_after(self, run_id: str, event_id: int) -> list[Event]:
        """The run's kept events with a larger id."""
        with contextlib.closing(MetricsStore(self.directory(run_id).metrics_path)) as store:
            return store.events_after(event_id)

    @_of_run
    def last_event_id(self, run_id: str) -> int:
        """Id of the run's newest kept event, 0 without any."""
        with contextlib.closing(MetricsStore(self.directory(run_id).metrics_path)) as store:
            return store.last_event_id()

    @_of_run
    def match(self, run_id: str) -> MatchReport | None:
        """The newest match that its player was the first of; None: there was none."""
        return read_match(self.directory(run_id))

    @_of_run
    def log_entries(self, run_id: str, *, whole: bool = True) -> list[LogEntry]:
        """The end of the run's log files; without `whole` only the game's console."""
        logs = self.directory(run_id).logs
        return read_entries(logs) if whole else read_entries(logs, ("game",))


class TrashArchive(RunArchive):
    """Reads the deleted runs of a runs directory; the id of each is its name in the trash."""

    def __init__(self, runs_dir: Path) -> None:
        super().__init__(runs_dir / TRASH)

    @override
    def run_ids(self) -> list[str]:
        """All of them, in no order."""
        return deleted_runs(self.runs_dir.parent)


def state_now(directory: RunDirectory, state: RunState) -> RunState:
    """The state of a run that was left in `state`: a process that died said nothing."""
    return "stopped" if state in UNFINISHED and not is_locked(directory.path) else state


def evaluations_of(values: Mapping[str, float]) -> list[VersionEvaluation]:
    """The evaluations that a version's metrics tell of."""
    return [
        VersionEvaluation(
            deterministic=deterministic,
            return_mean=values[f"{family}mean_reward"],
            return_std=values.get(f"{family}std_reward"),
        )
        for deterministic, family in EVALUATION_PREFIX.items()
        if f"{family}mean_reward" in values
    ]
