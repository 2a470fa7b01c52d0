"""Home, the page of a game and the keys of the dashboard, with the real server, in a real browser."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from dashboard_page import FITS, check_accessible, open_page, photograph_all, serve, wait_for_more, wait_until

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
WIDTHS = pytest.mark.parametrize(
    "widths",
    [pytest.param((320,), id="narrow"), pytest.param((640, 1920), id="wide", marks=pytest.mark.long)],
)
"""The narrowest that is promised; a window of 1,280 at 200 %, and a wide one."""
LIVE_REGIONS = """() => [...document.querySelectorAll("[role=status], [aria-live], output")]
  .filter((one) => one.ariaLive !== "off")
  .map((one) => one.dataset.testid ?? one.outerHTML.slice(0, 80))"""
FOCUSED = """() => {
  const one = document.activeElement;
  const label = one.labels?.[0]?.querySelector("span > span")?.textContent;
  return one.ariaLabel ?? label ?? one.textContent.trim();
}"""
IN_WINDOW = """(selector) => {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return box !== undefined && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
}"""
START_BUTTON = "#start-form button[type=submit]"
MAX_TABS = 50


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs") as url:
        yield url


@pytest.fixture(scope="module")
def shared_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """For the tests that start no run."""
    with serve(tmp_path_factory.mktemp("shared") / "runs") as url:
        yield url


async def check_widths(page: Page, name: str, widths: tuple[int, ...]) -> None:
    """axe, contrasts in both schemes, and nothing that is wider than the window."""
    for width in widths:
        await page.set_viewport_size({"width": width, "height": 800})
        await wait_until(page, FITS)
        await check_accessible(page, f"{name} at {width}")
    await page.set_viewport_size({"width": 1280, "height": 720})


async def tab_to(page: Page, name: str) -> int:
    """Press Tab until what is called so has the focus; gives how often."""
    for presses in range(1, MAX_TABS + 1):
        await page.keyboard.press("Tab")
        if await page.evaluate(FOCUSED) == name:
            return presses
    raise AssertionError(f"{name} is not within {MAX_TABS} stops of Tab")


async def heard(page: Page) -> str:
    """The text of the only live region."""
    assert await page.evaluate(LIVE_REGIONS) == ["announcer"]
    return await page.get_by_test_id("announcer").inner_text()


# `make test` starts a run from the first click to the last in test_dashboard.py.
@pytest.mark.long
@WIDTHS
async def test_a_first_visitor_watches_an_agent_and_trains_one(
    address: str, widths: tuple[int, ...], browser: Browser
) -> None:
    async with open_page(browser, address, moves=True) as (page, _):
        await expect(page.get_by_role("heading", name="Train an agent to play a game")).to_be_visible()
        # Every game says its aim, its keys and how soon it is learned, and has an agent to watch.
        cards = page.locator(".game-place")
        await expect(cards).to_have_count(14)
        for text in await cards.all_inner_texts():
            assert re.search(r"\.\n.*(arrow keys|Arrow keys|Space|Keys 1 to 9).*\.\nLearned in ", text), text
            assert "Watch the trained agent" in text
        await check_widths(page, "a first visit", widths)
        await photograph_all(page, PICTURES, "home-first")

        await page.get_by_role("link", name="Watch Lander").click()
        agent = page.get_by_test_id("agent")
        await expect(agent).to_have_attribute("data-ready", "true")
        await expect(agent.get_by_test_id("hud-step")).not_to_have_text("0")
        await expect(agent.get_by_test_id("hud-best")).not_to_have_text("–")
        facts = page.get_by_test_id("game-facts")
        await expect(facts).to_contain_text("8 numbers")
        await expect(facts).to_contain_text("4 choices: nothing, left, main, right")
        await check_widths(page, "a game", widths)
        await photograph_all(page, PICTURES, "game")
        for size in ((1280, 720), (1440, 900)):
            await page.set_viewport_size({"width": size[0], "height": size[1]})
            await wait_until(page, IN_WINDOW, START_BUTTON)

        await page.get_by_role("link", name="Home").click()
        await page.get_by_role("button", name="Train CartPole now").click()
        await page.wait_for_url(re.compile(r"#/runs/"))
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text(
            "Finished", timeout=120_000
        )
        assert await heard(page) == "CartPole: Finished"

        # Now it has a run, on Home and on the page of its game, and the form goes on from it.
        await page.get_by_role("link", name="Train again").click()
        await expect(page.get_by_role("heading", name="CartPole", exact=True)).to_be_visible()
        await expect(page.locator('[data-path="until_return"]')).to_have_attribute("data-changed", "you")
        await expect(page.locator(".rows li")).to_contain_text("Finished")
        await page.get_by_role("link", name="Home").click()
        await expect(page.get_by_role("heading", name="Nothing is training")).to_be_visible()
        await expect(page.locator(".rows li")).to_have_count(1)
        await check_widths(page, "home with a run", widths)


@pytest.mark.parametrize(
    ("game", "good"), [("memory", 1.0), pytest.param("pendulum", -400.0, marks=pytest.mark.long)]
)
async def test_a_policy_with_memory_and_one_of_numbers_play_as_they_learned(
    shared_address: str, game: str, good: float, browser: Browser
) -> None:
    async with open_page(browser, shared_address, moves=True) as (page, _):
        await page.evaluate(f"location.hash = '#/games/{game}'")
        best = page.get_by_test_id("hud-best")
        await expect(best).not_to_have_text("–", timeout=90_000)
        assert float(await best.inner_text()) >= good


async def test_what_is_loading_has_a_role_and_a_name(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        held = asyncio.Event()

        async def hold(route: Route) -> None:
            await held.wait()
            await route.continue_()

        await page.route("**/api/games", hold)
        await page.reload()
        await expect(page.get_by_role("img", name="Loading games")).to_be_visible()
        await check_accessible(page, "home that is loading")
        held.set()
        await expect(page.get_by_role("radio", name="Snake")).to_be_visible()


async def test_a_game_that_is_not_there_is_said(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        await page.evaluate("location.hash = '#/games/none/such'")
        await expect(page.get_by_role("heading", name="No such game")).to_be_visible()
        await check_accessible(page, "an unknown game")


# `make test` starts a run from the first click to the last in test_dashboard.py, and uses the table by
# keys in test_runs_table.py.
@pytest.mark.long
async def test_a_run_is_started_opened_and_stopped_by_keyboard(address: str, browser: Browser) -> None:
    async with open_page(browser, address, moves=True) as (page, _):
        await expect(page.get_by_role("form", name="Train CartPole")).to_be_visible()
        # One stop for all games; the arrows choose, and what the chosen one offers comes next.
        await tab_to(page, "CartPole")
        await page.keyboard.press("ArrowRight")
        assert await page.evaluate(FOCUSED) == "Foragers"
        await expect(page.get_by_role("form", name="Train Foragers")).to_be_visible()
        await page.keyboard.press("ArrowLeft")
        await expect(page.get_by_role("radio", name="CartPole")).to_be_checked()
        await page.keyboard.press("Tab")
        assert await page.evaluate(FOCUSED) == "Watch the trained agent"
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Stop", exact=True)).to_be_focused()
        assert await tab_to(page, "Start training") < MAX_TABS
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile(r"#/runs/"))
        pill = page.locator("[data-testid=run-head] [data-testid=state]")
        await expect(pill).to_have_text("Training")

        # Home shows it, and its link opens it again.
        await page.keyboard.press("g")
        await page.keyboard.press("h")
        await expect(page.get_by_role("heading", name="CartPole is training")).to_be_visible()
        await expect(page.get_by_test_id("now").locator("polyline[points]:not([points=''])")).to_be_attached()
        await tab_to(page, "Open the run")
        await page.keyboard.press("Enter")
        await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        assert await page.evaluate(LIVE_REGIONS) == ["announcer"]

        await tab_to(page, "Stop")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog")).to_be_visible()
        for _ in range(4):
            if await page.evaluate(FOCUSED) == "Stop training":
                break
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(pill).to_have_text("Stopped")
        assert await heard(page) == "CartPole: Stopped"


# `make test` has a run that trains on Home above, and one that is paused in test_run_page.py.
@pytest.mark.long
async def test_home_shows_a_run_that_is_paused(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await page.get_by_role("radio", name="Snake").click()
        form = page.get_by_role("form", name="Train Snake")
        await form.get_by_label("Stop after steps", exact=True).fill("500000000")
        await form.get_by_role("button", name="Start training").click()
        await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        await page.get_by_role("button", name="Pause training").click()
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Paused")
        assert await heard(page) == "Snake: Paused"
        await page.get_by_role("link", name="Home").click()
        await expect(page.get_by_role("heading", name="Snake is paused")).to_be_visible()
        now = page.get_by_test_id("now")
        await expect(now.locator("canvas")).to_be_visible()
        bar = now.get_by_role("progressbar", name="Progress to the last step")
        await expect(bar).to_be_attached()
        # It moves with every update: a transition would lay the page out again in each of its frames.
        await expect(bar).to_have_css("transition-duration", "0s")
        await check_widths(page, "home with a run that goes on", (320, 640, 1920))
        await photograph_all(page, PICTURES, "home-now")


@WIDTHS
async def test_keys_are_listed_go_places_and_can_be_turned_off(
    shared_address: str, widths: tuple[int, ...], browser: Browser
) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await expect(page.get_by_role("form", name="Train CartPole")).to_be_visible()
        await page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        await expect(dialog).to_be_visible()
        await check_widths(page, "the list of keys", widths)
        # Within it no key leads away.
        await page.keyboard.press("g")
        await page.keyboard.press("r")
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()

        await page.keyboard.press("g")
        await page.keyboard.press("r")
        await page.wait_for_url(re.compile(r"#/runs$"))
        await expect(page.locator("#content")).to_be_focused()
        await page.keyboard.press("g")
        await page.keyboard.press("h")
        # In a field they are letters.
        rate = page.get_by_role("textbox", name="Stop at return")
        await rate.fill("")
        await rate.press_sequentially("gr?")
        await expect(rate).to_have_value("gr?")
        await expect(dialog).to_be_hidden()

        await page.get_by_role("button", name="Keys", exact=True).click()
        await dialog.get_by_role("switch", name="Use these keys").uncheck()
        await dialog.get_by_role("button", name="Close").click()
        await page.reload()
        await expect(page.get_by_role("form", name="Train CartPole")).to_be_visible()
        await page.keyboard.press("?")
        await page.keyboard.press("g")
        await page.keyboard.press("r")
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()


async def test_what_explains_is_a_description(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        about = page.get_by_role("button", name="About Workers", exact=True)
        await expect(about).to_have_accessible_description(re.compile("^Threads"))
        card = page.get_by_role("radio", name="Snake", exact=True)
        await expect(card).to_have_accessible_description(re.compile("^Eat apples.*Learned in"))


# `make test` starts a run from the form in test_dashboard.py.
@pytest.mark.long
async def test_a_tap_on_a_phone_brings_the_form_into_sight(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address, device="phone") as (page, _):
        await page.emulate_media(reduced_motion="reduce")
        await page.get_by_role("radio", name="Snake").tap()
        await expect(page.get_by_role("form", name="Train Snake")).to_be_in_viewport()
        await page.evaluate("location.hash = '#/games/snake'")
        await page.get_by_role("button", name="New run").tap()
        await wait_until(page, IN_WINDOW, START_BUTTON)
        await expect(page.get_by_role("button", name="Start training")).to_be_enabled()
