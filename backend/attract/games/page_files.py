"""Where the files of a third-party page come from: a folder, or a server on this machine."""

import http.client
import os
import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, unquote, urlsplit

from attract.errors import ConfigurationError
from attract.games.project import find_project_dir, shared_folder

HEAD: Final = re.compile(rb"<head(?:\s[^>]*)?>", re.IGNORECASE)
DOCTYPE: Final = re.compile(rb"^\s*<!doctype[^>]*>", re.IGNORECASE)


def with_first_script(page: bytes, tag: bytes) -> bytes:
    """The page with `tag` before its own first script: in its head, or else after its doctype."""
    for place in (HEAD, DOCTYPE):
        match = place.search(page)
        if match is not None:
            return page[: match.end()] + tag + page[match.end() :]
    return tag + page


ADDRESS: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:/\S*)?")
"""A page that a server on this machine gives, such as that of a bundler."""
PACKAGES: Final = "node_modules"
PAGE_SUFFIXES: Final = (".html", ".htm")
NOT_SHIPPED: Final = (
    ".*",
    PACKAGES,
    "runs",
    "__pycache__",
    "venv",
    "coverage",
    "*.map",
    "*.page.ts",
    "*.page.js",
    "*.train.yaml",
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "tsconfig*.json",
    "vite.config.*",
)
"""Files beside a page without a build step that the page does not load."""
MAX_FOLDERS: Final = 20
MAX_REFUSED: Final = 20
FETCH_SECONDS: Final = 30.0
"""A development server may have to build what it is asked for."""
MAX_FETCHED_BYTES: Final = 256 * 2**20


@dataclass(frozen=True)
class FetchedFile:
    """A server's response; `location` if it is a redirect."""

    body: bytes
    media_type: str
    location: str | None = None


class PageFiles(Protocol):
    """Files of one page and of what it loads, by their paths on an origin of its own."""

    def find(self, path: str) -> Path | FetchedFile | None:
        """The file at `path`, which begins with a slash and may end with a query; None: there is none."""
        ...


