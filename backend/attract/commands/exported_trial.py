"""Opens an exported page once in a browser: completes what it asks for, and has it play."""

import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from playwright.async_api import Browser, Page, Response, async_playwright
from playwright.async_api import Error as PlaywrightError
from starlette.applications import Starlette
from starlette.responses import Response as FileResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from attract.browser.chromium import find_chromium, launch_switches
from attract.commands.exported_page import AGENT_FOLDER, ExportedPage
from attract.errors import ConfigurationError
from attract.games.page_files import missing_text
from attract.server.app_server import serving_app
from attract.server.page_games import GAME_POLICY

STEP_SECONDS: Final = 20.0
"""Real time; the page may have a menu to pass first."""
EPISODE_SECONDS: Final = 300.0
"""Real time, for an episode as fast as it plays."""
NOT_TESTED: Final = "the page was not tested: there is no Chromium"
MAX_ROUNDS: Final = 8
"""Added files may request more files."""
TRY: Final = """\
import definition from "./game.js";
import { loadAgent } from "./agent.js";
import { attachAgent } from "./page.js";

const trial = (window.attractTrial = { steps: 0, error: null });
try {
  const agent = await loadAgent(new URL(".", import.meta.url));
  const act = (...given) => {
    trial.steps++;
    return agent.act(...given);
  };
  const onError = (error) => { trial.error = String(error); };
  attachAgent(definition, { act, reset: () => agent.reset() }, { idleSeconds: 0, onError });
} catch (error) {
  trial.error = String(error);
}
"""
"""In the place of the agent's own module: plays at once, and counts."""
IS_SHOWN: Final = "() => document.body?.dataset.state !== undefined"
IS_PLAYED: Final = "() => ['ended', 'failed'].includes(document.body.dataset.state)"
IS_DECIDED: Final = "() => window.attractTrial?.steps > 0 || window.attractTrial?.error != null"


class _Site(StaticFiles):
    """Files that may do what they may in training: ask their own server, and for published packages."""

    def file_response(self, *args: Any, **kwargs: Any) -> FileResponse:
        response = super().file_response(*args, **kwargs)
        response.headers["content-security-policy"] = GAME_POLICY.format(owners="")
        return response


@dataclass
class _Opened:
    """Result of opening the page in a browser."""

    missing: set[str] = field(default_factory=set[str])
    """Paths that it requested from the site without success."""
    foreign: set[str] = field(default_factory=set[str])
    """Other servers that it requested without success."""
    errors: list[str] = field(default_factory=list[str])
    is_played: bool = False
    """Whether the agent has played a step, or an episode came to its end."""

    def lacks(self, site: ExportedPage | None) -> list[str]:
        """The files that it has not, and those that it has from above the page's folder, a sentence each."""
        lines = list[str]()
        for path in sorted(self.missing):
            own = path if site is None else path.removeprefix(f"{site.out.name}/")
            why = "does not exist" if site is None else missing_text(site.source.parent, own)
            lines.append(f"it requests /{path}, which {why}")
        copied = [] if site is None else dict.fromkeys(site.from_above)
        return lines + [f"it has {os.path.relpath(entry)} of --include" for entry in copied]

    @property
    def asks(self) -> list[str]:
        """The servers that it did not reach, a sentence each."""
        return [f"it requests {host}, which this browser cannot reach" for host in sorted(self.foreign)]

    def refusal(self, site: ExportedPage | None) -> ConfigurationError:
        """Says why the page is dead."""
        return ConfigurationError(
            f"the exported page does not work: {'; '.join([*self.lacks(site), *self.errors[:3]])}",
            setting="--page",
            fix="put the missing files next to the page, or build the page first; "
            "the export was written anyway",
        )


async def try_site(site: ExportedPage) -> list[str]:
    """Open the page as its visitors will, copy what it asks for, and have the agent play one step.

    Returns: what to know of it, a sentence each.

    Raises: ConfigurationError: the page is dead: no step is played, and it lacks files or throws.
    """
    async with _serving(site.out) as served:
        if served is None:
            return [NOT_TESTED]
        opened = await _open(*served, site.page)
        for _ in range(MAX_ROUNDS):
            added = [path for path in sorted(opened.missing) if site.add(path)]
            if not added:
                break
            opened = await _open(*served, site.page)
    if opened.is_played:
        return opened.lacks(site)
    if opened.foreign or not (opened.missing or opened.errors):
        return [
            f"the agent played no step within {STEP_SECONDS:g} s: open the page to see why",
            *opened.lacks(site),
            *opened.asks,
        ]
    raise opened.refusal(site)


