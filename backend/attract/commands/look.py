"""`attract look`: opens a page under the virtual clock, gives it some input, and says what is there."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Request, Response
from pydantic import ValidationError
from rich.console import Console

from attract.commands.destination import check_writable, shown_path, write_output
from attract.commands.json_output import json_text, print_answer
from attract.commands.look_answer import shortened, text_of
from attract.commands.look_inputs import GivenInput, frames_of
from attract.commands.output import CommandConsole
from attract.commands.probe import SIZE, on_screen, probe_tab, said_of
from attract.commands.train_display import printable
from attract.errors import ConfigurationError, GameError
from attract.games.library import GameLibrary
from attract.games.modules import SUFFIXES
from attract.games.page_files import FetchedFile, PageFiles, missing_text
from attract.games.page_places import names_page, page_place
from attract.processes.busy import LateError, within
from attract.processes.exit_codes import DONE
from attract.schema.look import MAX_LISTED, MAX_WORDS, LookMissing, LookReport, PageLook
from attract.settings.run import ServerSettings

BUDGET_MS: Final = 2_000
"""Then no further play is compared; it takes about as long to load the page and to play it twice."""
LOOK_SECONDS: Final = 40.0
"""A page that has not answered by then hangs."""
MAX_REPORT_BYTES: Final = 16 * 2**20
ADAPTER: Final = "/.attract/look-adapter.js"
NOT_ASKED: Final = "/favicon.ico"
"""The browser asks for it, not the page."""
MAX_SIDE: Final = 4_096
NAMED: Final = (
    "name a folder with an index.html, an .html file, an address on this machine, an adapter, or a page game "
    "that comes with Attract"
)


@dataclass(frozen=True)
class LookOptions:
    """Options of the command line."""

    given: str
    """A page, the path of an adapter, or a bundled page game's name."""
    inputs: list[GivenInput] = field(default_factory=list[GivenInput])
    frames: int | None = None
    expression: str | None = None
    png: Path | None = None
    size: tuple[int, int] = SIZE
    seed: int = 1
    touch: bool = False
    full: bool = False
    json_output: bool = False


@dataclass(frozen=True)
class _Subject:
    """What is looked at."""

    files: PageFiles
    page: str | None
    """None: the adapter names it."""
    adapter: str | None
    """Address of its module."""
    folder: Path | None
    """None: a server gives the files."""


async def look_at(order: LookOptions, server: ServerSettings) -> int:
    """Look at the page and print what is there; 0.

    Raises:
        ConfigurationError: there is no such page or adapter, or an option is invalid.
        GameError: kind `load`, when the page cannot be loaded, hangs, or its answer cannot be read.
    """
    report = await look(order, server)
    render = json_text if order.json_output else text_of
    if not order.full:
        report = shortened(report, render)
    if order.json_output:
        print_answer(report)
    else:
        _say(CommandConsole(), render(report))
    return DONE


async def look(order: LookOptions, server: ServerSettings) -> LookReport:
    """What is there, before it is cut to its length; the picture is written.

    Raises: as `look_at`.
    """
    frames = frames_of(order.inputs, order.frames)
    if not all(1 <= side <= MAX_SIDE for side in order.size):
        raise ConfigurationError(
            f"{order.size[0]} x {order.size[1]}", setting="--size", fix=f"1 to {MAX_SIDE} pixels each"
        )
    if order.png is not None:
        if order.png.suffix.lower() != ".png":
            raise ConfigurationError(
                f"{order.png} is no name of a picture", setting="--png", fix=f"{order.png.stem}.png"
            )
        check_writable(order.png)
    subject = await _subject(order.given, server)
    began = time.monotonic()
    asked: dict[str, Any] = {
        "page": subject.page,
        **on_screen(server, order.size, touch=order.touch),
        "adapter": subject.adapter,
        "inputs": [entry.order() for entry in order.inputs],
        "frames": frames,
        "seed": order.seed,
        "expression": order.expression,
        "budgetMs": BUDGET_MS,
    }
    try:
        async with probe_tab(subject.files, server) as tab:
            missing = _noted_missing(tab, subject.folder)
            found = _read(
                await within(LOOK_SECONDS, tab.evaluate("(order) => attractProbe.look(order)", asked))
            )
            drawn = order.png is not None and await _draw(tab, order.png, found, asked)
    except LateError as late:
        why = late.busy or ": does a loop of it never end?"
        raise GameError("load", f"the page did not answer within {late.seconds:.0f} s{why}") from None
    except PlaywrightError as error:
        raise GameError("load", f"the page could not be looked at: {said_of(error)}") from None
    return LookReport(
        **dict(found),
        missing=list(missing.values()),
        png=shown_path(order.png) if drawn and order.png is not None else None,
        seconds=round(time.monotonic() - began, 2),
        left_out={},
    )


