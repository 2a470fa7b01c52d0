"""Answers are smaller for who can read them so, and streams are not held back."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from attract.server.compression import MIN_BYTES, CompressionMiddleware, accepts_gzip
from gateway_world import GatewayWorld, gateway

CODE = b"export const text = 'again and again';\n" * 100


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GatewayWorld]:
    async with gateway(tmp_path) as world:
        assets = tmp_path / "web" / "dashboard" / "assets"
        (assets / "big-1.js").write_bytes(CODE)
        (assets / "big-1.js.gz").write_bytes(gzip.compress(CODE))
        yield world


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip, deflate, br", True),
        ("gzip;q=0.5", True),
        ("gzip;q=0.001", True),
        ("gzip;q=1.0", True),
        ("gzip; q=0", False),
        ("gzip;q=0.0", False),
        ("br, GZIP; Q=0.000", False),
        ("gzip;q=0.", False),
        ("br", False),
        ("", False),
    ],
)
def test_a_client_says_whether_it_reads_gzip(header: str, accepted: bool):
    assert accepts_gzip(Headers({"accept-encoding": header})) is accepted


async def test_long_json_is_compressed_and_short_is_not(world: GatewayWorld):
    long = await world.client.get("/api/settings")
    assert long.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in long.headers["vary"].lower()
    assert int(long.headers["content-length"]) < len(long.content) / 3
    assert long.json()["common"]
    # Without a time: a clock beyond 2106 does not fit into its four bytes.
    async with world.client.stream("GET", "/api/settings") as raw:
        assert (await anext(raw.aiter_raw()))[4:8] == bytes(4)
    short = await world.client.get("/healthz")
    assert len(short.content) < MIN_BYTES
    assert "content-encoding" not in short.headers
    plain = await world.client.get("/api/settings", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == long.json()


async def test_a_built_file_is_sent_as_it_was_compressed_then(world: GatewayWorld):
    for encoding, sent in (("gzip", len(gzip.compress(CODE))), ("identity", len(CODE))):
        answer = await world.client.get("/assets/big-1.js", headers={"accept-encoding": encoding})
        assert answer.content == CODE
        assert int(answer.headers["content-length"]) == sent
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["vary"] == "accept-encoding"
    # One that lies alone is sent alone.
    assert "vary" not in (await world.client.get("/assets/index-1.js")).headers


async def test_events_come_as_they_happen(world: GatewayWorld):
    view = await world.start()
    async with asyncio.timeout(20), world.client.stream("GET", f"/api/runs/{view.run_id}/events") as stream:
        assert stream.headers["content-encoding"] == "gzip"
        async for line in stream.aiter_lines():
            if line == "event: status":
                return


async def test_events_come_as_text_to_who_reads_no_gzip(world: GatewayWorld):
    view = await world.start()
    path, headers = f"/api/runs/{view.run_id}/events", {"accept-encoding": "identity"}
    async with asyncio.timeout(20), world.client.stream("GET", path, headers=headers) as stream:
        assert "content-encoding" not in stream.headers
        async for part in stream.aiter_raw():
            assert part.startswith(b"retry: ")
            return


async def test_each_text_of_a_stream_can_be_read_before_the_next_is_there():
    sent: list[bytes] = []
    reader = zlib.decompressobj(16 + zlib.MAX_WBITS)

    async def texts() -> AsyncGenerator[str]:
        for number in range(3):
            yield f"text {number}\n"
            assert reader.decompress(sent[-1]) == f"text {number}\n".encode()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
        else:
            sent.append(message["body"])

    async def receive() -> Message:
        return await asyncio.Future()

    scope = {"type": "http", "headers": [(b"accept-encoding", b"gzip")], "asgi": {"spec_version": "2.4"}}
    await CompressionMiddleware(StreamingResponse(texts(), media_type="text/event-stream"))(
        scope, receive, send
    )
    assert gzip.decompress(b"".join(sent)) == b"text 0\ntext 1\ntext 2\n"


async def test_models_are_sent_as_they_are():
    answer = Response(bytes(100_000), media_type="application/octet-stream")
    transport = httpx.ASGITransport(CompressionMiddleware(answer))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        assert "content-encoding" not in (await client.get("/")).headers
