"""Frames between two processes in shared memory: one writes, the other reads in the same order."""

import contextlib
import fcntl
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from attract.errors import StoreError
from attract.experience.store import NAME_PREFIX, SHARED_MEMORY, remove_stale

POSITION: Final = struct.Struct("<Q")
DATA_START: Final = 64
"""The first cache line holds how far the reader has come."""


@dataclass(frozen=True)
class RingPlace:
    """Position of a frame; positions only rise, and are taken modulo the ring's size."""

    start: int
    length: int


class FrameRing:
    """A mapped file of fixed size. The messages that name places travel by other means, in order.

    The writer calls `put` alone, the reader `take` alone. A frame for which there is no room now is the
    writer's to send otherwise: nothing waits here.
    """

    def __init__(self, path: Path, file: int, size: int) -> None:
        """Use `create` or `open`."""
        self.path = path
        self.size = size
        self._file = file
        self._map = mmap.mmap(file, DATA_START + size)
        self._written = 0

    @classmethod
    def create(cls, path: Path, size: int) -> Self:
        """A new ring whose space is reserved. Raises: StoreError: it exists, or there is no room."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(path, f"cannot be created: {error.strerror}") from error
        try:
            # Held for life, so that `remove_stale` can tell an abandoned file from one in use.
            fcntl.flock(file, fcntl.LOCK_SH)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, DATA_START + size)
            else:
                os.pwrite(file, bytes(DATA_START + size), 0)
            return cls(path, file, size)
        except OSError as error:
            os.close(file)
            path.unlink(missing_ok=True)
            raise StoreError(path, f"no room for {size} bytes: {error.strerror}") from error

    @classmethod
    def open(cls, path: Path) -> Self:
        """The ring that another process created. Raises: StoreError: when it is not there."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(path, f"cannot be opened: {error.strerror}") from error
        fcntl.flock(file, fcntl.LOCK_SH)
        return cls(path, file, os.fstat(file).st_size - DATA_START)

    def put(self, frame: bytes) -> RingPlace | None:
        """Copy a frame in; None when there is no room for it now."""
        length = len(frame)
        start = self._written
        if start % self.size + length > self.size:
            # In one piece: what is left before the end stays empty.
            start += self.size - start % self.size
        (released,) = POSITION.unpack_from(self._map, 0)
        if start + length > released + self.size:
            return None
        at = DATA_START + start % self.size
        self._map[at : at + length] = frame
        self._written = start + length
        return RingPlace(start, length)

    def take(self, place: RingPlace) -> bytes:
        """The frame at that position; it and all before it are free again.

        Raises: ValueError: there is no such place.
        """
        at = place.start % self.size
        if place.length < 0 or at + place.length > self.size:
            raise ValueError(f"expected a place within {self.size} bytes, got {place}")
        frame = self._map[DATA_START + at : DATA_START + at + place.length]
        POSITION.pack_into(self._map, 0, place.start + place.length)
        return frame

    def close(self, *, unlink: bool = False) -> None:
        """Unmap; with `unlink` (the creator's part) the file goes too. May be called again."""
        if self._file >= 0:
            with contextlib.suppress(BufferError):
                self._map.close()
            os.close(self._file)
            self._file = -1
        if unlink:
            self.path.unlink(missing_ok=True)


def ring_path(run_dir: Path, run_id: str, name: str, size: int) -> Path:
    """Folder of a run's ring: shared memory if there is room, else the run's own folder."""
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK):
        remove_stale(SHARED_MEMORY)
        space = os.statvfs(SHARED_MEMORY)
        if size <= space.f_bavail * space.f_frsize * 3 // 4:
            return SHARED_MEMORY / f"{NAME_PREFIX}{run_id}-{os.getpid()}-{name}.bin"
    return run_dir / f"{NAME_PREFIX}{name}.bin"
