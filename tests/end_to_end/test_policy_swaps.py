"""Hundreds of policy swaps, in soak thousands: old sessions and models are given back."""

import asyncio
import gc
import secrets
import statistics
import sys
from pathlib import Path

import psutil
import pytest

from attract.browser.host import join_url
from attract.processes.learner import LearnerLink, spawn_learner
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from inspected_chromium import inspected_chromium
from started_run import start_run

PUBLISHER = Path(__file__).parents[1] / "support" / "swap_publisher.py"
NUM_SAMPLES = 6
SWAP_SECONDS = 0.5
"""A swap takes no longer on a busy machine."""


async def _start_publisher() -> LearnerLink:
    return await spawn_learner(command=[sys.executable, str(PUBLISHER)])


async def bytes_a_swap(
    folder: Path, *, swaps: int, settled: int, workers: int, instances: int
) -> tuple[float, float]:
    """What each swap leaves: in all workers together, whose garbage was collected, and in the server.

    Of `swaps` in all the first `settled` are not looked at.
    """
    token = secrets.token_hex(32)
    settings = ServerSettings(port=0, runs_dir=folder, worker_token=token, worker_tier="local")
    browser: list[tuple[int, int]] = []
    server: list[tuple[int, int]] = []
    async with running_gateway(settings, port_is_fixed=False, start_learner=_start_publisher) as gateway:
        view = await start_run(
            gateway.service,
            "cartpole",
            {
                "collection": {"num_workers": workers, "instances_per_worker": instances},
                "ppo": {"horizon": 2, "rollout_steps": 2},
            },
        )
        url = join_url(gateway.url, token, workers)
        async with inspected_chromium(url, folder / "profile") as host:
            for sample in range(NUM_SAMPLES):
                wanted = settled + (swaps - settled) * sample // (NUM_SAMPLES - 1)
                async with asyncio.timeout(60 + SWAP_SECONDS * swaps):
                    while (seen := gateway.service.view(view.run_id).policy_version) < wanted:
                        await asyncio.sleep(0.05)
                        assert gateway.service.active is not None, "the run ended"
                assert host.num_workers >= workers
                await host.collect_garbage()
                browser.append((seen, host.renderer_bytes()))
                gc.collect()
                server.append((seen, psutil.Process().memory_info().rss))
            fleet = gateway.service.fleet(view.run_id)
            assert sum(len(host.workers) for host in fleet.hosts) == workers
        await gateway.service.stop(view.run_id)
    print(f"bytes a swap: browser {_slope(browser):.0f}, server {_slope(server):.0f}")
    return _slope(browser), _slope(server)


@pytest.mark.long
async def test_swapped_out_policies_are_given_back(tmp_path: Path) -> None:
    browser, server = await bytes_a_swap(tmp_path, swaps=400, settled=100, workers=2, instances=16)
    # A session that is not released takes half a megabyte in each worker; a model some 20 kB in the server.
    assert browser < 48 * 1024
    assert server < 8 * 1024


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_of_2000_swaps_in_eight_workers_nothing_is_left(tmp_path: Path) -> None:
    browser, server = await bytes_a_swap(tmp_path, swaps=2000, settled=500, workers=8, instances=64)
    assert browser < 2048
    assert server < 512


def _slope(samples: list[tuple[int, int]]) -> float:
    """Bytes a swap: the median slope between all pairs of samples (Theil-Sen), which ignores outliers."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for index, earlier in enumerate(samples)
        for later in samples[index + 1 :]
        if later[0] > earlier[0]
    ]
    return statistics.median(slopes)
