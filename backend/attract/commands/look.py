"""`attract look`: opens a page under the virtual clock, gives it some input, and says what is there."""

import asyncio
import shlex
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

from cyclopts import Parameter
from cyclopts.validators import Number
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import FloatRect, Page, Request, Response
from pydantic import ValidationError

from attract.commands import flags
from attract.commands.contact_sheet import QUALITY, contact_sheet, spread_over
from attract.commands.destination import check_writable, shown_path, write_output
from attract.commands.json_output import json_text, print_answer
from attract.commands.look_answer import short_look, text_of
from attract.commands.look_inputs import frames_of, given_inputs
from attract.commands.output import CommandConsole, say, say_next
from attract.commands.probe import SIZE, on_screen, probe_tab, said_of
from attract.commands.train_display import printable
from attract.errors import ConfigurationError, GameError
from attract.games.library import GameLibrary
from attract.games.modules import SUFFIXES
from attract.games.page_files import FetchedFile, PageFiles, missing_text
from attract.games.page_places import names_page, page_place
from attract.processes.exit_codes import DONE
from attract.schema.look import MAX_LISTED, MAX_WORDS, LookMissing, LookReport, PageLook
from attract.server.app_server import run_async
from attract.settings.run import ServerSettings

Answer = TypeVar("Answer")

WORK_SECONDS: Final = 0.1
"""Processor time of one measurement."""
MIN_SLOWDOWN: Final = 1.3
"""A machine that slows a thread down by less is not busy."""
MAX_SLOWDOWN: Final = 20.0
"""One that slows it down by more is waited for no longer."""


class LateError(Exception):
    """Something took too long."""

    def __init__(self, seconds: float, factor: float) -> None:
        self.seconds = seconds
        """How long it was waited for."""
        self.busy = (
            f", on a machine so busy that a thread takes {factor:.1f} times as long" if factor > 1 else ""
        )
        """The end of a sentence about it; empty where the machine is not busy."""
        super().__init__(f"late after {seconds:.0f} s{self.busy}")


def slowdown() -> float:
    """How many times as long as by itself work takes in a thread of this machine now; 1: it is not busy."""
    began, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < WORK_SECONDS:
        sum(range(1_000))
    factor = (time.monotonic() - began) / WORK_SECONDS
    return 1.0 if factor < MIN_SLOWDOWN else min(factor, MAX_SLOWDOWN)


async def within(
    seconds: float, work: Coroutine[Any, Any, Answer], measure: Callable[[], float] = slowdown
) -> Answer:
    """What `work` returns; it is cancelled after `seconds`, or as much later as the machine is slower.

    Raises: LateError: it did not return in time.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    began, limit = loop.time(), seconds
    try:
        while not (await asyncio.wait({task}, timeout=began + limit - loop.time()))[0]:
            factor = await asyncio.to_thread(measure)
            limit = seconds * factor
            if loop.time() - began >= limit and not task.done():
                raise LateError(loop.time() - began, factor)
        return task.result()
    finally:
        task.cancel()


BUDGET_MS: Final = 2_000
"""After so long of comparing plays no further one is compared, on a busy machine later."""
LOOK_SECONDS: Final = 40.0
"""A page that has not answered by then hangs."""
MAX_REPORT_BYTES: Final = 16 * 2**20
ADAPTER: Final = "/.attract/look-adapter.js"
NOT_ASKED: Final = "/favicon.ico"
"""The browser asks for it, not the page."""
MAX_SIDE: Final = 4_096
TAKE: Final = "attractTake"
"""What the document calls, by name, when a moment of the sheet is drawn."""
NAMED: Final = (
    "name a folder with an index.html, an .html file, an address on this machine, an adapter, or a page game "
    "that comes with Attract"
)


@flags.options
class LookOptions:
    press: list[str] | None = None
    """Key and frame: Enter@10. It is down for 4 frames. Keys are those of KeyboardEvent.code."""
    hold: list[str] | None = None
    """Key, its first frame, and the first without it: ArrowLeft@60-90."""
    click: list[str] | None = None
    """CSS selector or place, and frame: '#start@5', 120,80@5."""
    pointer: list[str] | None = None
    """What the pointer does, where and when: 'right #cell@5', 'drag #card to 120,80@5-20'."""
    action: list[str] | None = None
    """Action of the adapter, and frames: left@0-30."""
    frames: int | None = None
    """Frames of 1/60 s to play, at most 3600; by default 60, or 30 after the last input."""
    expression: Annotated[str | None, Parameter(name="--eval")] = None
    """JavaScript expression, or function of the window, evaluated in the page after the last frame. `w` is
    the window; `made` and `drawn` are those of adapters."""
    png: Path | None = None
    """File for a picture of the last frame."""
    sheet: Path | None = None
    """File for one picture of twelve moments, the last frame among them."""
    rotate: Annotated[list[int] | None, Parameter(validator=Number(gte=0))] = None
    """Frame at which the phone or the tablet is turned: 60."""
    size: tuple[int, int] = SIZE
    """Width and height of the page's window in pixels; an adapter, a phone and a tablet have their own."""
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 1
    """Seed of the page's random numbers and date."""
    touch: bool = False
    """The pointer is a finger, and the page on a phone; an adapter has its own."""
    full: bool = False
    """Leave nothing out; by default the answer has at most 8 kB."""
    project_dir: flags.ProjectDir = None
    page_device: flags.PageDevice = None
    include: flags.Include = None
    json_output: flags.Json = False


