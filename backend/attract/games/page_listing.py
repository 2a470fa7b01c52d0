"""The files of a page with their hashes: which build of a game that lives in a page was played."""

import hashlib
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.errors import FileError
from attract.files import open_file
from attract.games.page_files import NOT_SHIPPED, is_shown_file
from attract.schema.base import Count, WireModel
from attract.schema.recorded_episode import Sha256

MAX_FILES: Final = 5_000
MAX_BYTES: Final = 256 << 20
PIECE_BYTES: Final = 1 << 20


class ListedFile(WireModel):
    """One file."""

    sha256: Sha256
    num_bytes: Count


class PageListing(WireModel):
    """The files of a page's folder that a site would have."""

    format: Literal["attract-page-files"] = "attract-page-files"
    version: Literal[1] = 1
    sha256: Sha256
    """Hash over the lines `NAME SHA256`, sorted by name, each with a newline."""
    page: str
    """The page, as a path below its adapter's folder."""
    files: Annotated[dict[str, ListedFile], Field(max_length=MAX_FILES)]
    """By their paths from the page's folder."""


def list_page(page: Path, folder: Path) -> PageListing | None:
    """The files beside and below a page; None: it is not there, or is too large to be listed.

    Args:
        page: the page itself.
        folder: the adapter's, which the files must lie in after their links are followed.
    """
    folder = folder.resolve()
    files: dict[str, ListedFile] = {}
    num_bytes = 0
    for number, path in enumerate(_files(page.parent)):
        if number == MAX_FILES:
            return None
        if not is_shown_file(path.resolve(), folder):
            continue
        digest, size = hashlib.sha256(), 0
        try:
            with open_file(path, folder) as file:
                while piece := file.read(PIECE_BYTES):
                    digest.update(piece)
                    size += len(piece)
                    if num_bytes + size > MAX_BYTES:
                        return None
        except FileError:
            # A pipe, or gone meanwhile: no page is given it.
            continue
        num_bytes += size
        name = path.relative_to(page.parent).as_posix()
        files[name] = ListedFile(sha256=digest.hexdigest(), num_bytes=size)
    if page.name not in files:
        return None
    lines = "".join(f"{name} {files[name].sha256}\n" for name in sorted(files))
    place = page.relative_to(folder).as_posix() if page.is_relative_to(folder) else page.name
    return PageListing(
        sha256=hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest(), page=place, files=files
    )


def _files(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_shipped(name))
        yield from (Path(top) / name for name in sorted(names) if _is_shipped(name))


def _is_shipped(name: str) -> bool:
    return not any(fnmatch(name, pattern) for pattern in NOT_SHIPPED)
