"""One run, gone on with by trainer after trainer, each killed; checks that nothing of it is lost."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.experience.store import NAME_PREFIX, SHARED_MEMORY
from attract.learner.checkpoints.checkpoint import load_checkpoint, versions_in
from attract.processes.children import LEARNER
from attract.processes.link import open_link
from attract.schema.learner import Train
from gateway_world import SMALL, gateway, start_run
from learner_world import has_exited
from socket_fleet import SocketFleet
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
    words = [sys.executable, "-m", "killed_trainer", str(folder), json.dumps(settings)]
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


WAIT_SECONDS = 120.0
EXIT_SECONDS = 10.0
"""Limit for a process whose parent was killed: an update in progress may continue for a second."""
HORIZON = SMALL["ppo"]["horizon"]
STEPS = 10_000_000
"""Never reached: only a kill ends a life."""

Course = Callable[[Trainer, SocketFleet], Awaitable[None]]
"""What happens in a life before everything is killed that then still runs."""


class KilledTrainer:
    """One run in `folder`; checks after each life, and at the end, what rules C1 and D1 promise."""

    def __init__(self, folder: Path) -> None:
        self.announced = -1
        """The newest version that a worker was given, in any life."""
        self.seconds_to_train: list[float] = []
        """From each kill to the next new version at a worker."""
        self.stale_refused = 0
        """Blocks of an earlier life that were sent again, and refused."""
        self._folder = folder
        self._run = folder / "runs" / RUN_ID
        self._stale: list[bytes] = []
        self._killed_at: float | None = None
        self._earlier: list[int] = []
        """The processes of the lives before: other tests have trainers of their own, killed and living."""

    async def life(self, course: Course) -> None:
        """Start, let `course` happen, kill what is left of it, and look at what it leaves."""
        trainer = await asyncio.to_thread(start_trainer, self._folder, {"total_steps": STEPS})
        fleet = SocketFleet(
            url=f"ws://127.0.0.1:{trainer.port}/ws",
            token=trainer.token,
            origin=f"http://127.0.0.1:{trainer.port}",
            plays=True,
            stale=self._stale,
        )
        async with fleet.joined():
            await course(trainer, fleet)
            trainer.kill()
        self._killed_at = time.monotonic()
        self._stale = [] if fleet.newest_block is None else [fleet.newest_block]
        self.stale_refused += len(fleet.refused_blocks)
        self.announced = max([self.announced, *fleet.policies])
        for pid in (trainer.pid, trainer.learner_pid):
            assert await asyncio.to_thread(has_exited, pid, EXIT_SECONDS), f"process {pid} goes on"
        # The killed one's own stays until the next start of any trainer, which removes it.
        left = [path for path in map(_store_of, self._earlier) if path.exists()]
        assert not left, left
        self._earlier.append(trainer.pid)
        if self.announced >= 0:
            self._look()

    async def versions(self, fleet: SocketFleet, number: int) -> None:
        """Wait until a worker has been given so many versions that are newer than those of earlier lives."""
        began, first = self.announced, False
        async with asyncio.timeout(WAIT_SECONDS):
            while number and max(fleet.policies, default=-1) < began + number:
                async with fleet.changed:
                    await fleet.changed.wait()
                if not first and max(fleet.policies, default=-1) > began >= 0 and self._killed_at is not None:
                    first = True
                    self.seconds_to_train.append(time.monotonic() - self._killed_at)

    def _look(self) -> None:
        """What was announced is whole on disk, and has its row."""
        load_checkpoint(self._run / "checkpoints" / str(self.announced))
        with closing(sqlite3.connect(self._run / "metrics.db")) as database:
            (newest,) = database.execute("SELECT max(policy_version) FROM updates").fetchone()
        assert newest >= self.announced, "an announced version has no row"

    def judge(self) -> None:
        """The rows and segments of the whole run, after a last life, which wrote the rows that kills cost."""
        rows = rows_of(self._run / "metrics.db")
        numbers = [row["update"] for row in rows]
        assert numbers == list(range(len(numbers))), "a row is missing"
        assert [row["policy_version"] for row in rows] == numbers
        for row in rows[1:]:
            missing = {"train/loss", "rollout/episodes", "time/total_timesteps"} - row["values"].keys()
            assert not missing, f"the row of update {row['update']} has no {missing}"
        hashes = {row["policy_version"]: row["weights_sha256"] for row in rows}
        for version in versions_in(self._run / "checkpoints"):
            if version in hashes:
                document = load_checkpoint(self._run / "checkpoints" / str(version)).document
                assert document["weights_sha256"] == hashes[version]
        self._judge_segments(rows)

    def _judge_segments(self, rows: list[dict[str, Any]]) -> None:
        """No segment is in two of the updates that count, and every step counted was in one of them.

        A segment is known by its stream: the seed of the life, the slot, and the slot's step at its start. So
        no life plays again what an earlier one was trained on (rule D2).
        """
        trained: dict[int, list[tuple[Any, ...]]] = {}
        for line in (self._folder / "trained.jsonl").read_text().splitlines():
            said = json.loads(line)
            # An update that was lost by a kill is repeated with other segments: the last entry counts.
            trained[said["update"]] = [(*said["seed"], *key) for key in said["keys"]]
        count = Counter(key for row in rows[1:] for key in trained[row["update"]])
        assert count.most_common(1)[0][1] == 1, "a segment was trained twice"
        for before, row in itertools.pairwise(rows):
            steps = row["agent_steps"] - before["agent_steps"]
            assert steps == HORIZON * len(trained[row["update"]]), row["update"]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Every row of a metrics database with its metrics, in order."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute('SELECT * FROM updates ORDER BY "update"')]
        for row in rows:
            query = 'SELECT name, mean FROM points WHERE "update" = ?'
            row["values"] = dict(tuple(pair) for pair in database.execute(query, (row["update"],)))
    return rows


def _store_of(pid: int) -> Path:
    return SHARED_MEMORY / f"{NAME_PREFIX}{RUN_ID}-{pid}.bin"
