"""The trainer killed at random points: what was announced survives, no row is missing, nothing is left."""

import asyncio
import random
import statistics
from pathlib import Path

import pytest

from killed_trainer import KilledTrainer, Trainer
from socket_fleet import SocketFleet

SEED = 20261122
VERSIONS = (1, 0, 2, 5, 1, 9)
"""How many new versions each life makes, in turns, before it is killed a random moment later."""


async def killed(folder: Path, num_kills: int) -> None:
    print(f"seed {SEED}")
    draws = random.Random(SEED)
    run = KilledTrainer(folder)

    async def course(trainer: Trainer, fleet: SocketFleet) -> None:
        await run.versions(fleet, VERSIONS[number % len(VERSIONS)])
        await asyncio.sleep(draws.uniform(0.0, 0.08))
        # Now and then the gateway alone: its learner must follow by itself.
        trainer.kill(whole=draws.random() < 0.5)

    for number in range(num_kills):  # noqa: B007, `course` reads it
        await run.life(course)
    await run.life(lambda _trainer, fleet: run.versions(fleet, 1))
    run.judge()
    assert run.announced >= num_kills, "the kills came all too early"
    assert run.stale_refused > num_kills / 2, "no fleet sent a block of an earlier life"
    seconds = sorted(run.seconds_to_train)
    print(
        f"{num_kills} kills, {run.announced} versions; training again after "
        f"{statistics.median(seconds):.2f} s (median), {seconds[-1]:.2f} s (longest)"
    )


@pytest.mark.timeout(900)
async def test_hostile_15_D1_C1_5_kills_of_the_whole_lose_no_version_no_row_and_no_segment(tmp_path: Path):
    await killed(tmp_path, 5)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.timeout(900)
async def test_hostile_15_D1_C1_200_kills_of_the_whole_lose_no_version_no_row_and_no_segment(tmp_path: Path):
    await killed(tmp_path, 200)
