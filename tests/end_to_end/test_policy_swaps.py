"""Hundreds of policy swaps, in soak thousands: old sessions and models are given back."""

import asyncio
import contextlib
import gc
import itertools
import json
import secrets
import statistics
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect

from attract.browser.chromium import launch_switches, require_chromium
from attract.browser.host import join_url
from attract.processes.children import LearnerLink, spawn_learner
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from gateway_world import start_run

LISTENING = "DevTools listening on "
ANSWER_SECONDS = 20.0


class InspectedChromium:
    """A Chromium with one page, and a DevTools session with it and each of its workers, nested or not."""

    def __init__(self, pid: int, socket: ClientConnection) -> None:
        self._pid = pid
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._sessions: dict[str, str] = {}
        """Session id to the kind of its target."""

    @property
    def num_workers(self) -> int:
        """Workers that answer now, supervisors among them."""
        return sum(kind == "worker" for kind in self._sessions.values())

    async def collect_garbage(self) -> None:
        """Run a full collection in every worker. Raises: TimeoutError: when one does not answer."""
        async with asyncio.timeout(ANSWER_SECONDS):
            await asyncio.gather(
                *(
                    self._ask("HeapProfiler.collectGarbage", session=session)
                    for session, kind in self._sessions.items()
                    if kind == "worker"
                )
            )

    def renderer_bytes(self) -> int:
        """Resident bytes of all renderers."""
        total = 0
        for process in psutil.Process(self._pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "--type=renderer" in process.cmdline():
                    total += process.memory_info().rss
        return total

    async def open(self, url: str) -> None:
        """Open a page."""
        await self._ask("Target.createTarget", {"url": url}, session=None)

    async def attach(self, session: str | None = None) -> None:
        """Have every target there is, and every later one, attached to."""
        order = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        await self._ask("Target.setAutoAttach", order, session=session)

    async def read(self) -> None:
        """Hear answers and new targets until the browser ends."""
        async with asyncio.TaskGroup() as attaching:
            async for text in self._socket:
                message: dict[str, Any] = json.loads(text)
                if (
                    answer := self._answers.pop(message.get("id", 0), None)
                ) is not None and not answer.done():
                    answer.set_result(None)
                if message.get("method") == "Target.attachedToTarget":
                    session: str = message["params"]["sessionId"]
                    self._sessions[session] = message["params"]["targetInfo"]["type"]
                    attaching.create_task(self.attach(session))
                elif message.get("method") == "Target.detachedFromTarget":
                    self._sessions.pop(message["params"]["sessionId"], None)

    async def _ask(
        self, method: str, parameters: dict[str, Any] | None = None, *, session: str | None
    ) -> None:
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters or {}}
        await self._socket.send(json.dumps(message if session is None else message | {"sessionId": session}))
        await answer


@contextlib.asynccontextmanager
async def inspected_chromium(url: str, profile: Path) -> AsyncGenerator[InspectedChromium]:
    """Open `url` with the switches of a headless host; the browser ends with the block.

    Args:
        url: of the host page.
        profile: an empty folder for the browser's own files.
    """
    process = await asyncio.create_subprocess_exec(
        require_chromium().path,
        *launch_switches(url),
        "--headless",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        address = await _address(process)
        async with connect(address, max_size=None) as socket:
            browser = InspectedChromium(process.pid, socket)
            reading = asyncio.create_task(browser.read())
            await browser.attach()
            await browser.open(url)
            yield browser
        await reading
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    lines: list[str] = []
    async for line in process.stderr:
        lines.append(line.decode(errors="replace"))
        if lines[-1].startswith(LISTENING):
            return lines[-1].removeprefix(LISTENING).strip()
    raise AssertionError(f"Chromium did not start: {''.join(lines)}")


PUBLISHER = Path(__file__).with_name("swap_publisher.py")
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
