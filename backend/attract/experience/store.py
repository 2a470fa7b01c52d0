"""The segment store: one memory-mapped file that the gateway fills and the learner reads."""

import contextlib
import fcntl
import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from attract.errors import StoreError
from attract.experience.layout import Field, PolicyLayout, StoreLayout

MAGIC: Final = b"ATTRSEGS"
FORMAT_VERSION: Final = 2
HEADER: Final = struct.Struct("<8sIIQI")
"""Magic, format version, bytes of layout JSON, bytes of the whole file, CRC-32 of the JSON."""
SHARED_MEMORY: Final = Path("/dev/shm")
NAME_PREFIX: Final = "attract-store-"
MAX_LAYOUT_BYTES: Final = 1 << 20

BlockArrays = Mapping[str, Any]
"""Field name (as in the layout) to array: [horizon, k, ...] for step fields, [k, ...] for row fields.

Where steps were truncated also `final_step` and `final_column` [n] int32, `final_value` [n] float32 and
`final_obs.<key>` [n, ...]. A single number stands for the same number in all places."""


class SegmentStore:
    """Fixed number of rows, one segment each, in a file mapped by both processes.

    The gateway creates it and alone writes, only rows that are not part of a batch under training; the
    learner opens it and only reads. Who may touch which row is decided by the collection core, not here.
    """

    def __init__(self, path: Path, layout: StoreLayout, file: int, start: int, num_bytes: int) -> None:
        """Use `create` or `open`."""
        self.path = path
        self.layout = layout
        self._file = file
        self._map = mmap.mmap(file, num_bytes)
        offsets, _ = layout.offsets(start)
        self._arrays: dict[str, NDArray[Any]] = {
            field.name: np.ndarray(
                layout.array_shape(field), np.dtype(field.dtype), self._map, offsets[field.name]
            )
            for field in layout.fields
        }
        self._given = [
            field for field in layout.fields if field.kind != "final" and field.name != "final_count"
        ]
        """Fields that a block brings one of for each segment."""
        self._finals = [field.name for field in layout.fields if field.kind == "final"]

    @classmethod
    def create(cls, path: Path, layout: StoreLayout) -> Self:
        """A new store at `path`, its space reserved on disk so that no later write can run out of it.

        Raises: StoreError: when the file exists or there is no room; nothing is left behind.
        """
        text = json.dumps(layout.to_json(), separators=(",", ":")).encode()
        start = HEADER.size + len(text)
        num_bytes = layout.offsets(start)[1]
        try:
            file = _create_locked(path)
        except OSError as error:
            raise StoreError(path, f"cannot be created: {error.strerror}") from error
        try:
            _reserve(file, num_bytes)
            header = HEADER.pack(MAGIC, FORMAT_VERSION, len(text), num_bytes, zlib.crc32(text))
            os.pwrite(file, header + text, 0)
            store = cls(path, layout, file, start, num_bytes)
        except OSError as error:
            os.close(file)
            path.unlink(missing_ok=True)
            raise StoreError(
                path, f"no room for {num_bytes} bytes ({layout.capacity} segments): {error.strerror}"
            ) from error
        return store

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store that another process created at `path`.

        Raises: StoreError: when it is missing, foreign, of another version, damaged or cut short.
        """
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(path, f"cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_SH)
            layout, start, num_bytes = _read_header(path, file)
            return cls(path, layout, file, start, num_bytes)
        except BaseException:
            os.close(file)
            raise

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The whole array of a field, as a view; its shape is `layout.array_shape` of the field."""
        return self._arrays[name]

    def write_block(self, rows: NDArray[np.integer[Any]], arrays: BlockArrays) -> None:
        """Copy a block's k segments into `rows`, replacing whatever was there.

        Args:
            rows: [k] row numbers, all different.
            arrays: every step and row field of the layout, checked by `validate`; finals where there are any.

        Raises: KeyError: when a field is missing. ValueError: when a shape does not fit.
        """
        first, count = int(rows[0]), len(rows)
        # A slice copies whole runs; fancy indexing goes element by element.
        contiguous = np.count_nonzero(rows[1:] - rows[:-1] == 1) == count - 1
        index: Any = slice(first, first + count) if contiguous else rows
        for given in self._given:
            target = self._arrays[given.name]
            if given.kind == "step":
                target[:, index] = arrays[given.name]
            else:
                target[index] = arrays[given.name]
        counts: Any = 0
        if "final_step" in arrays and len(arrays["final_step"]):
            counts = self._write_finals(rows, arrays)
        self._arrays["final_count"][index] = counts

    def close(self, *, unlink: bool = False) -> None:
        """Unmap; with `unlink` (the creator's part) the file goes too. No array handed out is used after."""
        self._arrays.clear()
        with contextlib.suppress(BufferError):  # a caller still holds a view: the map goes when the view does
            self._map.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if unlink:
            self.path.unlink(missing_ok=True)

    def _write_finals(self, rows: NDArray[np.integer[Any]], arrays: BlockArrays) -> NDArray[np.intp]:
        """Write the final observations; how many each row has, [k]."""
        columns = arrays["final_column"]
        counts = np.bincount(columns, minlength=len(rows))
        if counts.max() <= 1:
            where = rows[columns]
            for name in self._finals:
                self._arrays[name][0][where] = arrays[name]
            return counts
        # The i-th final of a column goes to place i: its rank among equal columns after a stable sort.
        order = np.argsort(columns, kind="stable")
        ordered = columns[order]
        place = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        for name in self._finals:
            self._arrays[name][place, rows[ordered]] = arrays[name][order]
        return counts


