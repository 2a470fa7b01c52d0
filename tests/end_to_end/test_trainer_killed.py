"""The trainer killed at random points: what was announced survives, no row is missing, nothing is left."""

import asyncio
import itertools
import json
import random
import sqlite3
import statistics
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from attract.learner.checkpoint import load_checkpoint, versions_in
from learner_world import has_exited
from socket_fleet import SocketFleet
from trainer_zygote import RUN_ID, TrainerZygote

SEED = 20261122
WAIT_SECONDS = 120.0
HORIZON = 8
"""Of `SMALL`."""
VERSIONS = (1, 0, 2, 5, 1, 9)
"""How many new versions each life makes, in turns, before it is killed a random moment later."""
STEPS = 10_000_000
"""Never reached: only a kill ends a life."""


class KilledTrainer:
    """One run, gone on with by trainer after trainer."""

    def __init__(self, zygote: TrainerZygote, folder: Path, seed: int) -> None:
        self.announced = -1
        """The newest version that a worker was given, in any life."""
        self.seconds_to_train: list[float] = []
        """From each kill to the next new version at a worker."""
        self.num_early = 0
        """Lives that ended before they had made a version."""
        self._zygote = zygote
        self._folder = folder
        self._run = folder / "runs" / RUN_ID
        self._draws = random.Random(seed)
        self._num_lives = 0
        self._stale: list[bytes] = []
        self._killed_at: float | None = None

    async def life(self) -> None:
        """Start, train up to a point drawn at random, kill, and look at what is left."""
        trainer = await asyncio.to_thread(self._zygote.start, self._folder, {"total_steps": STEPS})
        fleet = SocketFleet(
            url=f"ws://127.0.0.1:{trainer.port}/ws",
            token=trainer.token,
            origin=f"http://127.0.0.1:{trainer.port}",
            plays=True,
            stale=self._stale,
        )
        num_versions = VERSIONS[self._num_lives % len(VERSIONS)]
        self._num_lives += 1
        moment = self._draws.uniform(0.0, 0.08)
        async with fleet.joined():
            first = await self._train(fleet, num_versions)
            await asyncio.sleep(moment)
            trainer.kill(whole=self._draws.random() < 0.5)
        self._killed_at = time.monotonic()
        assert [one for one in fleet.refused if one.code != "going_away"] == []
        if first is not None:
            stale = {(block.lease_id, block.block_index) for block in fleet.refused_blocks}
            assert len(stale) >= len(self._stale), "a block of an earlier life was taken"
        self.announced = max([self.announced, *fleet.policies])
        self._stale = [] if fleet.newest_block is None else [fleet.newest_block]
        for pid in (trainer.pid, trainer.learner_pid):
            assert await asyncio.to_thread(has_exited, pid, 10), f"process {pid} goes on"
        if self.announced >= 0:
            self._look()

    async def _train(self, fleet: SocketFleet, num_versions: int) -> float | None:
        """Wait until so many versions came that are newer than all before; when the first did."""
        began, first = self.announced, None
        async with asyncio.timeout(WAIT_SECONDS):
            while num_versions and max(fleet.policies, default=-1) < began + num_versions:
                async with fleet.changed:
                    await fleet.changed.wait()
                if first is None and max(fleet.policies, default=-1) > began:
                    first = time.monotonic()
                    if self._killed_at is not None and began >= 0:
                        self.seconds_to_train.append(first - self._killed_at)
        self.num_early += first is None
        return first

    def _look(self) -> None:
        """What was announced is whole on disk, and has its row."""
        assert (self._run / "checkpoints" / str(self.announced)).is_dir(), "an announced version is lost"
        with closing(sqlite3.connect(self._run / "metrics.db")) as database:
            (newest,) = database.execute("SELECT max(policy_version) FROM updates").fetchone()
        assert newest >= self.announced, "an announced version has no row"

    def judge(self) -> None:
        """The whole run, after its last life: rows, checkpoints, segments."""
        rows = rows_of(self._run / "metrics.db")
        numbers = [row["update"] for row in rows]
        assert numbers == list(range(len(numbers))), "a row is missing"
        assert [row["policy_version"] for row in rows] == numbers
        names = {row["update"]: row["values"].keys() for row in rows[1:]}
        for update, known in names.items():
            missing = {"train/loss", "rollout/episodes", "time/total_timesteps"} - known
            assert not missing, f"the row of update {update} has no {missing}"
        hashes = {row["policy_version"]: row["weights_sha256"] for row in rows}
        for version in versions_in(self._run / "checkpoints"):
            if version in hashes:
                document = load_checkpoint(self._run / "checkpoints" / str(version)).document
                assert document["weights_sha256"] == hashes[version]
        self._judge_segments(rows)

    def _judge_segments(self, rows: list[dict[str, Any]]) -> None:
        """No segment is in two of the updates that count, and every step counted was in one of them."""
        trained: dict[int, list[tuple[Any, ...]]] = {}
        for line in (self._folder / "trained.jsonl").read_text().splitlines():
            said = json.loads(line)
            # Told again after a kill, an update is made anew of other segments: the last telling counts.
            trained[said["update"]] = [(*said["seed"].values(), *key) for key in said["keys"]]
        count = Counter(key for row in rows[1:] for key in trained[row["update"]])
        assert count.most_common(1)[0][1] == 1, "a segment was trained twice"
        for before, row in itertools.pairwise(rows):
            steps = row["agent_steps"] - before["agent_steps"]
            assert steps == HORIZON * len(trained[row["update"]]), row["update"]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Every row with its metrics, in order."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute('SELECT * FROM updates ORDER BY "update"')]
        for row in rows:
            query = 'SELECT name, value FROM metrics WHERE "update" = ?'
            row["values"] = dict(tuple(one) for one in database.execute(query, (row["update"],)))
    return rows


async def killed(folder: Path, num_kills: int) -> None:
    print(f"seed {SEED}")
    with TrainerZygote() as zygote:
        run = KilledTrainer(zygote, folder, SEED)
        for _ in range(num_kills):
            await run.life()
        run.judge()
    assert run.num_early > 0 and run.announced >= num_kills / 2, "the kills came all too early or too late"
    seconds = sorted(run.seconds_to_train)
    print(
        f"{num_kills} kills, {run.announced} versions; training again after "
        f"{statistics.median(seconds):.2f} s (median), {seconds[-1]:.2f} s (longest)"
    )


async def test_hostile_15_D1_C1_20_kills_of_the_whole_lose_no_version_no_row_and_no_segment(tmp_path: Path):
    await killed(tmp_path, 20)


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_hostile_15_D1_C1_200_kills_of_the_whole_lose_no_version_no_row_and_no_segment(tmp_path: Path):
    await killed(tmp_path, 200)
