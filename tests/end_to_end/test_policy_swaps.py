"""Two thousand policy swaps: old sessions and models are given back."""

import asyncio
import gc
import secrets
import statistics
import sys
import time
from pathlib import Path

import psutil

from attract.browser.host import join_url
from attract.commands.gateway import running_gateway
from attract.server.learner_link import LearnerLink, spawn_learner
from attract.settings import ServerSettings
from inspected_chromium import inspected_chromium

PUBLISHER = Path(__file__).parents[1] / "support" / "swap_publisher.py"
SWAPS = 2000
SETTLED = 500
WORKERS, INSTANCES = 8, 64
LIMIT_SECONDS = 180.0
SAMPLE_SECONDS = 3.0
BROWSER_BYTES_PER_SWAP = 2048
"""All eight workers together, after their garbage was collected; one session that is not released takes
half a megabyte in each worker."""
SERVER_BYTES_PER_SWAP = 512


async def _start_publisher() -> LearnerLink:
    return await spawn_learner(command=[sys.executable, str(PUBLISHER)])


async def test_swapped_out_policies_are_given_back(tmp_path: Path) -> None:
    token = secrets.token_hex(32)
    settings = ServerSettings(port=0, runs_dir=tmp_path, worker_token=token, worker_tier="local")
    browser: list[tuple[int, int]] = []
    server: list[tuple[int, int]] = []
    async with running_gateway(settings, port_is_fixed=False, start_learner=_start_publisher) as gateway:
        view = await gateway.service.start_run(
            "cartpole",
            {
                "collection": {"num_workers": WORKERS, "instances_per_worker": INSTANCES},
                "ppo": {"horizon": 2, "rollout_steps": 2},
            },
        )
        url = join_url(gateway.url, token, WORKERS)
        async with inspected_chromium(url, tmp_path / "profile") as host:
            began = None
            swaps = 0
            while swaps < SWAPS:
                await asyncio.sleep(SAMPLE_SECONDS)
                assert gateway.service.active is not None, "the run ended"
                swaps = gateway.service.view(view.run_id).policy_version
                if swaps and began is None:
                    began = time.monotonic()
                assert began is None or time.monotonic() - began < LIMIT_SECONDS, f"{swaps} swaps in time"
                if swaps >= SETTLED:
                    assert host.num_workers >= WORKERS
                    await host.collect_garbage()
                    browser.append((swaps, host.renderer_bytes()))
                    gc.collect()
                    server.append((swaps, psutil.Process().memory_info().rss))
            fleet = gateway.service.fleet(view.run_id)
            assert sum(len(one.workers) for one in fleet.hosts) == WORKERS
        await gateway.service.stop(view.run_id)
    print(f"bytes a swap: browser {_slope(browser):.0f}, server {_slope(server):.0f}")
    assert _slope(browser) < BROWSER_BYTES_PER_SWAP, f"browser: {_slope(browser):.0f} bytes a swap"
    assert _slope(server) < SERVER_BYTES_PER_SWAP, f"server: {_slope(server):.0f} bytes a swap"


def _slope(samples: list[tuple[int, int]]) -> float:
    """Bytes a swap: the median slope between all pairs of samples (Theil-Sen), which ignores outliers."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for index, earlier in enumerate(samples)
        for later in samples[index + 1 :]
        if later[0] > earlier[0]
    ]
    return statistics.median(slopes)
