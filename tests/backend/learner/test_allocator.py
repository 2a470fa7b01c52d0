import subprocess
import sys

PROBE = """
import resource, sys
import numpy
from attract.learner.allocator import keep_freed_memory

if sys.argv[1] == "keep":
    print(keep_freed_memory())
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
numpy.ones(1 << 20)
before = faults()
for _ in range(100):
    numpy.ones(1 << 20)
print(faults() - before)
"""


def probe(mode: str) -> list[str]:
    command = [sys.executable, "-c", PROBE, mode]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_freed_memory_is_used_again_without_new_page_faults():
    kept = probe("keep")
    if sys.platform != "linux":
        assert kept[0] == "False"
        return
    assert kept[0] == "True"
    # 100 times 8 MiB are 204,800 pages of 4 KiB (fewer faults where pages are huge).
    assert int(kept[1]) < 50
    assert int(probe("as it is")[0]) > 10 * int(kept[1]) + 100
