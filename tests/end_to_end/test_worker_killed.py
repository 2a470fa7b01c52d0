"""A worker's browser killed at five points: training goes on, and every segment counts once."""

import asyncio
import contextlib
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.schema.learner import Train
from attract.server.in_process import Gateway, running_gateway
from attract.settings.run import ServerSettings
from gateway_world import start_run
from proxy import FrameProxy, Message
from zygote import start_learner

POINTS = ("before_a_frame", "within_a_frame", "after_a_frame", "before_the_acknowledgement", "during_a_swap")
SERVER_POINTS = ("before_an_observe", "before_an_act")
"""Under central inference."""
CASES = [*((point, "worker") for point in POINTS), *((point, "server") for point in SERVER_POINTS)]
AT_ONCE = ("before_an_act",)
"""What `make test` kills at; the others are in `make soak`."""
PATIENCE_SECONDS = 120.0
"""Without one more step of the run. On a machine that others take, no sum of waits has a limit of its own."""
Key = tuple[int, int, int]


class Victim:
    """One host behind a proxy, whose renderer is killed when the chosen message passes."""

    def __init__(self, point: str, seed: int) -> None:
        draws = random.Random(seed)
        self.point = point
        self.armed = False
        self.killed_at: float | None = None
        self._skip = draws.randrange(1, 6)
        self._cut = draws.random()
        self._pid: int | None = None

    def watch(self, host: HostProcess) -> None:
        self._pid = host.pid

    async def decide(self, message: Message) -> bytes | None:
        """Forward everything until the point is reached."""
        if not self.armed or not self._is_here(message):
            return message.raw
        self._skip -= 1
        if self._skip > 0:
            return message.raw
        self.armed = False
        if self.point == "within_a_frame":
            asyncio.get_running_loop().call_soon(self._kill)
            return message.raw[: max(1, int(self._cut * len(message.raw)))]
        if self.point == "after_a_frame":
            asyncio.get_running_loop().call_later(0.005, self._kill)
            return message.raw
        self._kill()
        return None if message.to_gateway else b""

    def _is_here(self, message: Message) -> bool:
        match self.point:
            case "before_the_acknowledgement":
                return message.kind == "block_ack"
            case "during_a_swap":
                return message.kind == "policy"
            case "before_an_observe":
                return message.kind == "observe"
            case "before_an_act":
                return message.kind == "act"
            case _:
                return message.kind == "block"

    def _kill(self) -> None:
        assert self._pid is not None
        for process in psutil.Process(self._pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "--type=renderer" in process.cmdline():
                    process.kill()
        self.killed_at = time.monotonic()


class Keys:
    """Which segments were accepted and which were trained, read off the run as it works."""

    def __init__(self, run: Any) -> None:
        self.accepted: Counter[Key] = Counter()
        self.trained: Counter[Key] = Counter()
        self.accepted_of: Counter[int] = Counter()
        """Segments by worker."""
        self.passed_over: Counter[Key] = Counter()
        """Batches that were trained while this segment waited."""
        self._run = run
        self._decide = run.runner.collection.decide_block
        self._send = run._learner.send
        run.runner.collection.decide_block = self._note
        run._learner.send = self._heed

    def _note(self, connection_id: int, block: Any, verdict: Any, now: float) -> Any:
        if verdict.accepted and verdict.rows is not None:
            self.accepted.update(self._keys(verdict.rows))
            self.accepted_of.update(self._run.browsers.store["worker_id"][verdict.rows].tolist())
        return self._decide(connection_id, block, verdict, now)

    def _heed(self, message: Any) -> None:
        if isinstance(message, Train):
            self.trained.update(self._keys(message.rows))
            self.passed_over.update(key for key in self.accepted if key not in self.trained)
        self._send(message)

    def _keys(self, rows: Any) -> list[Key]:
        store = self._run.browsers.store
        return [
            (int(store["lease_id"][row]), int(store["slot_id"][row]), int(store["segment_index"][row]))
            for row in rows
        ]


@pytest.mark.parametrize(
    ("point", "inference"),
    [pytest.param(*case, marks=[] if case[0] in AT_ONCE else [pytest.mark.soak]) for case in CASES],
)
async def test_C1_C2_training_goes_on_and_every_segment_counts_once(
    point: str, inference: str, tmp_path: Path
) -> None:
    token = secrets.token_hex(32)
    settings = ServerSettings(port=0, runs_dir=tmp_path, worker_token=token, worker_tier="local")
    victim = Victim(point, seed=CASES.index((point, inference)))
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        port = int(gateway.url.rpartition(":")[2])
        proxy = FrameProxy(port, victim.decide)
        proxy_port = await proxy.start()
        view = await start_run(
            gateway.service, "cartpole", {"collection": {"num_workers": 2, "inference": inference}}
        )
        keys = Keys(gateway.service.active)
        hosts = [
            await HostProcess.start(join_url(f"http://127.0.0.1:{at}", token, 1), lambda _event: None)
            for at in (port, proxy_port)
        ]
        victim.watch(hosts[1])
        try:
            await _until(gateway, lambda: len(keys.accepted_of) == 2)
            earlier = set(keys.accepted_of)
            victim.armed = True
            await _until(gateway, lambda: victim.killed_at is not None)
            updates = gateway.service.view(view.run_id).updates
            await _until(gateway, lambda: gateway.service.view(view.run_id).updates >= updates + 2)
            # Whatever the worker held is given up, and its browser comes back with another.
            await _until(gateway, lambda: _held_by_nobody(gateway) == [])
            await _until(gateway, lambda: keys.accepted_of.keys() - earlier)
            # Together they play on, and the new one has its share of the segments once it is warm: that takes
            # seconds on a slow machine, while the other plays ten updates in one.
            (new,) = keys.accepted_of.keys() - earlier
            for _ in range(10):
                keys.accepted_of.clear()
                updates = gateway.service.view(view.run_id).updates
                await _until(
                    gateway, lambda least=updates + 30: gateway.service.view(view.run_id).updates >= least
                )
                if 4 * keys.accepted_of[new] > keys.accepted_of.total():
                    break
            assert 4 * keys.accepted_of[new] > keys.accepted_of.total() > 0, keys.accepted_of
            await gateway.service.stop(view.run_id)
        finally:
            for host in hosts:
                await host.stop()
            await proxy.cut()
    assert max(keys.trained.values()) == 1
    assert max(keys.accepted.values()) == 1
    assert set(keys.trained) <= set(keys.accepted)
    # What was accepted and never trained is what the warm-up and the last, unfinished batch held. A segment
    # that came after its batch was full waits for the next: a lease that lasts is part of both.
    first_lease = min(key[0] for key in keys.trained)
    missing = [
        key
        for key, batches in keys.passed_over.items()
        if key not in keys.trained and key[0] >= first_lease and batches > 1
    ]
    assert missing == []


def _held_by_nobody(gateway: Gateway) -> list[int]:
    """Open leases of workers that are not there (rule C3)."""
    run: Any = gateway.service.active
    state = run.runner.collection
    return [lease.lease_id for lease in state.book if not state.fleet.by_id(lease.worker_id).is_connected]


async def _until(gateway: Gateway, is_so: Callable[[], bool]) -> None:
    """Wait, as long as the run goes on."""
    steps, deadline = -1, 0.0
    while not is_so():
        run = gateway.service.active
        assert run is not None, "the run ended"
        if (newest := run.view().agent_steps) != steps:
            steps, deadline = newest, time.monotonic() + PATIENCE_SECONDS
        assert time.monotonic() < deadline, f"nothing is played for {PATIENCE_SECONDS} s"
        await asyncio.sleep(0.02)
