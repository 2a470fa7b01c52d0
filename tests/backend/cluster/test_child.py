"""The command in a process whose actor may go at any moment."""

import json
import signal
import subprocess
import sys

import psutil

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


def test_an_actor_that_is_killed_takes_it_along():
    program = f"""
import asyncio
from attract.cluster.member import Member
from attract.cluster.plan import ChildOrder

class Plan:
    folder, port, first_port = "/", None, 0

    def trainer(self, *_arguments, **_options):
        return ChildOrder({tuple(WAITING["words"])!r}, {{}}, {WAITING["stdin"]!r})

class Lines:
    async def put_async(self, line):
        if "away" in line[1]:
            print(member._process.pid, flush=True)

member = Member(Plan(), "trainer", lambda: ("127.0.0.1", False))
asyncio.run(member.run(None, Lines()))
"""
    actor = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert actor.stdout is not None
    child = psutil.Process(int(actor.stdout.readline()))
    actor.kill()
    actor.communicate()
    assert psutil.wait_procs([child], timeout=30)[1] == []


def test_words_on_the_command_line_are_a_command_without_an_actor():
    done = subprocess.run([*CHILD, "health", "nowhere"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nowhere is unhealthy" in done.stderr
