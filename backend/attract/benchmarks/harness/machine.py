"""What figures were measured on, in words."""

import platform
from importlib.metadata import PackageNotFoundError, version

from attract.processes.cores import usable_cores

PACKAGES = ("torch", "stable_baselines3")


def describe_machine() -> str:
    """Cores, architecture, system, and the versions that decide the speed."""
    parts = [f"{usable_cores()} cores", platform.machine(), platform.system()]
    versions = [f"{name} {found}" for name in PACKAGES if (found := _version(name))]
    return ", ".join([*parts, f"Python {platform.python_version()}", *versions])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
