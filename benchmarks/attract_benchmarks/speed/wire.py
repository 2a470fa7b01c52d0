"""The gateway between sockets and store: what a block costs, and whether it still answers under full load."""

import asyncio
import contextlib
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from attract.server.app import PACKAGE_DIR, read_build
from attract_benchmarks.harness.bare_socket import BarePlace, BareReport
from attract_benchmarks.harness.child import Child, running
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.served import Look, Served, ServerRequest, serving
from attract_benchmarks.harness.socket_clients import Burst, Fleet, Joined, Outcome

MIB = 1024 * 1024
WORKERS = 8
HORIZON = 64
INSTANCES = {"cartpole": 416, "harvest": 8}
"""Segments of so many slots nearly fill a frame of a MiB, as a local worker's do."""
ROLLOUT_STEPS = 512
"""A batch is about 60 MB then: a version or more is published in every second of full load."""
FULL_LOAD = 8
"""Blocks in flight at full load: one of each worker."""
PROBE_SECONDS = 0.005
STALL_SECONDS = 20.0
"""A burst that comes while the disk holds a version up, and with it all leases, is sent again for so long."""
NAMES = ("wire/ms_per_mib", "wire/bare_socket_mib_s", "gateway/cpu_ms_per_mib", "gateway/healthz_p99_ms")
PIXEL_NAMES = ("wire/pixels_ms_per_mib", "gateway/pixels_cpu_ms_per_mib")
"""The same of a game whose observations are images: 600 steps a MiB, where CartPole has 27,000."""


@dataclass(frozen=True)
class _Round:
    """One round's numbers; MiB are of whole frames."""

    wire_ms: float
    copy_ms: float
    bare_mib_s: float
    bare_cpu_ms: float
    load_mib_s: float
    load_cpu_ms: float
    healthz_p99_ms: float
    idle_healthz_p99_ms: float
    versions: int


def measure(options: BenchOptions) -> Mapping[str, Figure]:
    """All figures: a gateway, a fleet and a bare server whose turns alternate; then others for pixels."""
    figures = _figures(asyncio.run(_measure("cartpole", options)))
    pixels = _figures(asyncio.run(_measure("harvest", options)))
    return figures | {name: pixels[name.replace("pixels_", "")] for name in PIXEL_NAMES}


async def _measure(game: str, options: BenchOptions) -> list[_Round]:
    seconds = 0.3 if options.quick else 1.5
    async with _world(game) as (gateway, bare, clients, frame_bytes):
        # Everything once, uncounted: caches, connections, the interpreter's own specialisation.
        await _round(gateway, bare, clients, frame_bytes, seconds / 3)
        return [await _round(gateway, bare, clients, frame_bytes, seconds) for _ in range(options.rounds)]


@contextlib.asynccontextmanager
async def _world(game: str) -> AsyncGenerator[tuple[Served, Child, Child, int]]:
    """A gateway, a bare server, a fleet joined to both, and the size of its frames."""
    token = secrets.token_hex(32)
    settings = {
        "collection": {"num_workers": WORKERS, "instances_per_worker": INSTANCES[game], "warmup_steps": 0},
        "ppo": {"horizon": HORIZON, "rollout_steps": ROLLOUT_STEPS},
    }
    async with contextlib.AsyncExitStack() as stack:
        runs_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attract-bench-")))
        order = ServerRequest(game=game, settings=settings, runs_dir=runs_dir, token=token)
        gateway = await stack.enter_async_context(serving(order))
        bare = await stack.enter_async_context(running("attract_benchmarks.harness.bare_socket"))
        place = await bare.ask(Look(), BarePlace)
        clients = await stack.enter_async_context(running("attract_benchmarks.harness.socket_clients"))
        fleet = Fleet(
            url=f"{gateway.url.replace('http', 'ws', 1)}/ws",
            token=token,
            build=read_build(PACKAGE_DIR / "web") or "none",
            num_workers=WORKERS,
            bare_url=place.url,
        )
        joined = await clients.ask(fleet, Joined)
        yield gateway, bare, clients, joined.frame_bytes


