"""Forks whole trainers, gateway and learner, that have everything imported; each is a process group.

Run as a script it serves requests over the socket given; `TrainerZygote` is its user's side.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from started_run import start_run

START_SECONDS = 120.0
PR_SET_PDEATHSIG = 1
RUN_ID = "killed"


@dataclass
class Trainer:
    """One life of the trainer: a gateway with its learner."""

    pid: int
    learner_pid: int
    port: int
    token: str

    def kill(self, *, whole: bool = True) -> None:
        """`kill -9` of the process group, or of the gateway alone, whose learner must follow by itself."""
        with contextlib.suppress(ProcessLookupError):
            if whole:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)


class TrainerZygote:
    """Starts trainers in a fraction of a second; a context manager."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(START_SECONDS)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=(theirs.fileno(),)
        )
        theirs.close()

    def start(self, folder: Path, settings: dict[str, Any]) -> Trainer:
        """A trainer of the run in `folder`: a new one, or going on with the one that is there."""
        self._control.send(json.dumps({"folder": str(folder), "settings": settings}).encode())
        answer = json.loads(self._control.recv(65536))
        assert "error" not in answer, answer["error"]
        return Trainer(**answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._control.close()
        self._process.wait(30)


def serve(control: socket.socket) -> None:
    """Fork a trainer for each request; it answers itself once it is up."""
    import attract.learner.process.loop  # noqa: F401
    import gateway_world  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while request := control.recv(65536):
        if os.fork() == 0:
            os.setsid()
            # Not the leftover of a test that was itself killed.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            try:
                _trainer(control, **json.loads(request))
            finally:
                os._exit(0)


def _trainer(control: socket.socket, folder: str, settings: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ours, theirs = socket.socketpair()
    learner_pid = os.fork()
    if learner_pid == 0:
        from attract.learner.process.main import run

        ours.close()
        control.close()
        os._exit(run(theirs.fileno()))
    theirs.close()
    ours.setblocking(False)
    asyncio.run(_serve_run(control, ours, learner_pid, Path(folder), settings))


class _ForkedLearner:
    """What `GatewayWorld` takes for a learner: the process that was forked before there was an event loop."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    async def start(self) -> Any:
        from attract.processes.children import LEARNER
        from attract.processes.link import open_link

        return await open_link(LEARNER, self._connection)


async def _serve_run(
    control: socket.socket, learner: socket.socket, learner_pid: int, folder: Path, settings: dict[str, Any]
) -> None:
    from attract.schema.learner import Train
    from gateway_world import SMALL, gateway

    # A flood of one token is what some tests are about.
    unlimited = {"sockets_per_token": 8192}
    async with gateway(folder, _ForkedLearner(learner), **unlimited) as world:  # type: ignore[arg-type]
        resume = (world.runs_dir / RUN_ID / "config.yaml").is_file()
        try:
            await start_run(
                world.service,
                "counting",
                {**SMALL, **settings},
                run_id=RUN_ID,
                resume=resume,
                force=not resume,
            )
        except Exception as error:
            control.send(json.dumps({"error": repr(error)}).encode())
            return
        run: Any = world.service.active
        log = os.open(folder / "trained.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        send = run._learner.send

        def record(message: Any) -> None:
            if isinstance(message, Train):
                store = run.browsers.store
                keys = [[int(store[name][row]) for name in ("slot_id", "first_step")] for row in message.rows]
                seed = run.runner.collection.config.stream_seed
                line = {"update": message.counters.updates, "seed": [seed.low, seed.high], "keys": keys}
                # Not by `write`, which tests break.
                os.writev(log, [json.dumps(line).encode() + b"\n"])
            send(message)

        run._learner.send = record
        world.service.subscribe(
            lambda kind, body: os.write(2, f"{body}\n".encode()) if kind == "report" else None
        )
        answer = {"pid": os.getpid(), "learner_pid": learner_pid, "port": world.port}
        control.send(json.dumps({**answer, "token": world.guard.issue("worker")}).encode())
        await world.service.wait_finished()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    with contextlib.suppress(KeyboardInterrupt):
        serve(socket.socket(fileno=int(sys.argv[1])))
