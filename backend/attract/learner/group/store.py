"""The key-value store through which learners find each other: a TCPStore whose answers have a time limit."""

import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Self, TypeVar

from torch.distributed import Store, TCPStore  # pyright: ignore[reportPrivateImportUsage]

CHUNK_BYTES: Final = 1 << 20
"""Largest value of one request: a TCPStore takes at most 8 MiB, and other clients wait meanwhile."""
CONNECT_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 0.25
T = TypeVar("T")


class StoreLostError(Exception):
    """The process that serves the store, or the network to it, is lost; with the reason."""


class KeyValueStore:
    """One connection to the store; thread-safe, one request at a time.

    A TCPStore waits forever for an answer if the network is down. Each request therefore runs on its own
    thread, which is abandoned when the time limit expires.

    Every method raises StoreLostError.
    """

    def __init__(self, store: Store, limit_seconds: float) -> None:
        self._store = store
        self._limit_seconds = limit_seconds

    @classmethod
    def open(
        cls, host: str, port: int, limit_seconds: float, *, serves: bool, patience_seconds: float = 0.0
    ) -> Self:
        """Serve the store from this process while the object lives, or connect to the process that does.

        The store accepts every client of the port. If it fails, it is tried again for `patience_seconds`.
        """
        deadline = time.monotonic() + patience_seconds
        limit = timedelta(seconds=limit_seconds)
        while True:
            try:
                if not serves:
                    # A TCPStore tries again until its limit, and writes a page about each time.
                    socket.create_connection((host, port), min(limit_seconds, CONNECT_SECONDS)).close()
                store = _within(
                    limit_seconds,
                    lambda: TCPStore(
                        host, port, None, is_master=serves, wait_for_workers=False, timeout=limit
                    ),
                )
                return cls(store, limit_seconds)
            except (OSError, StoreLostError) as error:
                if time.monotonic() >= deadline:
                    raise StoreLostError(getattr(error, "strerror", None) or str(error)) from error
                time.sleep(RETRY_SECONDS)

    def read(self, keys: Sequence[str]) -> list[str]:
        """The values of these keys; waits for those that do not exist."""
        texts = self._ask(lambda: self._store.multi_get(list(keys)))
        return [bytes(text).decode() for text in texts]

    def has(self, key: str) -> bool:
        """Whether `key` exists."""
        return self._ask(lambda: self._store.check([key]))

    def write(self, key: str, text: str) -> None:
        """Set `key` to `text`."""
        self._ask(lambda: self._store.set(key, text))

    def set_default(self, key: str, text: str) -> str:
        """Set `key` to `text` if it does not exist; returns its value."""
        return self.compare_and_set(key, "", text)

    def compare_and_set(self, key: str, old: str, new: str) -> str:
        """Set `key` to `new` if its value is `old`; returns its value after that."""
        return bytes(self._ask(lambda: self._store.compare_set(key, old, new))).decode()

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to a counter; returns the sum."""
        return self._ask(lambda: self._store.add(key, amount))

    def put(self, name: str, data: bytes) -> str:
        """Store bytes in chunks under a new name that begins with `name`; returns the name."""
        starts = range(0, max(1, len(data)), CHUNK_BYTES)
        full_name = f"{name}/{secrets.token_hex(8)}/{len(starts)}"
        for key, start in zip(_chunks(full_name), starts, strict=True):
            chunk = data[start : start + CHUNK_BYTES]
            self._ask(lambda k=key, c=chunk: self._store.set(k, c))  # type: ignore[misc]
        return full_name

    def get(self, name: str) -> bytes | None:
        """The bytes stored by `put`; None if they were deleted since."""
        keys = _chunks(name)
        if not self._ask(lambda: self._store.check(keys)):
            return None
        return b"".join(bytes(self._ask(lambda k=key: self._store.get(k))) for key in keys)

    def delete(self, name: str) -> None:
        """Delete what `put` stored."""
        for key in _chunks(name):
            self._ask(lambda k=key: self._store.delete_key(k))  # type: ignore[misc]

    def _ask(self, call: Callable[[], T]) -> T:
        return _within(self._limit_seconds, call)


def _chunks(name: str) -> list[str]:
    return [f"{name}/{number}" for number in range(int(name.rsplit("/", 1)[1]))]


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
