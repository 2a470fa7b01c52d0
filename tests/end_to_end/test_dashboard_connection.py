"""The dashboard beside a server that is cut off, ends and comes back, in a real browser."""

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from attract.games.project import PACKAGE_DIR
from dashboard_page import check_accessible, photograph
from gateway_world import GatewayWorld, gateway
from proxy import TcpProxy
from waiting import WAIT_SECONDS, until

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
MORE_UPDATES = 520
"""Two events each: more than the 1,000 that the server repeats."""
CANVASES = """async () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  const seen = [];
  for (const chart of document.querySelectorAll(".chart")) {
    // Only charts in sight are drawn.
    chart.scrollIntoView({ block: "center" });
    for (let i = 0; i < 60 && chart.querySelector("canvas") === null; i++) await frame();
    for (let i = 0; i < 4; i++) await frame();
    seen.push(chart.querySelector("canvas")?.toDataURL() ?? null);
  }
  return seen;
}"""
"""What every chart shows, to the pixel."""

PARTS_ARE_LOADED = """() => ["access", "episode", "game", "runs", "study", "tuning"].every((part) =>
  performance.getEntriesByType("resource").some(({ name, responseEnd }) =>
    name.includes(`${part}-view`) && responseEnd > 0))"""


@contextlib.asynccontextmanager
async def behind_proxy(folder: Path) -> AsyncGenerator[tuple[GatewayWorld, TcpProxy]]:
    """A gateway with the real dashboard and the fake learner, reached through the proxy."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    proxy = TcpProxy()
    await proxy.start()
    address = f"http://127.0.0.1:{proxy.port}"
    async with gateway(folder, public_url=address) as world:
        shutil.copytree(PACKAGE_DIR / "web/dashboard", folder / "web/dashboard", dirs_exist_ok=True)
        proxy.target = world.port
        try:
            yield world, proxy
        finally:
            await proxy.cut()


@contextlib.asynccontextmanager
async def page_of(browser: Browser, world: GatewayWorld, proxy: TcpProxy, path: str) -> AsyncGenerator[Page]:
    """A signed-in page at that route."""
    async with await browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = await context.new_page()
        page.set_default_timeout(60_000)
        await page.goto(f"http://127.0.0.1:{proxy.port}/#token={world.guard.admin_token}")
        await expect(page.locator("h1")).to_be_visible(timeout=60_000)
        await page.goto(f"http://127.0.0.1:{proxy.port}/#{path}")
        yield page


async def until_updates(world: GatewayWorld, run_id: str, updates: int) -> None:
    """Wait until the run has made so many."""
    await until(lambda: world.service.view(run_id).updates >= updates, 240)


async def charts_of(page: Page) -> list[str | None]:
    """What every chart shows, as a picture. A page behind another has few frames, and draws late."""
    await page.bring_to_front()
    return await page.evaluate(CANVASES)


async def have_same_charts(one: Page, other: Page) -> bool:
    """Whether two pages show the same, to the pixel, once both have drawn."""
    charts = [await charts_of(page) for page in (one, other)]
    return len(charts[0]) > 10 and charts[0] == charts[1]


# `make test` has what follows a cut in backend/run/test_events.py, and a shorter one below.
@pytest.mark.long
async def test_after_a_long_cut_the_charts_are_those_of_a_page_loaded_then(
    tmp_path: Path, browser: Browser
) -> None:
    async with behind_proxy(tmp_path) as (world, proxy), world.fleet().joined():
        run_id = (await world.start()).run_id
        async with page_of(browser, world, proxy, f"/runs/{run_id}/charts") as page:
            await until_updates(world, run_id, 20)
            await expect(page.locator(".chart canvas").first).to_be_visible()
            await proxy.cut()
            await until_updates(world, run_id, world.service.view(run_id).updates + MORE_UPDATES)
            await expect(page.get_by_test_id("server-strip")).to_be_visible()
            # With nothing new after the cut both pages have the same updates, however they are thinned.
            await world.service.pause(run_id)
            await proxy.start()
            await expect(page.get_by_test_id("server-strip")).to_have_count(0)
            await photograph(page, PICTURES / "healed-after-cut.png")
            loaded = await page.context.new_page()
            await loaded.goto(page.url)
            await expect(loaded.locator(".chart canvas").first).to_be_visible()
            async with asyncio.timeout(WAIT_SECONDS):
                while not await have_same_charts(page, loaded):
                    await page.wait_for_timeout(200)


async def test_every_page_says_that_the_server_is_gone_and_heals(tmp_path: Path, browser: Browser) -> None:
    async with behind_proxy(tmp_path) as (world, proxy):
        run_id = await world.trained(192)
        async with page_of(browser, world, proxy, f"/runs/{run_id}") as page:
            get = page.get_by_role("link", name="Get policy", exact=True)
            await expect(get).to_be_visible()
            # Parts of the dashboard that no page has shown yet come a moment after the first.
            await page.wait_for_function(PARTS_ARE_LOADED)
            await proxy.cut()
            strip = page.get_by_test_id("server-strip")
            await expect(strip).to_have_text(
                "No answer from the server; trying again. If it has ended, start it: attract serve"
            )
            # Nothing leads to "connection refused", and no run is said to be live.
            await expect(get).to_have_count(0)
            for name in ("Get policy", "Train again", "agent.js", "policy.json", "Log out"):
                await expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
            await expect(page.get_by_role("link", name="Live")).to_have_count(0)
            await check_accessible(page, "a finished run whose server has ended")
            await photograph(page, PICTURES / "server-ended-desktop.png")
            await page.set_viewport_size({"width": 390, "height": 844})
            await photograph(page, PICTURES / "server-ended-phone.png", full_page=False)
            await page.set_viewport_size({"width": 1440, "height": 900})
            for route in ("/", "/runs", "/tuning", "/access"):
                await page.evaluate("(route) => { location.hash = route; }", route)
                await expect(page.locator("h1")).to_be_visible()
                await expect(strip).to_have_count(1)
                await expect(page.get_by_role("alert")).to_have_count(0)
            await proxy.start()
            await expect(strip).to_have_count(0)
            await expect(page.get_by_role("heading", name="Browsers that are signed in")).to_be_visible()
            await page.evaluate("(route) => { location.hash = route; }", f"/runs/{run_id}")
            await expect(get).to_be_visible()


# `make test` stops a run in test_dashboard.py and resumes one in test_interrupt.py.
@pytest.mark.long
async def test_stop_asks_and_a_stopped_run_is_resumed(tmp_path: Path, browser: Browser) -> None:
    async with behind_proxy(tmp_path) as (world, proxy), world.fleet().joined():
        run_id = (await world.start()).run_id
        async with page_of(browser, world, proxy, f"/runs/{run_id}") as page:
            await until_updates(world, run_id, 3)
            pill = page.locator("[data-testid=run-head] [data-testid=state]")
            await expect(page.get_by_role("button", name="Pause training")).to_be_visible()
            await expect(page.get_by_role("button", name="Pause the game")).to_be_visible()
            stop = page.get_by_role("button", name="Stop", exact=True)
            dialog = page.get_by_role("dialog", name="Stop training?")
            await stop.click()
            await expect(dialog).to_be_visible()
            await expect(dialog).to_contain_text("can be resumed")
            await check_accessible(page, "the question before a stop")
            await photograph(page, PICTURES / "stop-asks-desktop.png", full_page=False)
            await page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)
            await expect(stop).to_be_focused()
            await expect(pill).to_have_text("Training")
            await stop.click()
            await dialog.get_by_role("button", name="Stop training").click()
            await expect(pill).to_have_text("Stopped")
            updates = world.service.view(run_id).updates
            await photograph(page, PICTURES / "stopped.png")
            await page.get_by_role("button", name="Resume", exact=True).click()
            await expect(pill).to_have_text(re.compile("Training|Starting"))
            await until_updates(world, run_id, updates + 5)
            # The page follows again.
            await expect(pill).to_have_text("Training")
            await expect(page.locator(".chart canvas").first).to_be_visible()
