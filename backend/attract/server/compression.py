"""Compresses responses: dynamic ones on a thread; built files are stored compressed."""

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMPRESSED_KINDS = ("application/json", "text/javascript")
"""Content types of dynamic responses. Models and other binary data do not compress."""
MIN_BYTES = 1024
LEVEL = 4
"""Nearly as small as the highest, in a fifth of the time."""
STREAM_WINDOW_BITS, STREAM_MEMORY_LEVEL = 14, 6
"""Parameters of zlib: 96 KiB for each page that listens; 16 KiB hold some thirty rows of metrics."""


class CompressionMiddleware:
    """Compresses whole answers for clients that take gzip; streams are left to `compressed_stream`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its answer compressed where that helps."""
        if scope["type"] == "http" and accepts_gzip(Headers(scope=scope)):
            send = _Compressor(send).send
        await self._app(scope, receive, send)


class _Compressor:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _may_shrink(Headers(raw=message["headers"])):
            self._start = message
            return
        start, self._start = self._start, None
        if start is not None:
            body: bytes = message.get("body", b"")
            if not message.get("more_body", False) and len(body) >= MIN_BYTES:
                body = await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
                message = {**message, "body": body}
                headers = MutableHeaders(raw=list(start["headers"]))
                headers["content-encoding"] = "gzip"
                headers["content-length"] = str(len(body))
                headers.add_vary_header("accept-encoding")
                start = {**start, "headers": headers.raw}
            await self._send(start)
        await self._send(message)


def accepts_gzip(headers: Headers) -> bool:
    """Whether a client accepts gzip."""
    offers = [part.replace(" ", "").lower() for part in headers.get("accept-encoding", "").split(",")]
    # RFC 9110, section 12.4.2: a weight of 0, with up to three zeros behind the point, refuses.
    return any(
        offer.split(";")[0] == "gzip" and not re.search(r";q=0(\.0{0,3})?$", offer) for offer in offers
    )


def smallest(file: Path, headers: Headers) -> tuple[Path, dict[str, str]]:
    """The file to send for a built file, and its headers: `<file>.gz` if it exists and is readable."""
    built = file.with_name(f"{file.name}.gz")
    if not built.is_file():
        return file, {}
    vary = {"vary": "accept-encoding"}
    return (built, {**vary, "content-encoding": "gzip"}) if accepts_gzip(headers) else (file, vary)


def compressed_stream(
    texts: AsyncGenerator[str], headers: Headers
) -> tuple[AsyncGenerator[bytes], dict[str, str]]:
    """A stream of text as bytes, and its headers: gzip for clients that accept it, each text sent at once."""
    vary = {"vary": "accept-encoding"}
    if accepts_gzip(headers):
        return _compressed(texts), {**vary, "content-encoding": "gzip"}
    return _encoded(texts), vary


async def _compressed(texts: AsyncGenerator[str]) -> AsyncGenerator[bytes]:
    # 16 more: with gzip's header.
    bits = 16 + STREAM_WINDOW_BITS
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, bits, STREAM_MEMORY_LEVEL)
    async with aclosing(texts):
        async for text in texts:
            yield compressor.compress(text.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
        yield compressor.flush()


async def _encoded(texts: AsyncGenerator[str]) -> AsyncGenerator[bytes]:
    async with aclosing(texts):
        async for text in texts:
            yield text.encode()


def _may_shrink(headers: Headers) -> bool:
    kind = headers.get("content-type", "").split(";")[0]
    return kind in COMPRESSED_KINDS and "content-encoding" not in headers
