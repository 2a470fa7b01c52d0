import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from attract.schema.api import MetricsRow
from gateway_world import GatewayWorld, gateway, start_run
from waiting import WAIT_SECONDS

OF_THE_MOMENT = ("time/", "fleet/", "rollout/episodes", "rollout/time_limit_share")
"""Metrics that tell of the moment when they were taken: a repaired row has them as its update began."""


async def train_to(world: GatewayWorld, run_id: str | None, total_steps: int) -> str:
    """Train a new run, or go on with one, to its end; its id."""
    if run_id is None:
        run_id = (await world.start(total_steps=total_steps)).run_id
    else:
        await start_run(world.service, "", {"total_steps": total_steps}, run_id=run_id, resume=True)
    await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
    return run_id


def rows_of(database: Path) -> dict[int, tuple[Any, dict[str, float]]]:
    """Every update's row and metrics, but what is of the moment."""
    with closing(sqlite3.connect(database)) as connection:
        rows = {row[0]: row for row in connection.execute('SELECT * FROM updates ORDER BY "update"')}
        values: dict[int, dict[str, float]] = {update: {} for update in rows}
        for name, update, value in connection.execute('SELECT name, "update", mean FROM points'):
            if not name.startswith(OF_THE_MOMENT):
                values[update][name] = value
    # Not the seconds, which are of the moment too.
    return {update: ((*row[:3], *row[4:]), values[update]) for update, row in rows.items()}


def forget_rows_after(database: Path, update: int) -> None:
    """As if the server had been killed before it wrote them."""
    with closing(sqlite3.connect(database)) as connection:
        for table in ("updates", "points"):
            connection.execute(f'DELETE FROM {table} WHERE "update" > ?', (update,))
        connection.commit()


@pytest.mark.parametrize("num_kept", [0, 2, 4])
async def test_hostile_15_every_row_of_a_durable_version_is_there_after_a_kill(
    num_kept: int, tmp_path: Path
) -> None:
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.metrics = {"train/entropy": 0.25}
        run_id = await train_to(world, None, 5 * 64)
        database = world.runs_dir / run_id / "metrics.db"
        written = rows_of(database)
        # A batch may hold more than its target: the last update has the number that it has.
        last = max(written)
        assert last >= 3 and list(written) == list(range(last + 1))
        forget_rows_after(database, num_kept)
        world.events.clear()
        await train_to(world, run_id, 10 * 64)
        resumed = rows_of(database)
        assert list(resumed) == list(range(max(resumed) + 1))
        assert {update: resumed[update] for update in written} == written
        published = [body.update for _, body in world.events if isinstance(body, MetricsRow)]
        assert published == list(range(min(num_kept, last) + 1, max(resumed) + 1)), (
            "pages that look on get the repaired rows too"
        )


async def test_hostile_15_a_damaged_checkpoint_costs_its_own_row_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as world, world.fleet().joined():
        run_id = await train_to(world, None, 8 * 64)
        folder = world.runs_dir / run_id
        forget_rows_after(folder / "metrics.db", 1)
        document = folder / "checkpoints" / "3" / "checkpoint.json"
        document.write_bytes(document.read_bytes().replace(b'"updates": 3', b'"updates": 7'))
        await train_to(world, run_id, 12 * 64)
        rows = list(rows_of(folder / "metrics.db"))
        assert rows == [0, 1, 2, *range(4, max(rows) + 1)]
