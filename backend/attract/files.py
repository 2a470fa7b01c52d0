"""Reads regular files of untrusted folders, inside their folder and of bounded size; writes whole ones."""

import json
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from attract.errors import FileError

MAX_JSON_BYTES = 16 << 20
COPY_BYTES = 1 << 20
Model = TypeVar("Model", bound=BaseModel)


def check_inside(path: Path, root: Path) -> Path:
    """`path` itself, which need not exist, when no symbolic link on its way leads out of `root`.

    Hard links are allowed: package stores and backups use them.

    Raises: FileError: a link leads out, or the links form a loop.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:
        raise FileError(path, f"cannot be read: {error}") from None
    if not target.is_relative_to(root.resolve()):
        raise FileError(
            path,
            f"is a link that leads out of {root}",
            fix="put the file itself there: links out of the folder are not followed",
        )
    return path


def check_folder(folder: Path, is_written: Callable[[Path], bool]) -> None:
    """Nothing in `folder` is a link out of it, or other than files and folders.

    Args:
        folder: searched without following links.
        is_written: whether a file will be written in place; it must have no hard link, through which the
            write would change another file.

    Raises: FileError: naming the first that is.
    """
    for top, folders, names in os.walk(folder):
        for path in (Path(top) / name for name in (*folders, *names)):
            try:
                about = path.lstat()
            except FileNotFoundError:
                continue  # renamed or removed meanwhile: it leads nowhere
            if stat.S_ISLNK(about.st_mode):
                check_inside(path, folder)
            elif not stat.S_ISDIR(about.st_mode):
                _check_regular(path, about)
                if about.st_nlink > 1 and is_written(path):
                    raise FileError(
                        path,
                        "is a hard link: a file elsewhere would be written too",
                        fix="copy the folder with `cp -a`, which makes separate files",
                    )


@contextmanager
def open_file(path: Path, root: Path | None = None) -> Generator[BinaryIO]:
    """The regular file at `path`, opened for reading without waiting for a writer.

    Args:
        path: the file.
        root: the folder that it must lie in after its links are followed; None: wherever it leads.

    Raises: FileError: there is no such file, it is none (a FIFO, a device, a folder), or lies outside.
    """
    if root is not None:
        check_inside(path, root)
    try:
        # Checked before it is opened: opening a device can have side effects.
        _check_regular(path, path.stat())
        # A FIFO that replaced it meanwhile must not block the caller.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    with os.fdopen(descriptor, "rb") as file:
        _check_regular(path, os.fstat(descriptor))
        yield file


def read_file(path: Path, max_bytes: int, root: Path | None = None) -> bytes:
    """All bytes of a regular file.

    Raises: FileError: as `open_file`, or it has more than `max_bytes`.
    """
    with open_file(path, root) as file:
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            raise _unreadable(path, error) from None
    if len(data) > max_bytes:
        size = max(len(data), _size(path))
        raise FileError(path, f"has {size:,} bytes, at most {max_bytes:,} are read")
    return data


def read_optional_file(path: Path, max_bytes: int, root: Path | None = None) -> bytes | None:
    """As `read_file`; None if there is no such file.

    Raises: FileError: as `read_file`; a link without a target is there, and cannot be read.
    """
    return read_file(path, max_bytes, root) if os.path.lexists(path) else None


def read_start(path: Path, num_bytes: int) -> bytes:
    """The first bytes of a regular file, all of a shorter one. Raises: FileError: as `open_file`."""
    with open_file(path) as file:
        return file.read(num_bytes)


def read_tail(path: Path, num_bytes: int, root: Path | None = None) -> str | None:
    """The last bytes of a file as text, from a line's begin on; None: there is no such file.

    Raises: FileError: as `open_file`.
    """
    if not os.path.lexists(path):
        return None
    with open_file(path, root) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - num_bytes))
        text = file.read(num_bytes).decode(errors="replace")
    # The rest of a cut line may be part of a secret.
    return text.partition("\n")[2] if size > num_bytes else text


def parse_json(data: bytes | str, path: Path) -> Any:
    """The JSON value in `data`, which was read from `path`.

    Raises: FileError: naming `path`; it is not JSON, or nests too deep.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise FileError(path, "is nested too deep") from None
    except ValueError as error:
        raise FileError(path, f"is not valid JSON: {_first_line(error)}" if data else "is empty") from None


def parse_object(data: bytes | str, path: Path) -> dict[str, Any]:
    """As `parse_json`, for an object. Raises: FileError: as `parse_json`, or it is not an object."""
    found = parse_json(data, path)
    if not isinstance(found, dict):
        raise FileError(path, "must hold a JSON object")
    return found  # pyright: ignore[reportUnknownVariableType]


def parse_model(data: Any, model: type[Model], path: Path) -> Model:
    """`data`, a JSON value from `path`, as a `model`. Raises: FileError: naming its first problem."""
    try:
        return model.model_validate(data)
    except (ValidationError, RecursionError) as error:
        raise FileError(path, f"is not valid: {first_problem(error)}") from None


def first_problem(error: Exception) -> str:
    """The first problem of a validation with its place; of another error its first line."""
    if not isinstance(error, ValidationError):
        return _first_line(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part)[:80] for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def copy_file(source: Path, target: Path, root: Path | None = None) -> Path:
    """Copy the bytes of a regular file of any size; `target`, written as by `write_atomically`.

    Raises: FileError: as `open_file`. OSError: `target` cannot be written.
    """
    with open_file(source, root) as file, _replacing(target) as written:
        while piece := file.read(COPY_BYTES):
            written.write(piece)
    return target


def write_atomically(path: Path, data: bytes, *, is_synced: bool = True) -> None:
    """Replace `path` whole, also when it is a link: temporary file, fsync, rename, fsync of the folder.

    Without `is_synced` a power cut may undo it: the disk has less to do.

    Raises: OSError: it cannot be written.
    """
    with _replacing(path, is_synced=is_synced) as file:
        file.write(data)


@contextmanager
def _replacing(path: Path, *, is_synced: bool = True) -> Generator[BinaryIO]:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            yield file
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if is_synced:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def can_write(folder: Path) -> bool:
    """Whether this process may make files in `folder`."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _check_regular(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = "a folder" if stat.S_ISDIR(about.st_mode) else "a pipe, a socket or a device"
        raise FileError(path, f"is {kind}, not a file")


def _unreadable(path: Path, error: Exception) -> FileError:
    if isinstance(error, FileNotFoundError):
        return FileError(path, "there is no such file")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return FileError(path, f"cannot be read: {reason}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