async def _round(gateway: Served, bare: Child, clients: Child, frame_bytes: int, seconds: float) -> _Round:
    await gateway.report()
    await _burst(clients, "gateway", seconds / 3, 1)
    alone = await gateway.report()
    bare_before = await bare.ask(Look(), BareReport)
    plain = await _burst(clients, "bare", seconds, FULL_LOAD)
    bare_after = await bare.ask(Look(), BareReport)
    before = await gateway.report()
    loaded = await _burst(clients, "gateway", seconds, FULL_LOAD)
    after = await gateway.report()
    # Again, for answering costs too, and is no part of what a block does.
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(_probe(gateway.url, seconds))
        await _burst(clients, "gateway", seconds, FULL_LOAD)
    idle = await _probe(gateway.url, seconds / 3)
    return _Round(
        wire_ms=statistics.median(1e3 * took * MIB / size for size, took in alone.blocks),
        copy_ms=_copy_ms(frame_bytes),
        bare_mib_s=plain.num_bytes / MIB / plain.seconds,
        bare_cpu_ms=_per_mib(bare_after.cpu_seconds - bare_before.cpu_seconds, plain),
        load_mib_s=loaded.num_bytes / MIB / loaded.seconds,
        load_cpu_ms=_per_mib(after.cpu_seconds - before.cpu_seconds, loaded),
        healthz_p99_ms=_p99_ms(probing.result()),
        idle_healthz_p99_ms=_p99_ms(idle),
        versions=len(after.ready),
    )


async def _burst(clients: Child, to: str, seconds: float, in_flight: int) -> Outcome:
    burst = Burst.model_validate({"to": to, "seconds": seconds, "in_flight": in_flight})
    until = time.monotonic() + STALL_SECONDS
    while (outcome := await clients.ask(burst, Outcome)).num_blocks == 0:
        if time.monotonic() > until:
            raise RuntimeError(f"expected blocks, none was acknowledged in {STALL_SECONDS:g} s of {to}")
    return outcome


async def _probe(url: str, seconds: float) -> list[float]:
    """Seconds that each `GET /healthz` took, one after the other on one connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    request = f"GET /healthz HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    times: list[float] = []
    until = time.perf_counter() + seconds
    try:
        while (started := time.perf_counter()) < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"expected 200 of /healthz, got {head!r}")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            times.append(time.perf_counter() - started)
            await asyncio.sleep(PROBE_SECONDS)
    finally:
        writer.close()
    return times


def _copy_ms(frame_bytes: int) -> float:
    """Milliseconds to copy a MiB in pieces of a frame, from memory that was just written, as a frame is."""
    source, target = np.ones(frame_bytes, np.uint8), np.zeros((64, frame_bytes), np.uint8)
    times: list[float] = []
    for row in range(len(target)):
        source += 1
        started = time.perf_counter()
        target[row] = source
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times) * MIB / frame_bytes


def _per_mib(cpu_seconds: float, outcome: Outcome) -> float:
    return 1e3 * cpu_seconds / (outcome.num_bytes / MIB)


def _p99_ms(times: Sequence[float]) -> float:
    return 1e3 * float(np.percentile(times, 99))


def _figures(rounds: Sequence[_Round]) -> dict[str, Figure]:
    def median(name: str) -> float:
        return statistics.median(getattr(burst, name) for burst in rounds)

    return {
        "wire/ms_per_mib": Figure.of(
            [burst.wire_ms for burst in rounds],
            "ms/MiB",
            ratios=[burst.copy_ms / burst.wire_ms for burst in rounds],
            against="copying the bytes",
            better="lower",
            detail={"copy_ms_per_mib": median("copy_ms")},
        ),
        "wire/bare_socket_mib_s": Figure.of(
            [burst.bare_mib_s for burst in rounds],
            "MiB/s",
            detail={"cpu_ms_per_mib": median("bare_cpu_ms")},
        ),
        "gateway/cpu_ms_per_mib": Figure.of(
            [burst.load_cpu_ms for burst in rounds],
            "ms/MiB",
            ratios=[burst.bare_cpu_ms / burst.load_cpu_ms for burst in rounds],
            against="a bare socket",
            better="lower",
            detail={
                "mib_s": median("load_mib_s"),
                "versions": median("versions"),
                "bare_cpu_ms_per_mib": median("bare_cpu_ms"),
            },
        ),
        "gateway/healthz_p99_ms": Figure.of(
            [burst.healthz_p99_ms for burst in rounds],
            "ms",
            ratios=[burst.idle_healthz_p99_ms / burst.healthz_p99_ms for burst in rounds],
            against="an idle gateway",
            better="lower",
            detail={"idle_p99_ms": median("idle_healthz_p99_ms")},
        ),
    }


WIRE = Measure(
    NAMES + PIXEL_NAMES,
    "blocks from socket to store, against a bare socket and a copy; /healthz meanwhile",
    measure,
)