async def _subject(given: str, server: ServerSettings) -> _Subject:
    library = GameLibrary(
        server.project_dir,
        server.web_dir,
        runs_dir=server.runs_dir,
        include=server.include,
        page_device=server.page_device,
    )
    if names_page(given, server.web_dir):
        place = page_place(given, server.runs_dir, server.include)
        return _Subject(place.files, place.page, None, None if "://" in place.page else place.folder)
    if given not in library.bundled_names() and not given.endswith(SUFFIXES):
        raise ConfigurationError(f"there is no {given}", setting="PAGE", fix=NAMED)
    module = await library.resolve(given)
    files = library.page_files(module.reference.sha256[:32])
    if files is None:
        raise ConfigurationError(f"{given} is a game without a page", setting="PAGE", fix=NAMED)
    return _Subject(_WithAdapter(files, module.code), None, ADAPTER, library.adapter_folder(module.reference))


class _WithAdapter:
    """The files of an adapter's page, and its module."""

    def __init__(self, files: PageFiles, code: bytes) -> None:
        self._files = files
        self._code = code

    def find(self, path: str) -> Path | FetchedFile | None:
        """See `PageFiles`."""
        if path == ADAPTER:
            return FetchedFile(self._code, "text/javascript")
        return self._files.find(path)


def _noted_missing(tab: Page, folder: Path | None) -> dict[str, LookMissing]:
    """By address, from now on: what was asked for in vain."""
    missing: dict[str, LookMissing] = {}

    def note(url: str, why: str) -> None:
        parts = urlsplit(url)
        address = url
        if (parts.hostname or "").endswith(".localhost"):
            address = parts.path + (f"?{parts.query}" if parts.query else "")
        address = printable(address)[:MAX_WORDS]
        if parts.path != NOT_ASKED and len(missing) < MAX_LISTED:
            missing.setdefault(address, LookMissing(address=address, why=why))

    def answered(response: Response) -> None:
        if response.status >= 400:
            why = "not found" if folder is None else missing_text(folder, urlsplit(response.url).path)
            note(response.url, why if response.status == 404 else f"status {response.status}")

    def failed(request: Request) -> None:
        why = request.failure or "failed"
        # The page was closed meanwhile.
        if "ERR_ABORTED" not in why:
            note(request.url, "blocked: it is on another server" if why == "csp" else why[:MAX_WORDS])

    tab.on("response", answered)
    tab.on("requestfailed", failed)
    return missing


def _read(text: Any) -> PageLook:
    """Raises: GameError: the page has changed what is answered."""
    try:
        if not isinstance(text, str) or len(text) > MAX_REPORT_BYTES:
            raise ValueError(f"{type(text).__name__} of unexpected size")
        return PageLook.model_validate_json(text)
    except ValueError as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise GameError(
            "load", f"what was found in the page cannot be read ({what}): its scripts change what looks at it"
        ) from None


async def _draw(tab: Page, path: Path, found: PageLook, asked: dict[str, Any]) -> bool:
    """Write a picture of the frame that `found` describes; False: there is none, and a note says why."""

    async def picture() -> object:
        note = await tab.evaluate("(order) => attractProbe.draw(order)", asked | {"frames": found.frames})
        await _write_picture(tab, path, found)
        return note

    try:
        note = await within(LOOK_SECONDS, picture())
    except LateError as late:
        found.notes.append(
            f"takes more than {late.seconds:.0f} s to draw here, so there is no picture{late.busy}: "
            "a browser with a graphics processor draws it faster"
        )
        return False
    if isinstance(note, str):
        found.notes.append(printable(note)[:MAX_WORDS])
    return True


async def _write_picture(tab: Page, path: Path, found: PageLook) -> None:
    width, height = (max(1, min(MAX_SIDE, int(side))) for side in found.size)
    await tab.set_viewport_size({"width": width, "height": height})
    picture = await tab.screenshot(type="png", clip={"x": 0, "y": 0, "width": width, "height": height})
    write_output(path, picture)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