def choose_path(run_dir: Path, run_id: str, layout: StoreLayout) -> Path:
    """Folder of a run's store: shared memory if there is room, else the run's own folder.

    Abandoned stores of earlier processes in shared memory are removed first.
    """
    name = f"{NAME_PREFIX}{run_id}-{os.getpid()}.bin"
    needed = layout.offsets(HEADER.size + MAX_LAYOUT_BYTES)[1]
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK):
        remove_stale(SHARED_MEMORY)
        space = os.statvfs(SHARED_MEMORY)
        if needed <= space.f_bavail * space.f_frsize * 3 // 4:
            return SHARED_MEMORY / name
    return run_dir / name


def remove_stale(directory: Path) -> list[Path]:
    """Remove this user's store files that no process has open; returns them."""
    removed: list[Path] = []
    for path in sorted(directory.glob(f"{NAME_PREFIX}*.bin")):
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                removed.append(path)
            finally:
                os.close(file)
    return removed


def _create_locked(path: Path) -> int:
    """A new file's descriptor; its lock is held for life, by which `remove_stale` knows that it is in use."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_SH)
        # Another process may have removed it before it had its lock.
        if os.fstat(file).st_nlink:
            return file
        os.close(file)


def _reserve(file: int, num_bytes: int) -> None:
    """Give the file its size and its blocks now. Raises: OSError: when there is no room."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, num_bytes)
        return
    # No such call on macOS: writing zeros fails as cleanly.
    chunk = bytes(1 << 20)
    for position in range(0, num_bytes, len(chunk)):
        os.pwrite(file, chunk[: min(len(chunk), num_bytes - position)], position)


def _read_header(path: Path, file: int) -> tuple[StoreLayout, int, int]:
    head = os.pread(file, HEADER.size, 0)
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise StoreError(path, "is not a segment store")
    _, version, text_bytes, num_bytes, checksum = HEADER.unpack(head)
    if version != FORMAT_VERSION:
        raise StoreError(path, f"has format {version}, this program reads {FORMAT_VERSION}")
    if text_bytes > MAX_LAYOUT_BYTES:
        raise StoreError(path, f"has a layout of {text_bytes} bytes, at most {MAX_LAYOUT_BYTES} are read")
    text = os.pread(file, text_bytes, HEADER.size)
    if zlib.crc32(text) != checksum:
        raise StoreError(path, "has a damaged header")
    size = os.fstat(file).st_size
    if size != num_bytes:
        raise StoreError(path, f"has {size} bytes, its header says {num_bytes}")
    try:
        layout = StoreLayout.from_json(json.loads(text))
        end = layout.offsets(HEADER.size + text_bytes)[1]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(path, f"has an unreadable layout: {error}") from error
    if end != num_bytes:
        raise StoreError(path, f"has {num_bytes} bytes, its layout needs {end}")
    return layout, HEADER.size + text_bytes, num_bytes


__all__ = [
    "BlockArrays",
    "Field",
    "PolicyLayout",
    "SegmentStore",
    "StoreError",
    "StoreLayout",
    "choose_path",
    "remove_stale",
]
