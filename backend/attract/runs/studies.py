"""The folders of studies, `tuning/NAME` beside the runs: locked by who searches, read by everybody."""

import fcntl
import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from attract.errors import ConfigurationError, FileError
from attract.files import read_file, write_atomically
from attract.runs.disk import LOCK, is_locked
from attract.runs.run_ids import RUN_ID
from attract.schema.studies import StudySummary, StudyView

log = logging.getLogger(__name__)

STUDIES = "tuning"
"""Folder of the runs folder that holds the studies."""
VIEW = "study.json"
ACTIVE = ("searching", "confirming")
MAX_BYTES = 16 << 20
"""Size limit of a study's record: some 20,000 trials."""


def study_folder(runs_dir: Path, name: str) -> Path:
    """Where the study of that name is kept.

    Raises: ConfigurationError: for what could name another folder.
    """
    if not RUN_ID.fullmatch(name):
        raise ConfigurationError(
            f"{name[:100]!r} is no study's name",
            setting="study",
            fix="use letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 120",
        )
    return runs_dir / STUDIES / name


@contextmanager
def locked_study(folder: Path) -> Generator[None]:
    """The folder, made if it is missing, held by this process alone.

    Raises: ConfigurationError: when another process works at the study, or nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ConfigurationError(
            f"no study can be kept in {folder}: {error.strerror}",
            setting="runs folder",
            fix="name a folder that you may write to, by --runs-dir or ATTRACT_RUNS_DIR",
        ) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise ConfigurationError(
            f"another process works at study {folder.name}",
            setting="--study",
            fix="wait for it, stop it, or choose another name",
        ) from None
    try:
        yield
    finally:
        os.close(fd)


def write_view(folder: Path, view: StudyView) -> None:
    """Replace what is shown of the study."""
    write_atomically(folder / VIEW, view.model_dump_json(indent=1).encode())


def read_view(folder: Path) -> StudyView | None:
    """The study's record, `stopped` when no process works on it; None: it cannot be read."""
    path = folder / VIEW
    try:
        view = StudyView.model_validate_json(read_file(path, MAX_BYTES, folder))
    except (FileError, ValidationError) as error:
        log.debug("study %s cannot be read: %s", folder.name, error)
        return None
    named = view.model_copy(update={"study": folder.name})
    if named.state not in ACTIVE or is_locked(folder):
        return named
    stopped = [trial for trial in named.trials if trial.state != "running"]
    return named.model_copy(update={"state": "stopped", "trials": stopped})


def list_studies(runs_dir: Path) -> list[StudySummary]:
    """All studies that can be read, the one that changed last first."""
    found: list[tuple[float, StudySummary]] = []
    for path in (runs_dir / STUDIES).glob(f"*/{VIEW}"):
        view = read_view(path.parent) if RUN_ID.fullmatch(path.parent.name) else None
        if view is None:
            continue
        changed = path.stat().st_mtime
        scores = [
            trial.score for trial in view.trials if trial.state == "finished" and trial.score is not None
        ]
        summary = StudySummary(
            study=view.study,
            game=view.game,
            state=view.state,
            num_trials=view.num_trials,
            num_done=sum(trial.state != "running" for trial in view.trials),
            best_score=max(scores, default=None),
            winner=view.winner,
            changed=datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
        )
        found.append((changed, summary))
    return [summary for _, summary in sorted(found, key=lambda entry: entry[0], reverse=True)]
