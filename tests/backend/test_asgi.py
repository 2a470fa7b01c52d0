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

from free_port import free_port

OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
FACTORY = ["uvicorn", "--factory", "attract.asgi:create_app"]
FRAME_BYTES = 6_000_000
"""More than a frame may have: 4,259,840."""
HEADER_SECONDS = 10.0


def documented() -> list[str]:
    """The words of the line that docs/operating.md has to be copied."""
    (line,) = re.findall(r"^    (uvicorn .*)$", OPERATING.read_text(), re.MULTILINE)
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
    async with launched(words, tmp_path, ATTRACT_WORKER_TOKEN=worker_token) as process:
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


REFUSED: dict[str, tuple[list[str], dict[str, str], str, str]] = {
    "bare": ([], {}, "--http, --ws, --no-proxy-headers", "--no-proxy-headers"),
    "one_flag": (documented()[3:5], {}, "--ws, --no-proxy-headers", "--no-proxy-headers"),
    "proxy": (
        documented()[3:],
        {"ATTRACT_BEHIND_PROXY": "10.0.0.5,10.1.0.0/16"},
        "--forwarded-allow-ips",
        "--forwarded-allow-ips 10.0.0.5,10.1.0.0/16",
    ),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case == "proxy" else [pytest.mark.long]) for case in REFUSED]
)
async def test_a_uvicorn_without_the_flags_ends_with_the_line_to_type_which_starts(case: str, tmp_path: Path):
    flags, variables, missing, last = REFUSED[case]
    port = free_port()
    words = [*FACTORY, "--port", str(port), *flags]
    async with launched(words, tmp_path, **variables) as process:
        _, stderr = await asyncio.wait_for(process.communicate(), 60)
    said = stderr.decode()
    assert process.returncode == 3, said
    assert "Traceback" not in said and not (tmp_path / "runs").exists()
    problem, line = re.search(r"^error: (.*)\n  (.*)$", said, re.MULTILINE).groups()  # type: ignore[union-attr]
    assert problem == f"uvicorn was started without {missing}, which it needs; type"
    assert line.startswith(f"uvicorn --factory attract.asgi:create_app --port {port} --http ")
    assert line.endswith(last)
    async with launched(shlex.split(line), tmp_path, **variables) as process:
        address, _ = await printed_link(process)
        assert address == f"http://127.0.0.1:{port}/"


async def test_an_app_whose_start_is_left_out_answers_nobody(tmp_path: Path):
    port = free_port()
    async with launched([*documented(), "--port", str(port), "--lifespan", "off"], tmp_path):
        transport = httpx.AsyncHTTPTransport(retries=20)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", transport=transport) as client:
            answer = await client.get("/healthz")
        assert (answer.status_code, "--lifespan off" in answer.text) == (503, True)
        with pytest.raises(websockets.InvalidStatus):
            await websockets.connect(f"ws://127.0.0.1:{port}/ws")


async def test_hostile_limits_of_connections_hold_however_the_gateway_is_launched(tmp_path: Path):
    # Both wait for a server that gives up a slow client.
    await asyncio.gather(
        _limits_hold(documented(), tmp_path / "uvicorn"),
        _limits_hold(["attract", "serve"], tmp_path / "attract"),
    )


async def _limits_hold(words: Sequence[str], folder: Path) -> None:
    port = str(free_port())
    async with launched([*words, "--port", port], folder) as process:
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
