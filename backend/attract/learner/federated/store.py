"""The store on which averaging trainers leave what they bring: torch's TCPStore, with time limits."""

import queue
import socket
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Self, TypeVar

from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

CHUNK_BYTES: Final = 1 << 20
"""What is put there at once: a TCPStore takes no value above 8 MiB, and others wait meanwhile."""
T = TypeVar("T")


class StoreLostError(Exception):
    """The process that keeps the store, or the network to it, is gone; says why."""


class KeyValueStore:
    """One connection to the store; any thread may use it, one call at a time is served.

    Calls of a TCPStore wait for ever for an answer from a network that is down. So each is made on a thread
    of its own, which is left behind when the limit is over.

    Every method raises StoreLostError.
    """

    def __init__(self, store: TCPStore, limit_seconds: float) -> None:
        self._store = store
        self._limit_seconds = limit_seconds

    @classmethod
    def keep(cls, host: str, port: int, limit_seconds: float) -> Self:
        """Keep the store in this process, as long as the object lives; whoever reaches the port is let in."""
        return cls._open(host, port, limit_seconds, is_master=True)

    @classmethod
    def reach(cls, host: str, port: int, limit_seconds: float) -> Self:
        """Connect to the store that another process keeps."""
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
        """What stands under these keys, all of which exist."""
        texts = _within(self._limit_seconds, lambda: self._store.multi_get(list(keys)))
        return [bytes(text).decode() for text in texts]

    def has(self, key: str) -> bool:
        """Whether something stands under `key`."""
        return _within(self._limit_seconds, lambda: self._store.check([key]))

    def write(self, key: str, text: str) -> None:
        """Put `text` under `key`, in place of what stood there."""
        _within(self._limit_seconds, lambda: self._store.set(key, text))

    def set_default(self, key: str, text: str) -> str:
        """Put `text` under `key` unless something stands there; what stands there then."""
        return self.compare_and_set(key, "", text)

    def compare_and_set(self, key: str, old: str, new: str) -> str:
        """Put `new` in the place of `old`, if that stands there; what stands there then."""
        return bytes(_within(self._limit_seconds, lambda: self._store.compare_set(key, old, new))).decode()

    def add(self, key: str, amount: int) -> int:
        """Add to a number; what it is then."""
        return _within(self._limit_seconds, lambda: self._store.add(key, amount))

    def put(self, name: str, data: bytes) -> int:
        """Put many bytes under a name that nobody else has; in how many chunks they are."""
        starts = range(0, max(1, len(data)), CHUNK_BYTES)
        for number, start in enumerate(starts):
            chunk = data[start : start + CHUNK_BYTES]
            _within(self._limit_seconds, lambda k=f"{name}/{number}", c=chunk: self._store.set(k, c))  # type: ignore[misc]
        return len(starts)

    def get(self, name: str, chunks: int) -> bytes | None:
        """What was posted; None when it was erased since."""
        keys = [f"{name}/{number}" for number in range(chunks)]
        if not _within(self._limit_seconds, lambda: self._store.check(keys)):
            return None
        return b"".join(bytes(_within(self._limit_seconds, lambda k=key: self._store.get(k))) for key in keys)

    def delete(self, name: str, chunks: int) -> None:
        """Take away what was posted."""
        for number in range(chunks):
            _within(self._limit_seconds, lambda k=f"{name}/{number}": self._store.delete_key(k))


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What `call` gives, on a thread of its own, in time. Raises: StoreLostError."""
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
    """What torch says, without where in its source it says so and without its advice."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text.split("] ", 1)[-1].split(". ", 1)[0][:200]
