import os
import subprocess
import sys

import pytest

from attract.processes.cores import keep_freed_memory

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
