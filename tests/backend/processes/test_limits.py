"""What a process may use: cores by control groups, memory, descriptors, and time on a busy machine."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attract.commands.look import LateError, slowdown, within
from attract.processes.cores import keep_freed_memory, usable_cores


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


PROGRAM = """
import resource, sys
import torch
from attract.processes.cores import keep_freed_memory
torch.set_num_threads(1)
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def work():
    for _ in range(20):
        # Sixteen blocks of a megabyte, all freed at once.
        del [torch.empty(1 << 18).fill_(1.0) for _ in range(16)][:]
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


# It asserts on page faults, a matter of speed.
@pytest.mark.long
def test_freed_memory_is_used_again_without_page_faults():
    if sys.platform != "linux":
        assert not keep_freed_memory()
        return
    # Left alone, glibc moves its threshold with what is freed and now and then does well by luck.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(128 << 10)}
    faults: dict[str, int] = {}
    for how in ("keep", "leave"):
        command = [sys.executable, "-c", PROGRAM, how]
        result = subprocess.run(command, check=True, capture_output=True, env=environment)
        faults[how] = int(result.stdout)
    # 20 times 16 MiB in pages of 4 KiB would be 81,920.
    assert faults["keep"] < 1000 < faults["leave"]


RAISED = """
import resource, sys
from attract.errors import ConfigurationError
from attract.processes.cores import raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
try:
    print(raise_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("soft", "hard", "said"),
    [
        (64, 512, "512 512"),
        (64, 4999, "4096 4096"),
        (4500, 4999, "4096 4500"),
        (256, 256, "256 256"),
        (
            64,
            255,
            "this shell allows 255 open files, a server and a browser need 256\n  raise it: ulimit -n 4096",
        ),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_the_hard_one_allows(soft: int, hard: int, said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", RAISED, str(soft), str(hard)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == said


async def test_what_is_done_in_time_is_returned_and_its_error_raised() -> None:
    async def fails() -> None:
        raise ValueError("own")

    assert await within(1.0, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="own"):
        await within(1.0, fails())


async def test_a_late_one_is_cancelled_and_the_machine_named_only_where_it_is_busy() -> None:
    ended = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(LateError) as caught:
        await within(0.05, hangs(), lambda: 1.0)
    assert caught.value.busy == ""
    await asyncio.wait_for(ended.wait(), 5)
    with pytest.raises(LateError) as caught:
        await within(0.05, asyncio.sleep(60), lambda: 4.0)
    assert caught.value.seconds >= 0.2
    assert caught.value.busy == ", on a machine so busy that a thread takes 4.0 times as long"


async def test_a_busy_machine_has_as_much_longer() -> None:
    assert await within(0.05, asyncio.sleep(0.15, "done"), lambda: 20.0) == "done"


def test_a_thread_is_never_faster_than_by_itself() -> None:
    assert 1.0 <= slowdown() <= 20.0
