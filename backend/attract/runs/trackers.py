"""Copies of the metrics for other tools: TensorBoard event files under SB3's names."""

import contextlib
import errno
import os
import secrets
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from types import ModuleType

FILE_VERSION = "brain.Event:2"
STAGE_BYTES = 4 << 20
"""At each such size of the file, half as many rows are written from then on: a million updates of 1.2 KiB
make 33 MiB. What is left out stands in the metrics store; TensorBoard itself draws 1,000 points."""
START = 1
"""`SessionLog.START`: TensorBoard then drops what it has read of this step and later ones."""
LENGTH, CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")


class Tracker(Protocol):
    """Takes each committed update's metrics; owned by the run service, called from one thread."""

    def write(self, agent_steps: int, values: dict[str, float], *, always: bool = False) -> None:
        """Take one row; x-axis `agent_steps`. Rows of a long run may be left out, unless `always`.

        Raises: OSError: when the disk refuses; the row is lost, later ones are not.
        """
        ...

    def restart(self, newest: Mapping[str, tuple[int, float]]) -> None:
        """What was written after these no longer counts: it is done anew.

        Args:
            newest: the agent steps and the value of the last row that counts, for each name.

        Raises: OSError: when the disk refuses.
        """
        ...

    def close(self) -> None:
        """Write out what is buffered."""
        ...


class TensorBoardTracker:
    """Writes `events.out.tfevents.*` into the run directory; `tensorboard --logdir runs` shows it.

    A row is one record (https://www.tensorflow.org/tutorials/load_data/tfrecord) and one write.
    tensorboardX's own writer hands each value to a thread, which a full disk ends, and then waits for ever.
    """

    def __init__(self, run_dir: Path) -> None:
        """Name the file; it is made with the first row."""
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{secrets.token_hex(4)}"
        self._path = run_dir / name
        self._event, self._checksum = _tensorboard()
        self._file: int | None = None
        self._rows = 0

    def write(self, agent_steps: int, values: dict[str, float], *, always: bool = False) -> None:
        """One scalar per name, at x = `agent_steps`; of a long session every second row, fourth, eighth, ...

        Raises: OSError: when the disk refuses; nothing of the row is left in the file.
        """
        file, size = self._opened()
        self._rows += 1
        if self._rows % (1 << size // STAGE_BYTES) and not always:
            return
        scalars = [{"tag": name, "simple_value": value} for name, value in values.items()]
        self._append(file, step=agent_steps, summary={"value": scalars})

    def restart(self, newest: Mapping[str, tuple[int, float]]) -> None:
        """Have TensorBoard forget what was written after `newest`, in this file or in an earlier session's.

        So a resumed run is one curve, although each session has its file. One of TensorBoard's two readers
        heeds the mark of a start; the other, its usual one, forgets what is not before a value that it reads.

        Raises: OSError: when the disk refuses.
        """
        if not newest:
            return
        file, _ = self._opened()
        self._append(file, step=max(steps for steps, _ in newest.values()), session_log={"status": START})
        for name, (steps, value) in newest.items():
            self._append(file, step=steps, summary={"value": [{"tag": name, "simple_value": value}]})

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> tuple[int, int]:
        """The file with its header, and its size before that."""
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._file).st_size
        if size == 0:
            self._append(self._file, file_version=FILE_VERSION)
        return self._file, size

    def _append(self, file: int, **fields: Any) -> None:
        data: bytes = self._event(wall_time=time.time(), **fields).SerializeToString()
        length = LENGTH.pack(len(data))
        record = b"".join(
            (length, CHECKSUM.pack(self._checksum(length)), data, CHECKSUM.pack(self._checksum(data)))
        )
        before = os.fstat(file).st_size
        try:
            if os.write(file, record) != len(record):
                # Only the rest's own write would say why, and it has no room either.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # A reader stops at a record that is cut short.
            with contextlib.suppress(OSError):
                os.ftruncate(file, before)
            raise


def _tensorboard() -> tuple[Callable[..., Any], Callable[[bytes], int]]:
    """The event message and the checksum, without torch, which tensorboardX imports where it finds it."""
    is_loaded = "torch" in sys.modules
    if not is_loaded:
        # An entry of None makes the import fail, which tensorboardX takes for "not installed".
        sys.modules["torch"] = cast("ModuleType", None)
    try:
        from tensorboardX.proto import event_pb2
        from tensorboardX.record_writer import masked_crc32c
    finally:
        if not is_loaded:
            del sys.modules["torch"]
    return cast("Any", event_pb2).Event, masked_crc32c
