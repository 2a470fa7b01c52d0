"""Pictures of findings' episodes in the page that the game lives in: as a sheet, and for a report."""

import asyncio
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urljoin

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route

from attract.commands.contact_sheet import QUALITY, SHEET_PICTURES, contact_sheet, spread_over
from attract.commands.exported_episode import PAGE
from attract.commands.probe import probe_tab
from attract.games.page_files import PageFiles
from attract.playtest.findings import Build
from attract.playtest.report import BuildFinding
from attract.playtest.report_page import LEAD_SECONDS, MAX_SHOWN, EpisodePictures, moment_of
from attract.schema.episode_actions import deflated
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings

FOLLOW_SECONDS: Final = 1.0
"""The last picture is this long after the moment, or of the episode's end."""
INTERVAL: Final = 0.125
"""Seconds of game time between two pictures, or a step where that is longer."""
MAX_PICTURES: Final = 40
WIDTH: Final = 480
HEIGHT: Final = 640
"""Size of the window, in pixels; the game takes up to 70 % of its height."""
MAX_SECONDS: Final = 60.0
"""Real time for the pictures of one episode, which is played up to them first."""
CLOSE_SECONDS: Final = 5.0
FOLDER: Final = "/.attract/episode"
"""Folder of the page that plays the episodes, at the origin of the game's own page."""
SEEK: Final = """\
(seconds) => {
  const scrub = document.getElementById("scrub");
  scrub.value = String(seconds);
  scrub.dispatchEvent(new Event("input"));
}
"""
IS_THERE: Final = """\
(seconds) => {
  const { shown, state } = document.body.dataset;
  return state === "failed" || Math.abs(Number(shown ?? -1) - seconds) < 1e-6;
}
"""


async def picture_episodes(
    files: PageFiles,
    build: Build,
    findings: Sequence[BuildFinding],
    server: ServerSettings,
    *,
    max_pictures: int = SHEET_PICTURES,
    seconds: float = math.inf,
) -> dict[int, EpisodePictures]:
    """Play the episodes in a browser and take pictures around the moment of each finding.

    Args:
        files: of the page.
        build: of a game that lives in a page.
        max_pictures: of each.
        seconds: real time after which no other episode is begun.

    Returns: by place in `findings`, of the first `MAX_SHOWN` that have an episode; those that could not be
        played are left out.

    Raises: ConfigurationError: there is no Chromium, or the page's server does not answer.
    """
    taken: dict[int, EpisodePictures] = {}
    wanted = [(place, each) for place, each in enumerate(findings) if each.episode is not None][:MAX_SHOWN]
    if not wanted:
        return taken
    async with probe_tab(files, server) as first:
        browser = first.context.browser
        if browser is None:
            raise RuntimeError("a tab of a browser that was started has one")
        end = asyncio.get_running_loop().time() + seconds
        for place, finding in wanted:
            if asyncio.get_running_loop().time() > end:
                break
            # A page that hangs answers nothing any more, not even where to go next.
            tab = await browser.new_page()
            await tab.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            # Nothing plays by itself: each picture is of a second that is asked for.
            await tab.emulate_media(reduced_motion="reduce")
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(MAX_SECONDS):
                    pictures = await _taken(tab, urljoin(first.url, FOLDER), build, finding, max_pictures)
                    if pictures is not None:
                        taken[place] = pictures
                        taken[place] = replace(pictures, sheet=await _sheet(tab, pictures))
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await tab.close()
    return taken


async def _sheet(tab: Page, pictures: EpisodePictures) -> bytes:
    """A PNG of some of the pictures in rows, each with its second; the moment of the finding is outlined."""
    count = len(pictures.seconds)
    chosen = spread_over(count - 1)
    nearest = min(range(count), key=lambda place: abs(pictures.seconds[place] - pictures.moment))
    closest = min(chosen, key=lambda place: abs(place - nearest))
    shown = [nearest if place == closest else place for place in chosen]
    cells = [(pictures.jpegs[place], f"{pictures.seconds[place]:.2f} s", place == nearest) for place in shown]
    return await contact_sheet(tab, cells)


async def _taken(
    tab: Page, folder: str, build: Build, finding: BuildFinding, max_pictures: int
) -> EpisodePictures | None:
    """Pictures of one episode; None: it cannot be played.

    Args:
        folder: address of `FOLDER`.
    """
    episode = finding.episode
    if episode is None:
        raise RuntimeError(f"{finding.id} has no episode")
    served = _served(build, episode)

    async def answer(route: Route) -> None:
        name = route.request.url.rpartition("/")[2].partition("?")[0]
        body, kind = served.get(name, (b"", "text/plain"))
        await route.fulfill(body=body, content_type=kind, status=200 if name in served else 404)

    await tab.route(f"**{FOLDER}/*", answer)
    moment = moment_of(finding, episode)
    first = max(0.0, moment - LEAD_SECONDS)
    await tab.goto(f"{folder}/index.html?at={first}")
    await tab.wait_for_function("() => document.body.dataset.state !== undefined")
    screen = tab.locator("#screen")
    images: list[bytes] = []
    times = _times(first, moment, episode, max_pictures)
    for seconds in times:
        await tab.evaluate(SEEK, seconds)
        await tab.wait_for_function(IS_THERE, arg=seconds, timeout=1000 * MAX_SECONDS)
        if await tab.evaluate("document.body.dataset.state") == "failed":
            return None
        images.append(await screen.screenshot(type="jpeg", quality=QUALITY))
    return EpisodePictures(times, images, moment)


def _times(first: float, moment: float, episode: RecordedEpisode, max_pictures: int) -> list[float]:
    last = min(episode.seconds, moment + FOLLOW_SECONDS)
    interval = max(INTERVAL, episode.seconds_per_step)
    # Beside the moment itself.
    count = min(max_pictures - 1, 1 + math.ceil((last - first) / interval))
    times = [first + (last - first) * index / max(1, count - 1) for index in range(count)]
    return sorted([moment, *(each for each in times if abs(each - moment) > 1e-6)])


def _served(build: Build, episode: RecordedEpisode) -> Mapping[str, tuple[bytes, str]]:
    page = build.description.page or ""
    address = page if "://" in page else f"/{page}"
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    html = html.replace("{{title}}", "").replace("{{page}}", address.replace('"', "%22"))
    return {
        "index.html": (html.encode(), "text/html"),
        "page.js": ((PAGE / "page.js").read_bytes(), "text/javascript"),
        "game.js": (build.module.code, "text/javascript"),
        "episode.json": (deflated(episode).model_dump_json().encode(), "application/json"),
    }
