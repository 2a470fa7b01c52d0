"""Whole trainers, gateway and learner, as processes that a test may kill; forked with everything imported.

Run as a module it is such a gateway; `start_trainer` is its user's side.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.processes.children import LEARNER
from attract.processes.link import open_link
from attract.schema.learner import Train
from gateway_world import SMALL, gateway, start_run
from zygote import ForkedProcess, fork_learner

RUN_ID = "killed"


@dataclass
class Trainer:
    """One life of the trainer: a gateway with its learner."""

    process: ForkedProcess
    learner_pid: int
    port: int
    token: str

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self, *, whole: bool = True) -> None:
        """`kill -9` of both, or of the gateway alone, whose learner must follow by itself."""
        for pid in (self.pid, self.learner_pid) if whole else (self.pid,):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.process.wait()


def start_trainer(folder: Path, settings: dict[str, Any]) -> Trainer:
    """A trainer of the run in `folder`: a new one, or going on with the one that is there."""
    words = [sys.executable, "-m", "trainer_process", str(folder), json.dumps(settings)]
    process = ForkedProcess(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        answer = json.loads(said.readline())
    assert "error" not in answer, answer["error"]
    return Trainer(process, **answer)


class _Learners:
    """What `GatewayWorld` takes for a learner, and how it says the process id of the one that it forked."""

    pid = 0

    async def start(self) -> Any:
        connection, self.pid = fork_learner()
        return await open_link(LEARNER, connection)


async def _serve_run(folder: Path, settings: dict[str, Any]) -> None:
    learners = _Learners()
    # A flood of one token is what some tests are about.
    unlimited = {"sockets_per_token": 8192}
    async with gateway(folder, learners, **unlimited) as world:  # type: ignore[arg-type]
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
            print(json.dumps({"error": repr(error)}), flush=True)
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
        answer = {"learner_pid": learners.pid, "port": world.port, "token": world.guard.issue("worker")}
        print(json.dumps(answer), flush=True)
        await world.service.wait_finished()


def main() -> None:
    """The gateway, until its run is finished or it is killed."""
    folder, settings = sys.argv[1:]
    asyncio.run(_serve_run(Path(folder), json.loads(settings)))
