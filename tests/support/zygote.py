"""Forks processes of Attract that have their modules imported already.

Run as a script it serves requests over the socket given; `ForkedProcess` is its user's side.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import logging
import math
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from attract.processes import link
from attract.processes.children import LEARNER as LEARNER_PEER
from attract.processes.children import LearnerLink
from attract.processes.link import open_link

LEARNER = "attract.learner"
COMMANDS = ("check", "ci", "difficulty", "evaluate", "export", "look", "probe", "replay", "serve", "training")
IMPORTED = {
    LEARNER: ("attract.learner.process.loop",),
    "killed_trainer": (),
    "attract": (
        "uvloop",
        "shared_chromium",
        "attract.cli",
        *(f"attract.commands.{name}" for name in COMMANDS),
    ),
}
"""By what is run, what most tests of it need. Nothing of commands imports torch: see `python -m attract`."""
NUMBER = struct.Struct("<i")
"""The id of a process, and later how it ended, as `waitpid` says it."""
MAX_REQUEST_BYTES = 1 << 20
MAX_DESCRIPTORS = 8
ABOVE_ALL = 500
"""Descriptors of a request are put there before they go to their places."""
PR_SET_PDEATHSIG = 1

_lock = threading.RLock()
_controls: dict[str, socket.socket] = {}
"""By what is run, where it is asked for. Forked processes inherit that of the learner, which they start."""


def fork(module: str, arguments: Sequence[str], descriptors: dict[int, int], **more: Any) -> tuple[int, int]:
    """Have `python -m module` run; its process id, and what to read how it ended from.

    Args:
        descriptors: by their number in the new process: its streams, what it inherits.
        more: see `_become`.
    """
    read, write = os.pipe()
    request = {"arguments": list(arguments), "descriptors": list(descriptors), **more}
    control = _control_of(module)
    socket.send_fds(control, [json.dumps(request).encode()], [write, *descriptors.values()])
    os.close(write)
    (pid,) = NUMBER.unpack(os.read(read, NUMBER.size))
    return pid, read


def fork_learner(*, die_at_write: int = 0) -> tuple[socket.socket, int]:
    """A new learner: our end of its socket, and its process id. `die_at_write`: see `_die_at_write`."""
    ours, theirs = socket.socketpair()
    descriptors = {0: 0, 1: 1, 2: 2, theirs.fileno(): theirs.fileno()}
    pid, status = fork(LEARNER, ["--fd", str(theirs.fileno())], descriptors, die_at_write=die_at_write)
    theirs.close()
    os.close(status)
    return ours, pid


async def start_learner() -> LearnerLink:
    """As `spawn_learner`, for gateways of this process."""
    connection, _pid = fork_learner()
    return await open_link(LEARNER_PEER, connection)


def _control_of(module: str) -> socket.socket:
    with _lock:
        if module not in _controls:
            learners = [] if module == LEARNER else [_control_of(LEARNER).fileno()]
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            passed = [theirs.fileno(), *learners]
            process = subprocess.Popen(
                [sys.executable, __file__, module, *map(str, passed)],
                pass_fds=passed,
                # No terminal: what is imported asks its streams how wide and how colourful they are.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            theirs.close()
            _controls[module] = ours
            atexit.register(_close, ours, process)
        return _controls[module]


def _close(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    process.terminate()
    process.wait(30)


class ForkedProcess:
    """`python -m` of what can be forked, in a session of its own; with what is used of a `Popen`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        pass_fds: Sequence[int] = (),
        text: bool = False,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        start_new_session: bool = True,
        hosts: str | None = None,
        **streams: int,
    ) -> None:
        assert command[1] == "-m" and start_new_session
        self.command = command
        self.returncode: int | None = None
        self._reads: list[Future[Any]] | None = None
        self._lock = threading.Lock()
        descriptors = {number: number for number in (*range(3), *pass_fds)}
        ours: list[Any] = [None, None, None]
        with contextlib.ExitStack() as opened:
            for number, name in enumerate(("stdin", "stdout", "stderr")):
                if (wanted := streams.get(name)) == subprocess.PIPE:
                    read, wanted = os.pipe()
                    ours[number] = os.fdopen(read, "r" if text else "rb")
                    opened.callback(os.close, wanted)
                elif wanted == subprocess.DEVNULL:
                    wanted = os.open(os.devnull, os.O_RDWR)
                    opened.callback(os.close, wanted)
                descriptors[number] = number if wanted is None else wanted
            more = {
                "folder": str(cwd or Path.cwd()),
                "environment": dict(os.environ if env is None else env),
                "hosts": hosts,
            }
            self.pid, self._status = fork(command[2], list(map(os.fspath, command[3:])), descriptors, **more)
        _, self.stdout, self.stderr = ours

    def poll(self) -> int | None:
        """How it ended, negative by a signal; None while it runs."""
        with self._lock:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                said = os.read(self._status, NUMBER.size)
                os.close(self._status)
                # Nothing: who waits for it was killed.
                (status,) = NUMBER.unpack(said) if said else (signal.SIGKILL,)
                self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

    def wait(self, timeout: float = math.inf) -> int:
        """Raises: subprocess.TimeoutExpired."""
        ends = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if (left := ends - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired(self.command, timeout)
            # Not until it is readable: a thread that waits, too, may read and close it.
            with contextlib.suppress(OSError, ValueError):
                select.select([self._status], [], [], min(left, 0.1))
        return code

    def communicate(self, timeout: float = math.inf) -> tuple[Any, Any]:
        """All that is left of its output, once it has ended; raises as `wait`, and may be asked again."""
        if self._reads is None:
            pool = ThreadPoolExecutor(2)
            self._reads = [pool.submit(_rest_of, stream) for stream in (self.stdout, self.stderr)]
            pool.shutdown(wait=False)
        if futures.wait(self._reads, None if timeout == math.inf else timeout).not_done:
            raise subprocess.TimeoutExpired(self.command, timeout)
        self.wait(timeout)
        out, error = (read.result() for read in self._reads)
        return out, error

    def send_signal(self, number: int) -> None:
        """As `Popen`: none to one that has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def _rest_of(stream: Any) -> Any:
    if stream is None or stream.closed:
        return None
    with stream:
        return stream.read()


def serve(control: socket.socket) -> None:
    """Fork for each request, until the other end is closed; returns in each new process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, received, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, MAX_DESCRIPTORS)
        if not data:
            os._exit(0)
        if os.fork() == 0 and _keeps(control, received, json.loads(data)):
            return
        for descriptor in received:
            os.close(descriptor)