def look(page: flags.Game, /, options: LookOptions = LookOptions()) -> int:
    """Open a PAGE or an adapter for some frames, press what is given, and say what is there.

    Prints texts, buttons and drawn things with their places, globals and which input moves them, the console,
    alerts, errors and missing files; of an adapter also each step's observation, score, end and mask.
    Exit code: 0 if it looked, 2 if it could not.

    Parameters
    ----------
    page
        Folder with an index.html, .html file, address on this machine, adapter, or bundled page game.

    Examples
    --------
    attract look dist --press Enter@10 --hold ArrowLeft@60-90  # what a key moves
    attract look dist --eval 'w.game?.score' --sheet page.png  # a value, and twelve moments
    attract look game.page.ts --action left@0-60 --json  # each step, as an adapter has it
    """
    page, server = flags.page_or_game(page, flags.server_settings(options))
    report = run_async(look_at(page, options, server))
    render = json_text if options.json_output else text_of
    if not options.full:
        report = short_look(report, render)
    if options.json_output:
        print_answer(report)
    else:
        console = CommandConsole()
        say(console, render(report))
        shown = shown_path(Path(page)) if Path(page).is_absolute() else page
        say_next(console, f"attract ci {shlex.quote(shown)}")
    return DONE


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


async def look_at(page: str, options: LookOptions, server: ServerSettings) -> LookReport:
    """What is there, before it is cut to its length; the picture is written.

    Args:
        page: a page, the whole path of an adapter, or a bundled page game's name.

    Raises:
        ConfigurationError: there is no such page or adapter, or an option is invalid.
        GameError: kind `load`, when the page cannot be loaded, hangs, or its answer cannot be read.
    """
    inputs = given_inputs(
        options.press or (),
        options.hold or (),
        options.click or (),
        options.action or (),
        options.pointer or (),
        options.rotate or (),
    )
    frames = frames_of(inputs, options.frames)
    if not all(1 <= side <= MAX_SIDE for side in options.size):
        raise ConfigurationError(
            f"{options.size[0]} x {options.size[1]}", setting="--size", fix=f"1 to {MAX_SIDE} pixels each"
        )
    for setting, path in (("--png", options.png), ("--sheet", options.sheet)):
        if path is None:
            continue
        if path.suffix.lower() != ".png":
            raise ConfigurationError(
                f"{path} is no name of a picture", setting=setting, fix=f"{path.stem}.png"
            )
        check_writable(path)
    subject = await _subject(page, server)
    began = time.monotonic()
    asked: dict[str, Any] = {
        "page": subject.page,
        **on_screen(server, options.size, touch=options.touch),
        "adapter": subject.adapter,
        "inputs": [entry.order() for entry in inputs],
        "frames": frames,
        "seed": options.seed,
        "expression": options.expression,
        "budgetMs": BUDGET_MS,
    }
    try:
        async with probe_tab(subject.files, server) as tab:
            missing = _noted_missing(tab, subject.folder)
            found = _read(
                await within(LOOK_SECONDS, tab.evaluate("(order) => attractProbe.look(order)", asked))
            )
            is_asked = options.png is not None or options.sheet is not None
            drawn = is_asked and await _draw(tab, options, found, asked)
    except LateError as late:
        text = (
            f"the page did not answer within {late.seconds:.0f} s{late.busy}: are its frames slow "
            "(give fewer --frames), or does a loop of it never end?"
        )
        raise GameError("load", text) from None
    except PlaywrightError as error:
        raise GameError("load", f"the page could not be looked at: {said_of(error)}") from None
    return LookReport(
        **dict(found),
        missing=list(missing.values()),
        png=shown_path(options.png) if drawn and options.png is not None else None,
        sheet=shown_path(options.sheet) if drawn and options.sheet is not None else None,
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


async def _draw(tab: Page, options: LookOptions, found: PageLook, asked: dict[str, Any]) -> bool:
    """Write pictures of the play that `found` describes; False: there are none, and a note says why."""
    pictures: dict[int, bytes] = {}
    moments = set() if options.sheet is None else set(spread_over(found.frames))

    async def take(source: dict[str, Any], tick: object) -> None:
        # The page may call it as well: no more than one picture for each moment.
        if source["frame"] == tab.main_frame and isinstance(tick, int) and tick in moments:
            moments.discard(tick)
            pictures[tick] = await tab.screenshot(type="jpeg", quality=QUALITY, clip=seen)

    async def picture() -> object:
        await tab.set_viewport_size({"width": int(seen["width"]), "height": int(seen["height"])})
        await tab.expose_binding(TAKE, take)
        order = asked | {"frames": found.frames, "moments": sorted(moments)}
        note = await tab.evaluate("(order) => attractProbe.draw(order)", order)
        if options.png is not None:
            write_output(options.png, await tab.screenshot(type="png", clip=clip))
        if options.sheet is not None:
            cells = [(pictures[tick], f"frame {tick}, {tick / 60:.2f} s", False) for tick in sorted(pictures)]
            write_output(options.sheet, await contact_sheet(tab, cells))
        return note

    width, height = (max(1, min(MAX_SIDE, int(side))) for side in found.size)
    # What will be turned was as wide as it is high.
    longest = max(width, height) if options.rotate else 0
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": height}
    seen: FloatRect = {**clip, "width": max(width, longest), "height": max(height, longest)}
    try:
        note = await within(LOOK_SECONDS, picture())
    except LateError as late:
        found.notes.append(
            f"takes more than {late.seconds:.0f} s to draw here, so there is no picture{late.busy}: "
            "give fewer --frames; a browser with a graphics processor draws it faster"
        )
        return False
    if isinstance(note, str):
        found.notes.append(printable(note)[:MAX_WORDS])
    return True
