"""Where the files of a page come from that somebody else wrote: a folder, or a server on this machine."""

import http.client
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

ADDRESS: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:/\S*)?")
"""A page that a server on this machine gives, such as that of a bundler."""
MOST_FOLDERS: Final = 20
PACKAGES: Final = "node_modules"
FETCH_SECONDS: Final = 30.0
"""A development server may have to build what it is asked for."""
MAX_FETCHED_BYTES: Final = 256 * 2**20


@dataclass(frozen=True)
class FetchedFile:
    """What a server gave; `location` where it says that the file is elsewhere."""

    body: bytes
    media_type: str
    location: str | None = None


class PageFiles(Protocol):
    """Files of one page and of what it loads, by their paths on an origin of its own."""

    def find(self, path: str) -> Path | FetchedFile | None:
        """The file at `path`, which begins with a slash and may end with a query; None: there is none."""
        ...


class PageFolder:
    """The files below a folder, as at the root of a server of its own."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        """`hidden`: a folder that is not served, wherever it lies."""
        self._folder = folder
        self._hidden = hidden.resolve()
        self._page_folders: dict[str, None] = {}

    def find(self, path: str) -> Path | None:
        """See `PageFiles`: nothing hidden, of the runs', or by a link to elsewhere.

        What a page names from the root is looked for beside the page too, with and without the first folder
        of its path: bundlers name a build's files as they are found where it is published.
        """
        path = path.partition("?")[0].lstrip("/")
        file = self._below(path)
        if file is None:
            _, _, shorter = path.partition("/")
            beside = [f"{folder}/{name}" for folder in self._page_folders for name in (path, shorter) if name]
            file = next((path for path in map(self._below, beside) if path is not None), None)
        elif file.suffix.lower() in (".html", ".htm") and len(self._page_folders) < MOST_FOLDERS:
            self._page_folders[file.parent.relative_to(self._folder).as_posix()] = None
        return file

    def _below(self, path: str) -> Path | None:
        if any(part.startswith(".") and part != "." for part in path.split("/")) or "\\" in path:
            return None
        try:
            file = self._folder / path
            if file.is_dir():
                file = file / "index.html"
            file = file.resolve()
            is_shown = is_shown_file(file, self._folder) and not file.is_relative_to(self._hidden)
            return file if is_shown and file.is_file() else None
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
