"""A tab at the origin of a page game, with the trials of `benchmarks/browser/page-trials.ts`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, Page, async_playwright

from attract.browser.chromium import launch_switches, require_chromium
from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.server.app_server import serving_app
from attract.server.page_games import PROBE_PAGE, PageGameMiddleware, nothing_else
from attract_benchmarks import BUILT_DIR

TRIALS = BUILT_DIR / "page-trials.js"
PAGE_BYTES = 4096
Answer = TypeVar("Answer")


class GameOrigin:
    """One tab; see `benchmarks/browser/page-trials.ts` for what can be asked."""

    def __init__(self, browser: Browser, tab: Page, ticks_per_step: int) -> None:
        self._browser = browser
        self._tab = tab
        self.ticks_per_step = ticks_per_step

    async def ask(self, name: str, *arguments: Any) -> Any:
        """The answer of the trial of this name.

        Raises: playwright.async_api.Error: with the page's own words.
        """
        order = f"(given) => attractPageTrials.{name}(...given)"
        return await self._tab.evaluate(order, list(arguments))

    async def picture(self, width: int, height: int) -> bytes:
        """A JPEG of the tab's upper left corner, so many CSS pixels of it."""
        await self._tab.set_viewport_size({"width": width, "height": height})
        return await self._tab.screenshot(type="jpeg", quality=80)

    async def renderer_bytes(self) -> int:
        """Resident memory of the largest process of the browser's pages."""
        session = await self._browser.new_browser_cdp_session()
        try:
            processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        finally:
            await session.detach()
        return max(_resident_bytes(process["id"]) for process in processes if process["type"] == "renderer")


def at_origin(
    game: str,
    library: GameLibrary,
    do: Callable[[GameOrigin], Awaitable[Answer]],
    *,
    switches: tuple[str, ...] = (),
) -> Answer:
    """Run `do` beside a game's page.

    Args:
        game: bundled name or path, as `library` resolves it.
        library: knows the game.
        do: asks trials.
        switches: of Chromium, beside those of training.

    Raises: ConfigurationError: when the web side is not built, or the game lives in no page.
    """
    if not TRIALS.is_file():
        raise ConfigurationError("the web side is not built", setting="attract bench", fix="npm run build")
    return asyncio.run(_at_origin(game, library, do, switches))


async def _at_origin(
    game: str,
    library: GameLibrary,
    do: Callable[[GameOrigin], Awaitable[Answer]],
    switches: tuple[str, ...],
) -> Answer:
    module = await library.resolve(game)
    if not module.reference.has_page:
        raise ConfigurationError(f"{game} lives in no page", setting="game")
    app = PageGameMiddleware(nothing_else, games=library, web_dir=PACKAGE_DIR / "web")
    async with serving_app(app) as port, async_playwright() as playwright:
        url = f"http://g1-{module.reference.sha256[:32]}.localhost:{port}{PROBE_PAGE}"
        browser = await playwright.chromium.launch(
            executable_path=require_chromium().path, headless=True, args=[*launch_switches(url), *switches]
        )
        try:
            # The trials are ours and no part of the game: its policy is not for them.
            tab = await browser.new_page(bypass_csp=True)
            tab.set_default_timeout(0)
            await tab.goto(url)
            await tab.evaluate(TRIALS.read_text(encoding="utf-8"))
            opened = await tab.evaluate("(text) => attractPageTrials.open(text)", module.code.decode())
            return await do(GameOrigin(browser, tab, opened["ticksPerStep"]))
        finally:
            await browser.close()


def _resident_bytes(process_id: int) -> int:
    try:
        return int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES
    except OSError:
        return 0
