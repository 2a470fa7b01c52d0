"""Forks learner processes that have torch imported already, and can kill them at a chosen write to the disk.

Run as a script, it serves requests over the socket given; `LearnerZygote` is its user's side.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

REQUEST = struct.Struct("<I")
"""Which call of fsync or rename kills the learner, 1-based; 0 is none."""
ANSWER = struct.Struct("<I")


class LearnerZygote:
    """Starts learners in milliseconds; `close` it after them."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=(theirs.fileno(),)
        )
        theirs.close()

    def start(self, *, die_at_write: int = 0) -> tuple[socket.socket, int]:
        """A new learner: our end of its socket, and its process id."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self._control, [REQUEST.pack(die_at_write)], [theirs.fileno()])
        theirs.close()
        (pid,) = ANSWER.unpack(self._control.recv(ANSWER.size, socket.MSG_WAITALL))
        return ours, pid

    def close(self) -> None:
        self._control.close()
        self._process.wait(30)


def die_at_write(number: int) -> None:
    """Have this process killed (as by `kill -9`) instead of its `number`-th fsync or rename."""
    calls = 0

    def counted(call):
        def wrapper(*arguments, **keywords):
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **keywords)

        return wrapper

    os.fsync = counted(os.fsync)
    Path.rename = counted(Path.rename)


def serve(control: socket.socket) -> None:
    import attract.learner.process.loop  # noqa: F401
    from attract.learner.process.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, REQUEST.size, 1)
        if not data:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            (number,) = REQUEST.unpack(data)
            if number:
                die_at_write(number)
            os._exit(run(descriptors[0]))
        os.close(descriptors[0])
        control.sendall(ANSWER.pack(pid))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
