"""`attract report`: packs a run's logs, settings and metrics into a zip for a bug report, without secrets."""

import contextlib
import getpass
import importlib.metadata
import json
import os
import platform
import socket
import stat
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from attract import __version__
from attract.commands import flags
from attract.commands.destination import writing
from attract.commands.doctor import PACKAGE, PACKAGES, examine
from attract.commands.json_output import print_answer
from attract.errors import AttractError, ConfigurationError
from attract.files import read_tail
from attract.processes.exit_codes import DONE
from attract.processes.extras import MODULES
from attract.runs.directory import LATEST, RunDirectory, list_run_ids
from attract.runs.log_files import GATEWAY_LOG, LEARNER_LOG
from attract.runs.metrics import MetricsStore
from attract.runs.run_ids import check_run_id
from attract.runs.scrubbing import Scrubber, own_folders
from attract.runs.trash import TRASH
from attract.schema.answers import ReportAnswer

TAIL_BYTES = 256 << 10
"""The end of each log that is packed."""
POINTS = 200
"""Per metric; the extremes between two points are kept."""
LOGS = tuple(f"{name}{older}" for name in (GATEWAY_LOG, LEARNER_LOG) for older in (".1", ""))
LEFT_OUT = (
    "the game's code and its source map, checkpoints, weights and exported policies",
    "what the game wrote to its console, and the audit trail: who joined, from where",
    "tokens, cookies, invitations and passwords, also those in variables of the environment",
    "names of this machine and its user, paths of home folders, addresses except loopback",
)
PARTS = {
    "settings.yaml": "the run's settings at its start",
    "game.json": "the game's description: spaces, times, parameters",
    "run.json": "last status of the run: counters, state, error, findings, reports of checks and failures",
    "metrics.json": f"every metric in at most {POINTS} points, with extremes",
    "files.json": "names and sizes of the run's files",
    "doctor.json": "what `attract doctor` finds on this machine",
    "machine.json": "versions, system, cores",
    **{f"logs/{name}": f"the last {TAIL_BYTES >> 10} KiB" for name in LOGS},
}


@flags.options
class ReportOptions:
    out: Path | None = None
    """Output file; by default <run>-report.zip in the current folder."""
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False


def report(run: Annotated[str, flags.RunWord], /, options: ReportOptions = ReportOptions()) -> int:
    """Pack RUN's logs, settings and metrics into a zip for a bug report, without secrets.

    Parameters
    ----------
    run
        A run id, also of a run in the trash, or `latest`: the newest run, with or without a policy.

    Examples
    --------
    attract report latest  # the newest run
    attract report latest --out trouble.zip  # into this file
    attract report latest --runs-dir old-runs  # from another folder
    """
    written, parts = pack_report(run, flags.server_settings(options).runs_dir, options.out, os.environ)
    if options.json_output:
        print_answer(ReportAnswer(file=str(written), parts=parts))
    else:
        print(f"wrote {written}", *report_lines(parts), sep="\n")
    return DONE


def pack_report(
    run: str, runs_dir: Path, out: Path | None, environment: Mapping[str, str]
) -> tuple[Path, list[str]]:
    """Write the zip, readable only by its owner; its path, and the names of its parts.

    Args:
        run: id of a run, also of one in the trash, or `latest`: the newest, whether it has a policy or not.
        runs_dir: where runs are kept.
        out: the file; None: `<run>-report.zip` here. One that is there is not replaced.
        environment: of the process; its secrets are looked for in every text.

    Raises: ConfigurationError: no such run, or the file cannot be made.
    """
    folder = _folder_of(run, runs_dir)
    out = Path(f"{folder.name}-report.zip") if out is None else out
    scrub = _scrubber(runs_dir, environment)
    packed: dict[str, str] = {}
    for name, make in _makers(folder).items():
        try:
            text = make()
        except Exception as error:
            # A report is wanted most where something is damaged.
            text = f"this could not be read: {_reason(error)}\n"
        if text is not None:
            packed[name] = scrub.text(text)
    parts = list(packed)
    head = f"Report of run {folder.name}, made by Attract {__version__}"
    packed["CONTENTS.txt"] = "\n".join([head, *report_lines(parts)]) + "\n"
    _write(out, packed)
    return out, parts


