"""How many processor cores this process may use: by its affinity and its container's quota."""

import math
import os
from pathlib import Path, PurePosixPath

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def usable_cores(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Cores of this process's affinity, no more than its control groups' quota of processor time, at least 1.

    A quota of two and a half cores is three: threads that share two would leave the half unused.

    Args:
        cgroups: where control groups are mounted, version 1 or 2.
        own: names this process's groups, a line `id:controllers:path` each.
    """
    # Affinity is of Linux alone.
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [math.ceil(quota) for quota in _quotas(cgroups, own)]
    return max(1, min([affinity, *quotas]))


def _quotas(cgroups: Path, own: Path) -> list[float]:
    """The quotas of the groups that this process is in and of those around them, in cores."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found: list[float] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found += [quota for folder in _around(cgroups, path) if (quota := _quota_v2(folder)) is not None]
        elif "cpu" in controllers.split(","):
            folders = [folder for name in (controllers, "cpu") for folder in _around(cgroups / name, path)]
            found += [quota for folder in folders if (quota := _quota_v1(folder)) is not None]
    return found


def _around(mount: Path, path: str) -> list[Path]:
    """The folder of a group and those above it. In a container the mount itself is often its own group."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    return [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _quota_v2(folder: Path) -> float | None:
    words = _words(folder / "cpu.max")
    return None if len(words) != 2 or words[0] == "max" else int(words[0]) / int(words[1])


def _quota_v1(folder: Path) -> float | None:
    quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
    if not quota or not period or int(quota[0]) <= 0:
        return None
    return int(quota[0]) / int(period[0])


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
