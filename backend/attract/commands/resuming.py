"""`attract train --resume=auto`: starts a run, continues it, or finds it complete."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract.run.start_checks import trained_steps
from attract.runs.archive import RunArchive
from attract.runs.directory import LATEST, RunDirectory, discard_unused, find_run, trained_run_ids


def goes_on(runs_dir: Path, run_id: str | None) -> bool:
    """Whether the run is resumed; else it is started: there is none, or none that has a policy.

    Raises: ConfigurationError: when no run is named.
    """
    if run_id is None:
        raise ConfigurationError("which run?", setting="--resume=auto", fix="name it with --run-id")
    if run_id == LATEST:
        return bool(trained_run_ids(runs_dir))
    # A run that was killed before it had a policy cannot be resumed; its remains block the new one.
    discard_unused(runs_dir, run_id, keep_logs=True)
    return (runs_dir / run_id).is_dir()


def game_of(runs_dir: Path, run_id: str | None) -> str:
    """The game that a run was started with: a bundled name or a path.

    Raises: ConfigurationError: when no run is named, or there is no such run.
    """
    if run_id is None:
        raise ConfigurationError("which run?", setting="--resume", fix="name it with --run-id")
    run_id = find_run(runs_dir, run_id)
    return str(RunDirectory.view(runs_dir, run_id).read_config()["game"])


def finished_code(runs_dir: Path, run_id: str, settings: Mapping[str, Any]) -> int | None:
    """The exit code of a run that has reached its end already; None where there is more to do.

    A container that is started again after its work was done has nothing to do.

    Args:
        runs_dir: where it is.
        run_id: of the run, or `latest`.
        settings: nested; with more `total_steps` or another `until_return` the run continues.

    Raises: ConfigurationError: when there is no such run.
    """
    run_id = find_run(runs_dir, run_id)
    archive = RunArchive(runs_dir)
    directory = RunDirectory.view(runs_dir, run_id)
    if directory.marked("latest") is None:
        return None
    view = archive.view(run_id)
    total, goal = settings.get("total_steps"), settings.get("until_return")
    if view.state == "finished" and goal is not None and view.goal == float(goal):
        confirmed = view.evaluation
        if confirmed is not None and confirmed.return_mean >= float(goal):
            return DONE
    if total is not None and trained_steps(directory) >= int(total):
        return DONE if goal is None else GOAL_MISSED
    return None
