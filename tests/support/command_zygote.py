"""Forks `attract` commands that have their modules imported already.

Run as a script it serves requests over the socket given; `ForkedCommand` is its user's side.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

COMMANDS = ("check", "ci", "difficulty", "evaluate", "export", "look", "probe", "replay", "serve", "training")
PRELOADED = ("uvloop", "attract.cli", *(f"attract.commands.{name}" for name in COMMANDS))
"""What most tests run. Nothing of it imports torch, as `python -m attract` does not."""
NUMBER = struct.Struct("<i")
"""The id of a process, and later how it ended, as `waitpid` says it."""
NUM_DESCRIPTORS = 4
"""Input, output, errors, and where to write how it ended."""
MAX_REQUEST_BYTES = 1 << 20


class CommandZygote:
    """Starts commands in milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(self, request: dict[str, Any], streams: list[int]) -> tuple[int, int]:
        """Have a command run with these three streams; its process id, and what to read how it ended from."""
        read, write = os.pipe()
        with self._lock:
            if self._control is None:
                self._start()
            assert self._control is not None
            socket.send_fds(self._control, [json.dumps(request).encode()], [*streams, write])
            (pid,) = NUMBER.unpack(self._control.recv(NUMBER.size))
        os.close(write)
        return pid, read

    def close(self) -> None:
        """End it, if it was started."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait(30)

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            # No terminal: what is imported asks its streams how wide and how colourful they are.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.close)


ZYGOTE = CommandZygote()


class ForkedCommand(subprocess.Popen[str]):
    """As `Popen` of `python -m attract` and `args`, in a session of its own."""

    _status: int | None = None

    def _execute_child(self, args: Any, *given: Any) -> None:
        # CPython has these at the same places from 3.11 on.
        folder, environment, pipes = given[4], given[5], given[9:15]
        request = {
            "arguments": [os.fspath(argument) for argument in args],
            "folder": str(folder or Path.cwd()),
            "environment": dict(environment or os.environ),
        }
        self.pid, self._status = ZYGOTE.fork(request, [pipes[0], pipes[3], pipes[5]])
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        assert self._status is not None
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        said = os.read(self._status, NUMBER.size)
        os.close(self._status)
        # Nothing: who waits for it was killed.
        return self.pid, NUMBER.unpack(said)[0] if said else signal.SIGKILL

    def _internal_poll(self, *_given: Any, **_more: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid == self.pid:
                        self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def serve(control: socket.socket) -> None:
    """Fork for each request, until the other end is closed; returns in each command's own process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, NUM_DESCRIPTORS)
        if not data:
            os._exit(0)
        if os.fork() == 0 and _keeps(control, descriptors, json.loads(data)):
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _keeps(control: socket.socket, descriptors: list[int], request: dict[str, Any]) -> bool:
    """True in the command's process; its parent waits for it, writes how it ended, and ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = descriptors
    pid = os.fork()
    if pid == 0:
        control.close()
        os.close(status)
        _become(streams, **request)
        return True
    control.send(NUMBER.pack(pid))
    control.close()
    for stream in streams:
        os.close(stream)
    os.write(status, NUMBER.pack(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _become(streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["attract", *arguments]
    # As `python -m` has it.
    sys.path[0] = folder


def _end(code: object) -> NoReturn:
    """End as Python does after `sys.exit(code)`, but leave what is imported: that saves half a second."""
    assert code is None or isinstance(code, int), code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # type: ignore[attr-defined]
    for stream in (sys.stdout, sys.stderr):
        # It may have been silenced, and who reads it may be gone.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    for name in PRELOADED:
        importlib.import_module(name)
    from attract.__main__ import main

    # Pages of memory that are shared stay so.
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        main()
    except SystemExit as ended:
        _end(ended.code)
    _end(0)
