"""The launch by `uvicorn --factory`, with the real uvicorn: what it needs to be told, and what holds then."""

import asyncio
import contextlib
import os
import re
import shlex
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest
import websockets

from servers import free_port

OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
FACTORY = ["uvicorn", "--factory", "attract.asgi:create_app"]
FRAME_BYTES = 6_000_000
"""More than a frame may have: 4,259,840."""
HEADER_SECONDS = 10.0


def documented() -> list[str]:
    """The words of the line that docs/operating.md has to be copied."""
    (line,) = re.findall(r"^    ATTRACT_PORT=8000 (uvicorn .*)$", OPERATING.read_text(), re.MULTILINE)
    return shlex.split(line)


@contextlib.asynccontextmanager
async def launched(
    words: Sequence[str], folder: Path, **variables: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python -m` these words; its stderr is a pipe."""
    environment = {**os.environ, "ATTRACT_RUNS_DIR": str(folder / "runs"), **variables}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def printed_link(process: asyncio.subprocess.Process) -> tuple[str, str]:
    """The address and the token of the line that a server prints."""
    assert process.stderr is not None
    async with asyncio.timeout(60):
        while line := (await process.stderr.readline()).decode():
            if line.startswith("dashboard: "):
                address, _, token = line.strip().removeprefix("dashboard: ").partition("#token=")
                return address, token
    raise AssertionError("it ended without a link")


async def test_uvicorn_serves_the_factory_with_settings_from_the_environment(tmp_path: Path):
    port = free_port()
    words = [*documented(), "--port", str(port), "--log-level", "warning"]
    worker_token = "a-token-of-ones-own-choice"
    variables = {"ATTRACT_PORT": str(port), "ATTRACT_WORKER_TOKEN": worker_token}
    async with launched(words, tmp_path, **variables) as process:
        address, token = await printed_link(process)
        assert address == f"http://127.0.0.1:{port}/"
        transport = httpx.AsyncHTTPTransport(retries=10)
        async with httpx.AsyncClient(base_url=address, transport=transport) as client:
            assert (await client.get("healthz")).json() == {"status": "ok"}
            assert (await client.get("api/runs")).status_code == 401
            admin = {"authorization": f"Bearer {token}"}
            assert (await client.get("api/runs", headers=admin)).json()["runs"] == []
            worker = {"authorization": f"Bearer {worker_token}"}
            assert (await client.get("api/runs", headers=worker)).status_code == 403
        process.terminate()
        await process.wait()
        assert process.returncode in (0, -15)


async def test_a_bare_uvicorn_is_told_which_door_has_the_limits_and_the_app_keeps_its_own(tmp_path: Path):
    port = free_port()
    words = [*FACTORY, "--port", str(port), "--no-proxy-headers"]
    variables = {"ATTRACT_PORT": str(port), "ATTRACT_BEHIND_PROXY": "127.0.0.1"}
    async with launched(words, tmp_path, **variables) as process:
        address, token = await printed_link(process)
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert "`attract serve` limits" in line and line.endswith(f"{' '.join(documented()[5:9])}\n")
        transport = httpx.AsyncHTTPTransport(retries=10)
        async with httpx.AsyncClient(base_url=address, transport=transport) as client:
            assert (await client.get("healthz")).status_code == 200
            # The proxy's word counts: the refusal is that of the client behind it.
            forwarded = {"x-forwarded-for": "203.0.113.7", "authorization": f"Bearer {token}x"}
            assert (await client.get("api/runs", headers=forwarded)).status_code == 401
        assert '"address":"203.0.113.7"' in (tmp_path / "runs" / "audit.jsonl").read_text().replace(" ", "")
        async with websockets.connect(f"{address.replace('http', 'ws')}ws", max_size=None) as socket:
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await socket.send(bytes(FRAME_BYTES))
                while True:
                    await socket.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009


async def test_hostile_limits_of_connections_hold_however_the_gateway_is_launched(tmp_path: Path):
    # Both wait for a server that gives up a slow client.
    await asyncio.gather(
        _limits_hold(documented(), tmp_path / "uvicorn"),
        _limits_hold(["attract", "serve"], tmp_path / "attract"),
    )


async def _limits_hold(words: Sequence[str], folder: Path) -> None:
    port = str(free_port())
    async with launched([*words, "--port", port], folder, ATTRACT_PORT=port) as process:
        address, _ = await printed_link(process)
        async with httpx.AsyncClient(
            base_url=address, transport=httpx.AsyncHTTPTransport(retries=10)
        ) as client:
            assert (await client.get("healthz")).status_code == 200
        slow = asyncio.create_task(_seconds_of_half_a_request(int(port)))
        async with websockets.connect(
            f"{address.replace('http', 'ws')}ws", compression="deflate", max_size=None
        ) as socket:
            assert socket.response is not None
            assert "sec-websocket-extensions" not in socket.response.headers
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await socket.send(bytes(FRAME_BYTES))
                await socket.recv()
            # 1009, message too big, is said by the protocol: the app never saw it.
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
        assert HEADER_SECONDS - 1 <= await slow < HEADER_SECONDS + 10


async def _seconds_of_half_a_request(port: int) -> float:
    """How long the server keeps a connection whose headers do not end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.monotonic()
    writer.write(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n")
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
    return time.monotonic() - began