def _keeps(control: socket.socket, received: list[int], request: dict[str, Any]) -> bool:
    """True in the new process; its parent waits for it, writes how it ended, and ends."""
    _die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control.close()
    status, *descriptors = received
    pid = os.fork()
    if pid == 0:
        _die_with_parent()
        os.close(status)
        _become(descriptors, **request)
        return True
    os.write(status, NUMBER.pack(pid))
    for descriptor in descriptors:
        os.close(descriptor)
    os.write(status, NUMBER.pack(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _die_with_parent() -> None:
    """Not the leftover of a test that was itself killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _become(
    received: list[int],
    arguments: list[str],
    descriptors: list[int],
    folder: str | None = None,
    environment: dict[str, str] | None = None,
    hosts: str | None = None,
    die_at_write: int = 0,
) -> None:
    os.setsid()
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, ABOVE_ALL) for descriptor in received]
    for descriptor in received:
        os.close(descriptor)
    for descriptor, number in zip(moved, descriptors, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if folder is not None and environment is not None:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        # As `python -m` has it.
        sys.path[0] = folder
    sys.argv = ["attract", *arguments]
    link.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": _start_child})  # type: ignore[assignment]
    if hosts is not None:
        # Not above: a process that a command spawns runs this file again, where that cannot be found.
        from shared_chromium import share_chromium

        share_chromium(hosts)
    if die_at_write:
        _die_at_write(die_at_write)


def _start_child(command: Sequence[str], *, env: Mapping[str, str] | None, **more: Any) -> Any:
    """Of this forked process: its learner is forked, too. Torch reads variables as it is imported."""
    is_forked = command[1:3] == ["-m", LEARNER] and env is None
    return (ForkedProcess if is_forked else subprocess.Popen)(command, env=env, **more)


def _die_at_write(number: int) -> None:
    """Have this process killed (as by `kill -9`) instead of its `number`-th fsync or rename, 1-based."""
    calls = 0

    def counted(call: Any) -> Any:
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **keywords)

        return wrapper

    os.fsync = counted(os.fsync)
    Path.rename = counted(Path.rename)


def _end(code: object) -> NoReturn:
    """End as Python does after `sys.exit(code)`, but leave what is imported: that saves half a second."""
    assert code is None or isinstance(code, int), code
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        # It may have been silenced, and who reads it may be gone.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


def _main(module: str, control: int, *learners: int) -> NoReturn:
    for number in learners:
        _controls[LEARNER] = socket.socket(fileno=number)
    for name in IMPORTED[module]:
        importlib.import_module(name)
    main = importlib.import_module(f"{module}.__main__" if module.startswith("attract") else module)
    # Pages of memory that are shared stay so.
    gc.freeze()
    serve(socket.socket(fileno=control))
    try:
        code = main.main()
    except SystemExit as ended:
        code = ended.code
    if module == LEARNER:
        # As it ends itself: tearing torch down takes long.
        os._exit(code)
    _end(code)


if __name__ == "__main__":
    # Under the name that what it runs imports.
    import zygote

    zygote._main(sys.argv[1], *map(int, sys.argv[2:]))
