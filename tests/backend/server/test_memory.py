"""The garbage collector in the gateway's process; in a process of its own, for it stays as it is set."""

import subprocess
import sys

PROGRAM = """
import gc
from attract_benchmarks.harness.played_blocks import CARTPOLE, played_block
from attract.schema.frames import decode_from_browser, encode
from attract.server.memory import settle_memory

frame = encode(played_block("run", list(range(96)), 64, CARTPOLE))
looks = []
gc.callbacks.append(lambda phase, info: phase == "start" and looks.append(info["generation"]))

def looks_at(num_blocks):
    looks.clear()
    kept = [decode_from_browser(frame) for _ in range(num_blocks)]
    return len(looks)

before = looks_at(100)
settle_memory()
print(before, looks_at(100), gc.get_freeze_count())
"""


def test_the_collector_does_not_look_while_blocks_come():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, after, frozen = (int(word) for word in done.stdout.split())
    assert before > 10
    assert after == 0
    assert frozen > 10_000
