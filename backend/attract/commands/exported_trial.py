"""Opens an exported page once in a browser: completes what it asks for, and has its agent play a step."""

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from playwright.async_api import Browser, Response, async_playwright
from playwright.async_api import Error as PlaywrightError
from starlette.applications import Starlette
from starlette.responses import Response as FileResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from attract.browser.chromium import find_chromium, launch_switches
from attract.commands.exported_page import AGENT_FOLDER, ExportedPage
from attract.errors import ConfigurationError
from attract.server.in_process import serving_app
from attract.server.page_games import GAME_POLICY

STEP_SECONDS: Final = 20.0
"""Real time; the page may have a menu to pass first."""
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
    steps: int = 0


async def try_site(site: ExportedPage) -> list[str]:
    """Open the page as its visitors will, copy what it asks for, and have the agent play one step.

    Returns: what to know of it, a sentence each.

    Raises: ConfigurationError: the page is dead: no step is played, and it lacks files or throws.
    """
    chromium = find_chromium()
    if chromium is None:
        return ["the page was not tested: there is no Chromium"]
    app = Starlette(routes=[Mount("/", _Site(directory=site.out))])
    async with serving_app(app) as port, async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium.path, headless=True, args=launch_switches()
        )
        try:
            opened = await _open(browser, port, site.page)
            for _ in range(MAX_ROUNDS):
                added = [path for path in sorted(opened.missing) if site.add(path)]
                if not added:
                    break
                opened = await _open(browser, port, site.page)
        finally:
            await browser.close()
    lacks = [f"it requests /{path}, which does not exist" for path in sorted(opened.missing)]
    if opened.steps > 0:
        return lacks
    asks = [f"it requests {host}, which this browser cannot reach" for host in sorted(opened.foreign)]
    if opened.foreign or not (lacks or opened.errors):
        return [
            f"the agent played no step within {STEP_SECONDS:g} s: open the page to see why",
            *lacks,
            *asks,
        ]
    raise ConfigurationError(
        f"the exported page does not work: {'; '.join([*lacks, *opened.errors[:3]])}",
        setting="--page",
        fix="put the missing files next to the page, or build the page first; the export was written anyway",
    )


async def _open(browser: Browser, port: int, page: str) -> _Opened:
    """Until a step is played, an error ends the trial, or the time is up."""
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
        await tab.route(
            f"**/{AGENT_FOLDER}/main.js",
            lambda route: route.fulfill(body=TRY, content_type="text/javascript"),
        )
        await tab.goto(f"{origin}/{quote(page)}", wait_until="commit")
        await tab.wait_for_function(IS_DECIDED, timeout=STEP_SECONDS * 1000)
        steps, error = await tab.evaluate("[attractTrial.steps, attractTrial.error]")
        opened.steps = int(steps)
        opened.errors += [] if error is None else [str(error)]
    except PlaywrightError as error:
        if "Timeout" not in str(error):
            opened.errors.append(str(error).splitlines()[0])
    finally:
        await tab.close()
    return opened
