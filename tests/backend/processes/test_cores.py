"""Cores that may be used, by trees of control groups as Docker and Kubernetes make them."""

import os
from pathlib import Path

import pytest

from attract.processes.cores import usable_cores


@pytest.fixture(autouse=True)
def sixty_four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)), raising=False)


def tree(root: Path, own: str, **files: str) -> tuple[Path, Path]:
    """Mount and own list of a machine; `files` by their path, with `__` for a slash."""
    for name, text in files.items():
        path = root / "cgroup" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "own").write_text(own)
    return root / "cgroup", root / "own"


def test_scale_09_version_2_in_a_container_where_the_mount_is_its_own_group(tmp_path: Path) -> None:
    assert usable_cores(*tree(tmp_path, "0::/\n", **{"cpu.max": "200000 100000\n"})) == 2


def test_scale_09_version_2_on_a_host_the_tightest_group_around_counts(tmp_path: Path) -> None:
    files = {
        "kubepods__cpu.max": "800000 100000\n",
        "kubepods__pod1__cpu.max": "250000 100000\n",
        "kubepods__pod1__main__cpu.max": "max 100000\n",
    }
    assert usable_cores(*tree(tmp_path, "0::/kubepods/pod1/main\n", **files)) == 3


@pytest.mark.parametrize("mount", ["cpu,cpuacct", "cpu"])
def test_scale_09_version_1(tmp_path: Path, mount: str) -> None:
    files = {
        f"{mount}__docker__abc__cpu.cfs_quota_us": "150000\n",
        f"{mount}__docker__abc__cpu.cfs_period_us": "100000\n",
        f"{mount}__cpu.cfs_quota_us": "-1\n",
        f"{mount}__cpu.cfs_period_us": "100000\n",
    }
    own = "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n"
    assert usable_cores(*tree(tmp_path, own, **files)) == 2


def test_scale_09_affinity_alone_and_no_groups_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert usable_cores(tmp_path, tmp_path / "none") == 64
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5}, raising=False)
    assert usable_cores(*tree(tmp_path, "0::/\n", **{"cpu.max": "800000 100000\n"})) == 2


def test_scale_09_less_than_a_core_is_one(tmp_path: Path) -> None:
    assert usable_cores(*tree(tmp_path, "0::/\n", **{"cpu.max": "20000 100000\n"})) == 1
