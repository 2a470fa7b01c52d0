"""One run, gone on with by trainer after trainer, each killed; checks that nothing of it is lost."""

import asyncio
import itertools
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from attract.experience.store import NAME_PREFIX, SHARED_MEMORY
from attract.learner.checkpoints.checkpoint import load_checkpoint, versions_in
from gateway_world import SMALL
from learner_world import has_exited
from socket_fleet import SocketFleet
from trainer_process import RUN_ID, Trainer, start_trainer

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