def report_lines(parts: Sequence[str]) -> list[str]:
    """The printed lines: what a report of these parts contains and omits."""
    return [
        f"in it: {', '.join(parts)}",
        *(f"  {name}: {PARTS[name]}" for name in parts),
        "not in it:",
        *(f"  {what}" for what in LEFT_OUT),
        "Review it before you send it: a game's errors may contain anything.",
    ]


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, AttractError) else f"{type(error).__name__}: {error}"


def _write(out: Path, packed: Mapping[str, str]) -> None:
    if os.path.lexists(out):
        raise ConfigurationError(
            f"{out} already exists", setting="out", fix="remove it, or give another --out"
        )
    with writing(out):
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in packed.items():
            archive.writestr(name, text)


def _folder_of(run: str, runs_dir: Path) -> Path:
    if run == LATEST:
        known = list_run_ids(runs_dir) if runs_dir.is_dir() else []
        if not known:
            raise ConfigurationError(
                f"there is no run in {runs_dir}", setting="run", fix="name another --runs-dir"
            )
        run = known[0]
    for place in (runs_dir, runs_dir / TRASH):
        folder = place / check_run_id(run)
        if folder.is_dir() and not folder.is_symlink():
            return folder
    raise ConfigurationError(
        f"there is no run {run} in {runs_dir}, nor in its trash",
        setting="run",
        fix=f"`latest`, or one of: {', '.join(list_run_ids(runs_dir)[:5]) or 'none'}",
    )


def _scrubber(runs_dir: Path, environment: Mapping[str, str]) -> Scrubber:
    with contextlib.suppress(OSError, KeyError):
        user = getpass.getuser()
        names = [socket.gethostname(), *([] if user == "root" else [user])]
        folders = {"runs": runs_dir, "attract": PACKAGE, "python": Path(sys.prefix), "here": Path.cwd()}
        return Scrubber(environment, own_folders(Path.home(), folders), names)
    return Scrubber(environment, {}, [])


def _makers(folder: Path) -> dict[str, Callable[[], str | None]]:
    """Each part's text; None where the run has no such thing."""
    directory = RunDirectory(folder, None)

    def log_tail(name: str) -> Callable[[], str | None]:
        return lambda: read_tail(directory.logs / name, TAIL_BYTES, folder)

    return {
        "settings.yaml": lambda: read_tail(folder / "config.yaml", TAIL_BYTES, folder),
        "game.json": lambda: read_tail(folder / "game.json", TAIL_BYTES, folder),
        "run.json": lambda: _kept_view(directory),
        "metrics.json": lambda: _metrics(directory.metrics_path),
        "files.json": lambda: _json(_files(folder)),
        "doctor.json": lambda: _json([vars(check) for check in examine()]),
        "machine.json": lambda: _json(_machine()),
        **{f"logs/{name}": log_tail(name) for name in LOGS},
    }


def _kept_view(directory: RunDirectory) -> str | None:
    path = directory.metrics_path
    if not path.is_file():
        return None
    with contextlib.closing(MetricsStore(path)) as store:
        view = store.fact("view")
        # A folder that was renamed since is the run of its new name.
        return _json(view and {**view, "run_id": directory.run_id})


def _metrics(path: Path) -> str | None:
    if not path.is_file():
        return None
    with contextlib.closing(MetricsStore(path)) as store:
        view = store.query("run", max_points=POINTS)
        return _json({"last_update": store.last_update(), **view.model_dump(mode="json", exclude={"run_id"})})


def _files(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in sorted(folder.rglob("*"))[:2000]:
        about = path.lstat()
        if stat.S_ISREG(about.st_mode):
            found[str(path.relative_to(folder))] = about.st_size
    return found


def _machine() -> dict[str, Any]:
    versions: dict[str, str] = {}
    for name in (*PACKAGES, *MODULES["train"], "numpy", "websockets"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "attract": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": versions,
        # Names only: a value may be a secret.
        "variables": sorted(name for name in os.environ if name.startswith("ATTRACT_")),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, default=str) + "\n"
