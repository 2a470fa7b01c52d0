"""`python -m attract.cluster.child [WORD ...]`: the `attract` command, freed of what Ray's workers hand down.

Without words the first line on stdin is the order as JSON, so that no list of processes shows it. Then stdin
stays open while a parent minds this process, which ends when the parent is gone.
"""

import contextlib
import io
import json
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

END_SECONDS: Final = 30.0
"""How long an orderly end may take once the parent is gone."""


def main() -> None:
    """Become the command of the arguments, or of the first line of stdin."""
    if sys.argv[1:]:
        become(sys.argv[1:])
        return
    # Unbuffered, and apart from `sys.stdin`, whose lock a thread would hold at the interpreter's end.
    lifeline = io.FileIO(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    order = json.loads(lifeline.readline())
    threading.Thread(target=end_with, args=(lifeline,), daemon=True).start()
    with contextlib.suppress(OSError):
        os.chdir(order["folder"])
    sys.stdin = io.StringIO(order["stdin"])
    become(order["words"])


def become(words: Sequence[str]) -> None:
    """Run the command as from a shell: Ray's workers block SIGINT, and leave what they start one thread."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("OMP_NUM_THREADS", None)
    sys.argv = ["attract", *words]
    runpy.run_module("attract", run_name="__main__", alter_sys=True)


def end_with(lifeline: io.FileIO) -> None:
    """Wait until the pipe's other end is closed; then end in order, or else with all children."""
    while lifeline.read(4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
