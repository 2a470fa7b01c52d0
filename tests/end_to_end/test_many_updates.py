"""Twelve hours' worth of updates in fast form: what a long run holds and leaves behind is bounded."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from gateway_world import gateway
from killed_trainer import STEPS

MAX_MORE_BYTES = 64 << 20
MAX_DATABASE_BYTES = 64 << 20
MAX_EVENT_FILE_BYTES = 256 << 20


class Footprint:
    """What the process and the run's folder hold."""

    def __init__(self, run: Path) -> None:
        process = psutil.Process()
        self.resident_bytes = process.memory_info().rss
        self.num_descriptors = process.num_fds()
        # Old checkpoints are removed meanwhile: `rglob` would fail on a folder that is gone.
        self.num_files = sum(len(names) for _, _, names in os.walk(run))
        self.database_bytes = sum(path.stat().st_size for path in run.glob("metrics.db*"))
        self.event_bytes = sum(path.stat().st_size for path in run.glob("events.out.*"))

    def __str__(self) -> str:
        return (
            f"{self.resident_bytes / 2**20:.0f} MiB, {self.num_descriptors} descriptors, "
            f"{self.num_files} files, metrics.db {self.database_bytes / 2**20:.1f} MiB, "
            f"events {self.event_bytes / 2**20:.1f} MiB"
        )


async def footprints(folder: Path, at: list[int]) -> list[Footprint]:
    """Footprints of a run with the fake learner, after each of these numbers of updates."""
    taken: list[Footprint] = []
    async with gateway(folder) as world, world.fleet().joined() as fleet:
        view = await world.start(total_steps=STEPS)
        for update in at:
            while world.service.view(view.run_id).updates < update:
                await asyncio.sleep(0.2)
                # What the test's own fakes remember would outweigh all that is measured.
                for remembered in (
                    fleet.accepted,
                    fleet.refused_blocks,
                    fleet.policies,
                    fleet.leases,
                    world.learner.heard,
                    world.events,
                ):
                    remembered.clear()
            taken.append(Footprint(world.runs_dir / view.run_id))
            print(f"after {update} updates: {taken[-1]}", flush=True)
        await world.service.abort()
    return taken


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
async def test_100_000_updates_leave_memory_descriptors_and_files_bounded(tmp_path: Path) -> None:
    early, late = await footprints(tmp_path, [10_000, 100_000])
    assert late.resident_bytes - early.resident_bytes <= MAX_MORE_BYTES
    assert late.num_descriptors <= early.num_descriptors + 8
    # A hundred checkpoints, spread over the run, stay, however long it is.
    assert late.num_files <= early.num_files + 100
    assert late.database_bytes <= MAX_DATABASE_BYTES
    assert late.event_bytes <= MAX_EVENT_FILE_BYTES
