"""`attract probe`: opens a page in a headless browser, prints what it found, and writes a first adapter."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, async_playwright
from rich.console import Console

from attract.browser.chromium import launch_switches, require_chromium
from attract.commands.destination import check_writable, writing
from attract.commands.output import CommandConsole
from attract.commands.skill import lay_skill
from attract.commands.train_display import printable
from attract.errors import ConfigurationError, GameError
from attract.games.library import PACKAGE_DIR, refuse_project
from attract.games.page_files import PageAddress, PageFiles
from attract.games.page_places import ADAPTER, PagePlace, page_place
from attract.processes.exit_codes import DONE
from attract.server.app_server import serving_app
from attract.server.page_games import PROBE_PAGE, PageGameMiddleware, nothing_else
from attract.settings.run import ServerSettings

SIZE: Final = (800, 600)
PROBE_MS: Final = 240_000
CONNECT_SECONDS: Final = 5.0
KEY: Final = "0" * 32
WANTED: Final = {"keys": "what it may press", "observe": "what an agent sees", "score": "the score"}
"""The options of an adapter that training needs, in words."""


@dataclass(frozen=True)
class ProbeOptions:
    """Options of the command line."""

    page: str
    out: Path | None = None
    size: tuple[int, int] = SIZE
    force: bool = False
    json_output: bool = False


async def probe_page(order: ProbeOptions, server: ServerSettings) -> int:
    """Probe the page, print what was found and write its adapter; 0.

    Raises:
        ConfigurationError: there is no such page, or an adapter is there already.
        GameError: kind `load`, when the page cannot be loaded.
    """
    console = CommandConsole(stderr=order.json_output)
    place = page_place(order.page, server.runs_dir)
    path = _adapter_path(place, order.out, force=order.force)
    found = await found_in(place, server, order.size)
    for line in found_lines(found):
        _say(console, line)
    write_adapter(path, place, found)
    shown = _shown(path)
    _say(console, lay_skill(path.parent))
    _say(console, f"\nwrote {shown}: review it, then run\n  attract check {shown}\n  attract train {shown}")
    if order.json_output:
        print(
            json.dumps({"adapter": str(path), **{name: found[name] for name in found if name != "adapter"}})
        )
    return DONE


async def adapter_of(given: str, server: ServerSettings) -> Path:
    """The adapter of a page: the one next to it, or else a new one.

    Raises:
        ConfigurationError: there is no such page, there are several adapters, or what was written does not
            say all that training needs.
        GameError: kind `load`, when the page cannot be loaded.
    """
    console = CommandConsole(stderr=True)
    place = page_place(given, server.runs_dir)
    known = place.adapters()
    if len(known) > 1:
        raise ConfigurationError(
            f"{given} has {len(known)} adapters",
            setting="game",
            fix=f"name one: {', '.join(map(_shown, known))}",
        )
    if known:
        _say(console, f"{given} is played with the adapter {_shown(known[0])}")
        return known[0]
    path = place.folder / ADAPTER
    if path.exists():
        raise ConfigurationError(
            f"{_shown(path)} is for another page than {given}",
            setting="game",
            fix=f"write `page: {json.dumps(place.page)}` there, or move it away to have a new one written",
        )
    # A page that a game of the folder is played in, as `attract new` writes one, is no game of its own.
    refuse_project(Path(given), given)
    _say(console, f"{given} has no adapter yet: probing the page")
    found = await found_in(place, server, SIZE)
    for line in found_lines(found):
        _say(console, line)
    write_adapter(path, place, found)
    if found["unfinished"]:
        raise ConfigurationError(
            f"wrote {_shown(path)}, which is incomplete: {', '.join(missing(found))}",
            setting="game",
            fix=f"add it there and delete `unfinished`, then: attract train {_shown(path)}",
        )
    _say(console, f"wrote {_shown(path)}; its score and end are guesses: review it\n")
    return path


async def found_in(place: PagePlace, server: ServerSettings, size: tuple[int, int]) -> dict[str, Any]:
    """Probe the page in a headless browser: a `ProbeReport` of `web/page-probe`.

    Raises: GameError: kind `load`, when the page cannot be loaded.
    """
    return await _report(place, server, {"page": place.page, "size": size})


async def found_in_time(
    place: PagePlace,
    server: ServerSettings,
    size: tuple[int, int],
    budget_seconds: float,
    limit_seconds: float,
) -> dict[str, Any] | None:
    """As `found_in`, in a limited time; None: it took longer.

    Args:
        budget_seconds: after which nothing further is tried; what is tried then is finished.
        limit_seconds: with the start of the browser.

    Raises: GameError: kind `load`, when the page cannot be loaded.
    """
    page = {"page": place.page, "size": size, "budgetMs": 1000 * budget_seconds}
    try:
        async with asyncio.timeout(limit_seconds):
            return await _report(place, server, page)
    except TimeoutError:
        return None


async def _report(place: PagePlace, server: ServerSettings, page: dict[str, Any]) -> dict[str, Any]:
    async with probe_tab(place.files, server) as tab:
        try:
            return await tab.evaluate("(page) => attractProbe.run(page)", page)
        except PlaywrightError as error:
            text = str(error).splitlines()[0].removeprefix("Page.evaluate: ").removeprefix("Error: ")
            raise GameError("load", f"the page could not be probed: {text}") from None


@asynccontextmanager
async def probe_tab(files: PageFiles, server: ServerSettings) -> AsyncGenerator[Page]:
    """A tab of a headless browser with `web/page-probe`, at the origin of one page's files.

    Raises: ConfigurationError: the page's server does not answer, or there is no Chromium.
    """
    await _check_answers(files)
    chromium = require_chromium()
    app = PageGameMiddleware(nothing_else, games=_One(files), web_dir=server.web_dir or PACKAGE_DIR / "web")
    async with serving_app(app) as port, async_playwright() as playwright:
        url = f"http://g1-{KEY}.localhost:{port}{PROBE_PAGE}"
        browser = await playwright.chromium.launch(
            executable_path=chromium.path, headless=True, args=launch_switches(url)
        )
        try:
            tab = await browser.new_page()
            tab.set_default_timeout(PROBE_MS)
            await tab.goto(url)
            yield tab
        finally:
            await browser.close()


async def _check_answers(files: PageFiles) -> None:
    if not isinstance(files, PageAddress):
        return
    address = urlsplit(files.address)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address.hostname, address.port or 80)
    except (OSError, TimeoutError):
        raise ConfigurationError(
            f"nothing answers at {files.address}",
            setting="PAGE",
            fix="start the page's server and give the address that it prints",
        ) from None
    writer.close()


class _One:
    """Knows one page, by whatever key."""

    def __init__(self, files: PageFiles) -> None:
        self._files = files

    def page_files(self, key: str) -> PageFiles | None:
        return self._files if key == KEY else None


def found_lines(found: dict[str, Any]) -> list[str]:
    """The printed lines of a `ProbeReport`."""
    starter = found["starter"]
    begun = {
        "none": "by itself"
        if found["restart"] is None or found["restartsByMenu"]
        else f"by {found['restart']}",
        "key": f"by the key {starter.get('code')}",
        "click": "by a click in the middle of the page",
        "spot": f"by a click on {starter.get('name')!r}, which it draws",
        "element": f"by a click on {starter.get('selector')} ({starter.get('text')!r})",
    }[starter["kind"]]
    seen = found["seen"]
    lines = [
        f"{found['title']}: made with {found['engine'] or 'no known engine'}",
        f"  api:      {', '.join(found['contracts']) or 'none known'}",
        f"  start:    {begun}",
        f"  controls: {', '.join(found['moves']) or 'no responsive key or pointer was found'}"
        + (" (each press counts once)" if found["taps"] else ""),
        f"  state:    {found['numPlaces']} readable variables; the observation takes {len(seen)}"
        + ("; the agent observes its canvas (train with --preset pixels)" if found["seesPixels"] else ""),
        *(f"            {text}" for text in seen[:8]),
        *([f"            and {len(seen) - 8} more"] if len(seen) > 8 else []),
        f"  score:    {found['score'] or 'not found'}",
        f"  end:      {found['end'] or 'not found: an episode ends by its time limit'}",
        f"  restart:  {found['restart'] or 'not found: each episode loads a new page'}",
    ]
    lines += [f"  note:     it {what}" for what in found["unheld"]]
    lines += [f"  threw:    {text}" for text in found["errors"][:3]]
    return [printable(line) for line in lines]


def missing(found: dict[str, Any]) -> list[str]:
    """The missing parts of the adapter."""
    names: list[str] = found["unfinished"]
    return [WANTED.get(name, name) for name in names]


def write_adapter(path: Path, place: PagePlace, found: dict[str, Any]) -> None:
    """Write the adapter; the path of its page is relative to the adapter's folder."""
    page = place.page
    if "://" not in page:
        page = (place.folder / page).relative_to(path.parent).as_posix()
    text = found["adapter"].replace(f"page: {json.dumps(place.page)}", f"page: {json.dumps(page)}", 1)
    with writing(path):
        path.write_text(text, encoding="utf-8")


def _adapter_path(place: PagePlace, out: Path | None, *, force: bool) -> Path:
    path = (place.folder / ADAPTER if out is None else out).resolve()
    if not path.name.endswith((".page.ts", ".page.js")):
        raise ConfigurationError(
            f"{path.name} is not a valid name of an adapter", setting="--out", fix="game.page.ts"
        )
    if "://" not in place.page and not (place.folder / place.page).is_relative_to(path.parent):
        raise ConfigurationError(
            f"an adapter in {path.parent} cannot name {place.folder / place.page}",
            setting="--out",
            fix="put it into the page's folder or a parent folder",
        )
    if path.exists() and not force:
        raise ConfigurationError(
            f"{_shown(path)} already exists",
            setting="--out",
            fix="give another --out, or --force to replace it",
        )
    check_writable(path)
    return path


def _shown(path: Path) -> str:
    """`path`, relative to the working directory where it is below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
