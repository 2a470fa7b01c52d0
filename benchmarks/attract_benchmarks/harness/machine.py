"""The machine and code that figures were measured on, as text."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attract.processes.cores import usable_cores

PACKAGES = ("torch", "stable_baselines3")


def describe_machine() -> str:
    """Cores, architecture, system, and the versions that decide the speed."""
    parts = [f"{usable_cores()} cores", platform.machine(), platform.system()]
    versions = [f"{name} {found}" for name in PACKAGES if (found := _version(name))]
    return ", ".join([*parts, f"Python {platform.python_version()}", *versions])


def describe_code() -> str:
    """The commit of this checkout, `-dirty` where files differ from it; without one the package's version."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10.0, check=True)
    except (OSError, subprocess.SubprocessError):
        return f"version {version('attract-rl')}"
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
