"""What this process gets of the machine: cores, open files, and memory that is kept."""

import ctypes
import math
import os
import resource
import sys
from pathlib import Path, PurePosixPath
from typing import Final

from attract.errors import ConfigurationError

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEEP_BYTES = 512 << 20
_LARGEST_HEAP_BLOCK_BYTES = 32 << 20
"""The most glibc accepts on 64 bits; larger blocks are always mapped."""


def keep_freed_memory(keep_bytes: int = _KEEP_BYTES) -> bool:
    """Tell glibc to reuse freed blocks of up to 32 MiB, at most `keep_bytes` in all, and not to unmap them.

    Activations of a megabyte are allocated and freed for every layer of every minibatch; page faults on fresh
    memory cost a fifth of an update. For a process of our own only: the learner's, before its first tensor,
    and the gateway's, through which frames of up to a MiB go.

    Returns: whether it could be done; False where the C library is not glibc.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = bool(mallopt(_M_TRIM_THRESHOLD, keep_bytes))
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_HEAP_BLOCK_BYTES)) and kept


MIN_OPEN_FILES: Final = 256
"""With 200 a training of one browser runs, with 128 Chromium does not start."""
WANTED_OPEN_FILES: Final = 4096
"""Each visitor's browser takes some sockets."""


def raise_open_files() -> int:
    """Raise the soft limit of open files towards what is allowed; returns the limit from now on.

    Raises: ConfigurationError: the hard limit is too low for a server and a browser.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED_OPEN_FILES:
        return WANTED_OPEN_FILES
    allowed = WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_OPEN_FILES)
    if allowed < MIN_OPEN_FILES:
        raise ConfigurationError(
            f"this shell allows {allowed} open files, a server and a browser need {MIN_OPEN_FILES}",
            fix=f"raise it: ulimit -n {WANTED_OPEN_FILES}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed


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
