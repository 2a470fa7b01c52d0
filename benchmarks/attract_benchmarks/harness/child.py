"""A part of a benchmark in a process of its own, so that its work is counted apart.

It is asked, and answers, in lines of JSON.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

from pydantic import BaseModel

START_SECONDS = 60.0
MAX_LINE_BYTES = 1 << 26

Answer = TypeVar("Answer", bound=BaseModel)


class Child:
    """The parent's end; used on one event loop."""

    def __init__(self, process: asyncio.subprocess.Process, module: str) -> None:
        """Use `running`."""
        self._process = process
        self._module = module

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    async def ask(self, question: BaseModel, answer: type[Answer]) -> Answer:
        """Say something, and wait for what comes back.

        Raises: RuntimeError: when the process has ended; what it had to say is on stderr.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(question.model_dump_json().encode() + b"\n")
            await self._process.stdin.drain()
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"expected an answer of {self._module}, it has ended")
        return answer.model_validate_json(line)


@contextlib.asynccontextmanager
async def running(module: str) -> AsyncGenerator[Child]:
    """`python -m module` runs while the block does: it ends when there is nothing more to read."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
    )
    try:
        yield Child(process, module)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), START_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


# --- in the process ---


async def questions() -> AsyncIterator[bytes]:
    """The lines that the parent writes, until it writes no more."""
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line


def say(answer: BaseModel) -> None:
    """Answer the parent."""
    print(answer.model_dump_json(), flush=True)
