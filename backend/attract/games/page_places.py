"""Resolves the name that a user gives to a page: its files, and the place of its adapter."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError
from attract.files import check_inside, read_start
from attract.games.page_files import ADDRESS, PAGE_SUFFIXES, PageAddress, PageFiles, PageFolder

ADAPTER: Final = "game.page.ts"
PAGE_MODULE: Final = "game.page.js"
"""The adapter of a bundled page game, built."""
PACKAGE_WEB_DIR: Final = Path(__file__).resolve().parent.parent / "web"
BUILDS: Final = frozenset({"dist", "build", "out", "public", "docs", "www", "site", "_site"})
"""Folders that are generated, or published: what is written by hand lies beside them."""
MAX_ADAPTER_BYTES: Final = 1 << 20
PAGE_OPTION: Final = re.compile(r"""\bpage:\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class PagePlace:
    """A page that a game lives in."""

    page: str
    """The page as its adapter names it: a path below `folder`, or an address."""
    folder: Path
    """Folder for its adapter."""
    files: PageFiles

    def adapters(self) -> list[Path]:
        """The modules in `folder` that are adapters of this page, sorted."""
        found: list[Path] = []
        for path in sorted([*self.folder.glob("*.page.ts"), *self.folder.glob("*.page.js")]):
            text = read_start(path, MAX_ADAPTER_BYTES).decode(errors="replace")
            match = PAGE_OPTION.search(text)
            if match is not None and match[1].rstrip("/") == self.page.rstrip("/"):
                found.append(path)
        return found


def bundled_games(web_dir: Path | None) -> dict[str, Path]:
    """The module of each game that comes with the package, by name: its own, or the adapter of its page.

    Args:
        web_dir: None: the package's.
    """
    folder = web_dir or PACKAGE_WEB_DIR
    plain = {path.stem: path for path in (folder / "games").glob("*.js")}
    return plain | {path.parent.name: path for path in (folder / "page-games").glob(f"*/{PAGE_MODULE}")}


def names_page(given: str, web_dir: Path | None) -> bool:
    """Whether this is a page, or a folder: no module and no bundled game's name; see `bundled_games`."""
    if re.match(r"https?://", given):
        return True
    path = Path(given)
    if path.is_dir():
        # A folder may be called as a bundled game is: `./snake` means the folder.
        return given not in bundled_games(web_dir)
    return path.suffix.lower() in PAGE_SUFFIXES


def page_place(given: str, runs_dir: Path, include: Sequence[str] = ()) -> PagePlace:
    """The page that an address, a folder or a file means.

    Args:
        given: as on a command line.
        runs_dir: what is in it is shown to no page.
        include: see `ServerSettings.include`.

    Raises: ConfigurationError: there is no page, or it is a link that leads out of its folder.
    """
    if re.match(r"https?://", given):
        if ADDRESS.fullmatch(given) is None:
            raise ConfigurationError(
                f"{given} is not on this machine",
                setting="PAGE",
                fix="bring its files here and name their folder, or serve it on localhost",
            )
        address = given if given.count("/") > 2 else f"{given}/"
        return PagePlace(address, Path.cwd(), PageAddress(address))
    path = Path(given).resolve()
    if path.is_dir():
        pages = [path / "index.html", *(path / name / "index.html" for name in sorted(BUILDS))]
        page = next((place for place in pages if place.is_file()), None)
        if page is None:
            others = sorted(entry.name for entry in path.iterdir() if entry.suffix.lower() in PAGE_SUFFIXES)
            raise ConfigurationError(
                f"there is no index.html in {path}" + (f", but {', '.join(others)}" if others else ""),
                setting="PAGE",
                fix=f"name the page: {Path(given) / others[0]}"
                if others
                else "name the page: a path to its .html file",
            )
    elif path.is_file() and path.suffix.lower() in PAGE_SUFFIXES:
        page = path
    else:
        raise ConfigurationError(
            f"there is no page {path}",
            setting="PAGE",
            fix="name a folder with an index.html, or an .html file",
        )
    is_build = page.parent.name in BUILDS
    folder = page.parent.parent if is_build else page.parent
    if not is_build and path.is_dir() and path != page.parent:
        folder = path
    check_inside(page, folder)
    return PagePlace(page.relative_to(folder).as_posix(), folder, PageFolder(folder, runs_dir, include))
