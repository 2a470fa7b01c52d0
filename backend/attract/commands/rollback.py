"""`attract rollback`: a run back at a version before experience that turned out to be false."""

from pathlib import Path

from attract.runs.directory import RunDirectory, find_run


def roll_back(run_id: str, version: int, runs_dir: Path) -> tuple[str, int]:
    """Set aside every version of a run after `version`.

    Returns: the run, which `latest` does not name, and the version that is its newest now.
    Raises: ConfigurationError: when there is no such run, it has no version, or it is active.
    """
    directory = RunDirectory.open_locked(runs_dir, find_run(runs_dir, run_id))
    try:
        return directory.run_id, directory.roll_back(version)
    finally:
        directory.close()