async def try_episode(out: Path, site: ExportedPage | None, add_clock: Callable[[], None]) -> list[str]:
    """Open the page of an episode as its visitors will, copy what it asks for, and have it played to its end.

    Args:
        out: the folder with its `index.html`.
        site: the page that the game lives in, below `out`; None: it lives in none.
        add_clock: called once files were added.

    Returns: what came of it, a sentence each.

    Raises: ConfigurationError: the page is dead: it does not play the episode.
    """
    async with _serving(out) as served:
        if served is None:
            return [NOT_TESTED]
        opened, said = await _play(*served)
        for _ in range(MAX_ROUNDS):
            if site is None or not _add(site, opened.missing):
                break
            add_clock()
            opened, said = await _play(*served)
    if opened.is_played:
        return [f"the page was opened and played to its end. {said}", *opened.lacks(site)]
    if said != "":
        opened.errors.insert(0, said)
    if opened.foreign or not (opened.missing or opened.errors):
        return [
            f"the episode did not come to its end within {EPISODE_SECONDS:g} s: open the page to see why",
            *opened.lacks(site),
            *opened.asks,
        ]
    raise opened.refusal(site)


def _add(site: ExportedPage, missing: set[str]) -> bool:
    """Copy what is missing below the site, whose folder is in the root; whether there was any of it."""
    below = f"{site.out.name}/"
    own = [path.removeprefix(below) for path in sorted(missing) if path.startswith(below)]
    return len([path for path in own if site.add(path)]) > 0


@contextlib.asynccontextmanager
async def _serving(folder: Path) -> AsyncGenerator[tuple[Browser, int] | None]:
    """A browser, and the port of a server of the folder's files; None: there is no browser."""
    chromium = find_chromium()
    if chromium is None:
        yield None
        return
    app = Starlette(routes=[Mount("/", _Site(directory=folder))])
    async with serving_app(app) as port, async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium.path, headless=True, args=launch_switches()
        )
        try:
            yield browser, port
        finally:
            await browser.close()


async def _play(browser: Browser, port: int) -> tuple[_Opened, str]:
    """Until the episode is at its end, an error ends the trial, or the time is up; what the page says."""
    said = ""
    async with _opening(browser, port) as (tab, opened):
        await tab.goto(f"http://127.0.0.1:{port}/index.html", wait_until="commit")
        await tab.wait_for_function(IS_SHOWN, timeout=STEP_SECONDS * 1000)
        await tab.keyboard.press("End")
        await tab.wait_for_function(IS_PLAYED, timeout=EPISODE_SECONDS * 1000)
        said = str(await tab.locator("#status").inner_text())
        opened.is_played = bool(await tab.evaluate("document.body.dataset.state === 'ended'"))
    return opened, said


@contextlib.asynccontextmanager
async def _opening(browser: Browser, port: int) -> AsyncGenerator[tuple[Page, _Opened]]:
    """A tab, and what its page asks for in vain; errors of the block are among those of the page."""
    opened = _Opened()
    origin = f"http://127.0.0.1:{port}"

    def heard(response: Response) -> None:
        path = unquote(urlsplit(response.url).path).lstrip("/")
        if response.status == 404 and response.url.startswith(f"{origin}/") and path != "favicon.ico":
            opened.missing.add(path)

    tab = await browser.new_page()
    try:
        tab.on("response", heard)
        tab.on("pageerror", lambda error: opened.errors.append(error.message.splitlines()[0]))
        tab.on(
            "requestfailed",
            lambda request: (
                None
                if request.url.startswith(f"{origin}/")
                else opened.foreign.add(urlsplit(request.url).hostname or request.url)
            ),
        )
        yield tab, opened
    except PlaywrightError as error:
        if "Timeout" not in str(error):
            opened.errors.append(str(error).splitlines()[0])
    finally:
        await tab.close()


async def _open(browser: Browser, port: int, page: str) -> _Opened:
    """Until a step is played, an error ends the trial, or the time is up."""
    async with _opening(browser, port) as (tab, opened):
        await tab.route(
            f"**/{AGENT_FOLDER}/main.js",
            lambda route: route.fulfill(body=TRY, content_type="text/javascript"),
        )
        await tab.goto(f"http://127.0.0.1:{port}/{quote(page)}", wait_until="commit")
        await tab.wait_for_function(IS_DECIDED, timeout=STEP_SECONDS * 1000)
        steps, error = await tab.evaluate("[attractTrial.steps, attractTrial.error]")
        opened.is_played = int(steps) > 0
        opened.errors += [] if error is None else [str(error)]
    return opened
