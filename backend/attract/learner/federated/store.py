"""The key-value store through which averaging trainers exchange shares: a TCPStore with time limits."""

import queue
import socket
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Self, TypeVar

from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

CHUNK_BYTES: Final = 1 << 20
"""Largest value of one request: a TCPStore takes at most 8 MiB, and other clients wait meanwhile."""
T = TypeVar("T")


class StoreLostError(Exception):
    """The process that serves the store, or the network to it, is lost; with the reason."""


class KeyValueStore:
    """One connection to the store; thread-safe, one request at a time.

    A TCPStore waits forever for an answer if the network is down. Each request therefore runs on its own
    thread, which is abandoned when the time limit expires.

    Every method raises StoreLostError.
    """

    def __init__(self, store: TCPStore, limit_seconds: float) -> None:
        self._store = store
        self._limit_seconds = limit_seconds

    @classmethod
    def keep(cls, host: str, port: int, limit_seconds: float) -> Self:
        """Serve the store from this process while the object lives; accepts every client of the port."""
        return cls._open(host, port, limit_seconds, is_master=True)

    @classmethod
    def reach(cls, host: str, port: int, limit_seconds: float) -> Self:
        """Connect to the store that another process serves."""
        try:
            # A TCPStore tries again until its limit, and writes a page about each time.
            socket.create_connection((host, port), timeout=limit_seconds).close()
        except OSError as error:
            raise StoreLostError(error.strerror or str(error)) from error
        return cls._open(host, port, limit_seconds, is_master=False)

    @classmethod
    def _open(cls, host: str, port: int, limit_seconds: float, *, is_master: bool) -> Self:
        limit = timedelta(seconds=limit_seconds)
        store = _within(
            limit_seconds,
            lambda: TCPStore(host, port, None, is_master=is_master, wait_for_workers=False, timeout=limit),
        )
        return cls(store, limit_seconds)

    def read(self, keys: Sequence[str]) -> list[str]:
        """The values of these keys; all must exist."""
        texts = _within(self._limit_seconds, lambda: self._store.multi_get(list(keys)))
        return [bytes(text).decode() for text in texts]

    def has(self, key: str) -> bool:
        """Whether `key` exists."""
        return _within(self._limit_seconds, lambda: self._store.check([key]))

    def write(self, key: str, text: str) -> None:
        """Set `key` to `text`."""
        _within(self._limit_seconds, lambda: self._store.set(key, text))

    def set_default(self, key: str, text: str) -> str:
        """Set `key` to `text` if it does not exist; returns its value."""
        return self.compare_and_set(key, "", text)

    def compare_and_set(self, key: str, old: str, new: str) -> str:
        """Set `key` to `new` if its value is `old`; returns its value after that."""
        return bytes(_within(self._limit_seconds, lambda: self._store.compare_set(key, old, new))).decode()

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to a counter; returns the sum."""
        return _within(self._limit_seconds, lambda: self._store.add(key, amount))

    def put(self, name: str, data: bytes) -> int:
        """Store bytes under a unique name; returns the number of chunks."""
        starts = range(0, max(1, len(data)), CHUNK_BYTES)
        for number, start in enumerate(starts):
            chunk = data[start : start + CHUNK_BYTES]
            _within(self._limit_seconds, lambda k=f"{name}/{number}", c=chunk: self._store.set(k, c))  # type: ignore[misc]
        return len(starts)

    def get(self, name: str, chunks: int) -> bytes | None:
        """The bytes stored by `put`; None if they were deleted since."""
        keys = [f"{name}/{number}" for number in range(chunks)]
        if not _within(self._limit_seconds, lambda: self._store.check(keys)):
            return None
        return b"".join(bytes(_within(self._limit_seconds, lambda k=key: self._store.get(k))) for key in keys)

    def delete(self, name: str, chunks: int) -> None:
        """Delete what `put` stored."""
        for number in range(chunks):
            _within(self._limit_seconds, lambda k=f"{name}/{number}": self._store.delete_key(k))


def _within(seconds: float, call: Callable[[], T]) -> T:
    """The result of `call`, run on its own thread with a time limit. Raises: StoreLostError."""
    answers: queue.SimpleQueue[tuple[T] | RuntimeError] = queue.SimpleQueue()

    def make() -> None:
        try:
            answers.put((call(),))
        except RuntimeError as error:
            answers.put(error)

    threading.Thread(target=make, name="store", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise StoreLostError(f"no answer for {seconds:g} s") from None
    if isinstance(answer, RuntimeError):
        raise StoreLostError(_short(answer)) from answer
    return answer[0]


def _short(error: Exception) -> str:
    """The message of torch, without its source location and its advice."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text.split("] ", 1)[-1].split(". ", 1)[0][:200]
