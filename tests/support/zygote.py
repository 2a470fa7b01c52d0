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
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from attract.processes.children import LEARNER as LEARNER_PEER
from attract.processes.children import LearnerLink
from attract.processes.link import open_link

LEARNER = "attract.learner"
COMMANDS = ("check", "ci", "difficulty", "evaluate", "export", "look", "probe", "replay", "serve", "training")
IMPORTED = {
    LEARNER: ("attract.learner.process.loop",),
    "trainer_process": (),
    "attract": ("uvloop", "attract.cli", *(f"attract.commands.{name}" for name in COMMANDS)),
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


class ForkedProcess(subprocess.Popen[Any]):
    """As `Popen`, in a session of its own where it is a `python -m` of what can be forked."""

    _status: int | None = None

    def _execute_child(self, args: Any, *given: Any) -> None:
        # CPython has these at the same places from 3.11 on.
        passed, folder, environment, pipes = given[3], given[4], given[5], given[9:15]
        words = [os.fspath(word) for word in args]
        # Torch reads variables as it is imported.
        is_learner = words[1:3] == ["-m", LEARNER] and environment is None
        if not is_learner and not (words[1:2] == ["-m"] and words[2] in IMPORTED.keys() - {LEARNER}):
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        streams = [own if pipe == -1 else pipe for own, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid, self._status = fork(
            words[2],
            words[3:],
            {**dict(enumerate(streams)), **{number: number for number in passed}},
            folder=str(folder or Path.cwd()),
            environment=dict(environment or os.environ),
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._status is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        said = os.read(self._status, NUMBER.size)
        os.close(self._status)
        # Nothing: who waits for it was killed.
        return self.pid, NUMBER.unpack(said)[0] if said else signal.SIGKILL

    def _internal_poll(self, *given: Any, **more: Any) -> int | None:
        if self._status is None:
            return super()._internal_poll(*given, **more)  # type: ignore[misc]
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
    subprocess.Popen = ForkedProcess
    if die_at_write:
        _die_at_write(die_at_write)


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
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # type: ignore[attr-defined]
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