class PageFolder:
    """Gives a folder's files at the root of the address, and of what lies above it what a list names."""

    def __init__(self, folder: Path, hidden: Path, include: Sequence[str] = ()) -> None:
        """`hidden`: a folder that is never served. `include`: see `ServerSettings.include`."""
        self._folder = folder
        self._hidden = hidden.resolve()
        tops = {path: shared_folder(folder, path) for path in (Path(name).resolve() for name in include)}
        self._include = [path for path, top in tops.items() if top is not None]
        self._page_folders: dict[str, None] = {}
        self.root = min(filter(None, tops.values()), key=lambda top: len(top.parts), default=folder)
        """The nearest folder that holds the page's folder and what the list names."""
        self._above = [above for above in folder.parents if above.is_relative_to(self.root)]
        self._refused: dict[Path, None] = {}

    def listed(self, file: Path) -> Path | None:
        """The entry of the list that names this file or a folder of it; the page's folder for its own."""
        return next((place for place in (self._folder, *self._include) if file.is_relative_to(place)), None)

    def find(self, path: str) -> Path | FetchedFile | None:
        """See `PageFiles`: nothing hidden, of the runs', or by a link to elsewhere.

        What a page names from the root is looked for beside the page too, with and without the first folder
        of its path: bundlers name a build's files as they are found where it is published. What is not there
        is looked for in each folder above, where only what the list names is found. With a list, a page is
        given at its place below `root`, so that what it names by `../` means what it says.
        """
        path, _, query = path.partition("?")
        path = path.lstrip("/")
        is_placed = self.root != self._folder and path.startswith(
            f"{self._folder.relative_to(self.root).as_posix()}/"
        )
        file = None if is_placed else self._below(self._folder, path)
        if file is not None and file.suffix.lower() in PAGE_SUFFIXES:
            if len(self._page_folders) < MAX_FOLDERS:
                self._page_folders[file.parent.relative_to(self._folder).as_posix()] = None
            if self.root != self._folder:
                place = posixpath.relpath(
                    file.relative_to(self.root).as_posix(), posixpath.dirname(path) or "."
                )
                return FetchedFile(b"", "text/html", quote(place) + (f"?{query}" if query else ""))
        elif self.root != self._folder:
            file = self._below(self.root, path) or file or self._below(self._folder, path)
        if file is not None:
            return file
        _, _, shorter = path.partition("/")
        beside = [f"{folder}/{name}" for folder in self._page_folders for name in (path, shorter) if name]
        places = [*((self._folder, name) for name in beside), *((above, path) for above in self._above)]
        found = next((file for file in (self._below(*place) for place in places) if file is not None), None)
        if found is None and len(self._refused) < MAX_REFUSED:
            above = file_above(self._folder, path)
            self._refused |= {} if above is None or above.is_relative_to(self._hidden) else {above: None}
        return found

    def check_whole(self) -> None:
        """Whoever has given a list has decided.

        Raises: ConfigurationError: the page has asked for files of its project that lie above its folder.
        """
        files = list(self._refused)
        if not files or self._include:
            return
        # A folder that holds the page's is named by no list: that would be all of the project.
        holders = (file if self._folder.is_relative_to(file.parent) else file.parent for file in files)
        names = [os.path.relpath(holder) for holder in dict.fromkeys(holders)]
        first = os.path.relpath(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        raise ConfigurationError(
            f"the page asks for files above its folder, which it is not given: {first}",
            setting="include",
            fix=f"add --include {shlex.quote(','.join(names))} if the page may have them",
        )

    def _below(self, folder: Path, path: str) -> Path | None:
        if any(part.startswith(".") and part != "." for part in path.split("/")) or "\\" in path:
            return None
        try:
            file = folder / path
            if file.is_dir():
                file = file / "index.html"
            file = file.resolve()
            is_shown = is_shown_file(file, folder) and not file.is_relative_to(self._hidden)
            return file if is_shown and self.listed(file) is not None and file.is_file() else None
        except (OSError, ValueError):
            return None


def missing_text(folder: Path, path: str) -> str:
    """Why a page in `folder` does not get what it asks for at `path`, and the flag by which it would."""
    file = file_above(folder, path)
    if file is None:
        return "does not exist"
    return f"is above the page's folder: add --include {os.path.relpath(file)} if the page may have it"


def file_above(folder: Path, path: str) -> Path | None:
    """The file of the project that a page in `folder` names by `path`, where it lies above that folder."""
    top, name = find_project_dir(folder / "page"), unquote(path).lstrip("/")
    places = (above / name for above in folder.parents if above.is_relative_to(top))
    try:
        return next((place for place in places if place.is_file() and is_shown_file(place, top)), None)
    except (OSError, ValueError):
        return None


def is_shown_file(file: Path, folder: Path) -> bool:
    """Whether a page in `folder` may have this file: it lies below, and in nothing hidden.

    Args:
        file: where its links lead, resolved.
        folder: resolved.
    """
    if not file.is_relative_to(folder):
        return False
    parts = file.relative_to(folder).parts
    # Package managers keep packages in hidden folders of their own, which links lead into.
    end = parts.index(PACKAGES) if PACKAGES in parts else len(parts)
    return not any(part.startswith(".") for part in parts[:end])


class PageAddress:
    """The files that a server on this machine gives."""

    def __init__(self, address: str) -> None:
        """`address`: see `ADDRESS`; of it the origin is used."""
        self.address = address
        parts = urlsplit(address)
        self._host = parts.hostname or "localhost"
        self._port = parts.port
        self._connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection

    def find(self, path: str) -> FetchedFile | None:
        """See `PageFiles`; None also where the server does not answer."""
        connection = self._connect(self._host, self._port, timeout=FETCH_SECONDS)
        try:
            # Browsers ask bundlers for modules with any type; the answer is to be read as it is.
            connection.request("GET", path, headers={"accept": "*/*", "accept-encoding": "identity"})
            answer = connection.getresponse()
            location = answer.getheader("location")
            body = answer.read(MAX_FETCHED_BYTES + 1)
            kind = answer.getheader("content-type", "application/octet-stream")
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        if 300 <= answer.status < 400 and location is not None:
            target = urlsplit(location)
            return FetchedFile(b"", kind, target._replace(scheme="", netloc="").geturl())
        return FetchedFile(body, kind) if answer.status == 200 and len(body) <= MAX_FETCHED_BYTES else None
