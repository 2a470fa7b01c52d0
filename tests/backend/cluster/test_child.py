"""The command in a process whose keeper may go at any moment."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from attract.cluster.child import read_order

CHILD = (sys.executable, "-m", "attract.cluster.child")
WAITING = {
    "words": ["join", "-", "--until-gone", "100"],
    "folder": "/",
    "stdin": "http://127.0.0.1:9/#token=the-secret\n",
}


def start(order: dict[str, object]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    return process


def test_it_ends_in_order_when_its_parent_is_gone_and_shows_no_secret():
    process = start(WAITING)
    assert process.stderr is not None and process.stdin is not None
    assert b"trainer away, waiting" in process.stderr.readline()
    shown = psutil.Process(process.pid)
    assert "the-secret" not in " ".join((*shown.cmdline(), *shown.environ().values()))
    process.stdin.close()
    process.stdin = None
    _, said = process.communicate(timeout=60)
    # SIGTERM from any process: no traceback, no error of the interpreter's end.
    assert (process.returncode, said) == (128 + signal.SIGTERM, b"")


def test_a_keeper_that_is_killed_takes_it_along(tmp_path: Path):
    program = f"""
import asyncio
from attract.cluster.keeper import ProcessKeeper
from attract.cluster.plan import ChildOrder

async def main():
    keeper = ProcessKeeper()
    await keeper.start(ChildOrder({tuple(WAITING["words"])!r}, {{}}, "/", {WAITING["stdin"]!r}))
    await keeper.read()
    print(keeper._process.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
    keeper = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert keeper.stdout is not None
    child = psutil.Process(int(keeper.stdout.readline()))
    keeper.kill()
    keeper.communicate()
    assert psutil.wait_procs([child], timeout=30)[1] == []


def test_an_order_is_one_line_and_nothing_behind_it_is_read():
    out, into = os.pipe()
    os.write(into, b'{"words": ["x"]}\nmore')
    assert read_order(out) == {"words": ["x"]}
    assert os.read(out, 9) == b"more"
    os.close(out)
    os.close(into)


def test_words_on_the_command_line_are_a_command_without_a_keeper():
    done = subprocess.run([*CHILD, "health", "nowhere"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nowhere is unhealthy" in done.stderr
