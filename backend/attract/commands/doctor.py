"""`attract doctor`: checks this machine for what Attract needs, and says what fixes a problem."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from attract.browser.chromium import INSTALL_COMMANDS, find_chromium
from attract.commands import flags
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, print_table
from attract.errors import AttractError, NotInstalledError
from attract.processes.cores import raise_open_files, usable_cores
from attract.processes.exit_codes import DONE, FAILED
from attract.processes.extras import MODULES, check_installed
from attract.schema.answers import DoctorAnswer, DoctorFinding
from attract.settings.base import variable
from attract.settings.run import ServerSettings

RUNS_DIR = variable("runs_dir")
PACKAGE = Path(__file__).parents[1]
MINIMUM_PYTHON = (3, 11)
MINIMUM_NODE = 20
PACKAGES = ("fastapi", "uvicorn", "pydantic", "playwright")


@flags.options
class DoctorOptions:
    json_output: flags.Json = False


def doctor(options: DoctorOptions = DoctorOptions()) -> int:
    """Check this machine for what Attract needs, and print the command that fixes each problem.

    Examples
    --------
    attract doctor  # what is missing on this machine
    attract doctor || exit 1  # in a script
    attract doctor > doctor.txt  # for an issue
    """
    findings = examine()
    answer = doctor_answer(findings)
    if options.json_output:
        print_answer(answer)
    else:
        print_table(CommandConsole(), table_of(findings))
    return DONE if answer.ok else FAILED


def examine() -> list[DoctorFinding]:
    """Look at everything once; starts no browser page and no training, reaches no network."""
    return [
        _system(),
        _python(),
        *(_package(name) for name in PACKAGES),
        _training(),
        _accelerator(),
        _chromium(),
        _web_build(),
        _node(),
        _cores(),
        _open_files(),
        _shared_memory(),
        _runs_folder(),
    ]


def doctor_answer(findings: Iterable[DoctorFinding]) -> DoctorAnswer:
    """The answer of `--json`."""
    found = list(findings)
    return DoctorAnswer(ok=all(row.ok or not row.required for row in found), findings=found)


def table_of(findings: Iterable[DoctorFinding]) -> Table:
    """The printed table: a row per finding, and one for its fix."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    for finding in findings:
        missing = "[red]missing[/]" if finding.required else "[yellow]look[/]"
        table.add_row("[green]ok[/]" if finding.ok else missing, finding.name, finding.detail)
        if not finding.ok and finding.fix:
            table.add_row("", "", f"[bold]{finding.fix}[/]")
    return table


def _found(name: str, ok: bool, detail: str, fix: str = "", required: bool = True) -> DoctorFinding:
    return DoctorFinding(name=name, ok=ok, detail=detail, fix=fix, required=required)


def _system() -> DoctorFinding:
    name = f"{platform.system()} {platform.release()} {platform.machine()}"
    if sys.platform == "win32":
        return _found(
            "system", False, name, "Windows works through WSL: `wsl --install`, then run Attract inside it"
        )
    return _found("system", True, name)


def _python() -> DoctorFinding:
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    return _found(
        "python",
        sys.version_info >= MINIMUM_PYTHON,
        f"{platform.python_version()} at {sys.executable}",
        f"install Python {wanted} or newer",
    )


def _package(name: str) -> DoctorFinding:
    if importlib.util.find_spec(name) is None:
        return _found(name, False, "not installed", f"{sys.executable} -m pip install {name}")
    return _found(name, True, importlib.metadata.version(name))


def _training() -> DoctorFinding:
    try:
        check_installed("train", "attract train")
    except NotInstalledError as error:
        return _found("training", False, error.problem, error.fix or "", required=False)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in MODULES["train"])
    return _found("training", True, ", ".join(versions), required=False)


def _accelerator() -> DoctorFinding:
    if importlib.util.find_spec("torch") is None:
        return _found("gpu", True, "looked for by torch, which is not installed", required=False)
    import torch

    if torch.cuda.is_available():
        return _found("gpu", True, torch.cuda.get_device_name(0), required=False)
    built = torch.version.cuda
    detail = (
        "none: the learner uses the CPU" if built is None else f"none seen (torch is built for CUDA {built})"
    )
    return _found("gpu", True, detail, required=False)


def _chromium() -> DoctorFinding:
    try:
        found = find_chromium()
    except AttractError as error:
        return _found("chromium", False, str(error))
    if found is None:
        return _found("chromium", False, "not found", "one of:\n" + "\n".join(INSTALL_COMMANDS))
    version = found.version()
    if version is None:
        return _found(
            "chromium",
            False,
            f"{found.path} does not start",
            "run it with --version to see why",
        )
    return _found("chromium", True, f"{version} at {found.path}, found by {found.found_by}")


def _web_build() -> DoctorFinding:
    stamp = PACKAGE / "web" / "build.json"
    if stamp.is_file():
        return _found("web build", True, str(stamp.parent))
    return _found("web build", False, "the pages are not built", "make build")


def _node() -> DoctorFinding:
    node = shutil.which("node")
    if node is None:
        return _found("node", True, "not on the PATH (needed only to build Attract itself)", required=False)
    version = subprocess.run(
        [node, "--version"], capture_output=True, text=True, timeout=20, check=False
    ).stdout
    major = int(version.strip().lstrip("v").split(".")[0] or 0)
    return _found(
        "node",
        major >= MINIMUM_NODE,
        version.strip(),
        f"install Node {MINIMUM_NODE} or newer to build Attract itself: https://nodejs.org",
        required=False,
    )


def _cores() -> DoctorFinding:
    cores = usable_cores()
    return _found("cores", True, f"{cores}", required=False)


def _open_files() -> DoctorFinding:
    try:
        return _found("open files", True, f"{raise_open_files():,} or more")
    except AttractError as error:
        problem, _, fix = str(error).partition("\n  ")
        return _found("open files", False, problem, fix)


def _shared_memory() -> DoctorFinding:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        return _found("shared memory", True, "no /dev/shm: the store is in the run directory", required=False)
    free_mib = shutil.disk_usage(folder).free >> 20
    return _found(
        "shared memory",
        free_mib >= 64,
        f"{free_mib} MiB free in {folder}",
        "in Docker: `shm_size: 1gb`; otherwise the store is in the run directory",
        required=False,
    )


def _runs_folder() -> DoctorFinding:
    given = {name: text for name, text in os.environ.items() if name == RUNS_DIR}
    folder = ServerSettings.from_environment(given).runs_dir.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free_gib = shutil.disk_usage(existing).free / 2**30
    writable = os.access(existing, os.W_OK)
    return _found(
        "runs folder",
        writable and free_gib > 0.2,
        f"{folder}, {free_gib:.1f} GiB free" + ("" if writable else ", not writable"),
        f"set {RUNS_DIR} to a folder with room that you may write to",
    )
