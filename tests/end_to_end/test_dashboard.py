"""The dashboard with the real server, in a real browser: start, watch, play, join, pause, stop, pictures."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from attract.commands.imitate import ImitateOptions
from attract.commands.imitating import imitate_game
from attract.runs.episodes import read_episode
from attract.server.links import lan_address
from attract.settings.run import RunSettings, ServerSettings
from dashboard_page import (
    RETURN_CHART,
    PrefixProxy,
    check_accessible,
    open_page,
    open_part,
    photograph,
    photograph_all,
    poor_contrasts,
    read_number,
    serve,
    start_training,
    stop_run,
    wait_for_more,
    wait_until,
)

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
HERE = "[data-testid=fleet] tbody tr:is([data-state=playing], [data-state=waiting])"
ADDRESS = "(link) => link.href"
DRAWN = """(index) => {
  const canvas = document.querySelectorAll('.game-card canvas')[index];
  const blank = document.createElement('canvas');
  blank.width = canvas.width;
  blank.height = canvas.height;
  return canvas.width > 100 && canvas.toDataURL() !== blank.toDataURL();
}"""
BROKEN_GAME = """
import { box, defineGame, discrete } from "attract";
class Glass {
  start() { this.ticks = 0; return { observation: [0] }; }
  update(deltaTime, action) {
    this.ticks += 1;
    if (this.ticks === 100) console.log("a hundred ticks", { crack: this.ticks / 600 });
    if (this.ticks > 600) throw new TypeError("the glass broke");
    return { observation: [this.ticks / 1000], reward: 1, terminated: false };
  }
  draw(context, width, height) {
    context.fillStyle = "#a8dadc";
    context.fillRect(0, 0, width, height);
  }
}
export default defineGame({
  id: "Glass-v1", tickSeconds: 0.02, observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(2), create: () => new Glass(),
});
"""


@pytest.fixture(scope="module")
def pictures() -> Path:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES


@pytest.fixture(scope="module")
def project_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "glass.js").write_text(BROKEN_GAME)
    return folder


@pytest.fixture
def address(tmp_path: Path, project_dir: Path) -> Iterator[str]:
    with serve(tmp_path / "runs", "--lan", "--project-dir", str(project_dir)) as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def prefixed_address(address: str) -> AsyncIterator[str]:
    """The same server behind a proxy that strips a prefix, as a notebook server has it."""
    parts = urlsplit(address)
    proxy = PrefixProxy(int(parts.port or 0), "user/me/proxy/8000")
    port = await proxy.start()
    yield f"http://127.0.0.1:{port}/user/me/proxy/8000/#{parts.fragment}"
    await proxy.cut()


@pytest.fixture(scope="module")
def shared_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """For the tests that start no run."""
    with serve(tmp_path_factory.mktemp("shared") / "runs") as url:
        yield url


def state_pill(page: Page):
    return page.locator("[data-testid=run-head] [data-testid=state]")


async def picture_of(page: Page, test_id: str) -> str:
    return await page.locator(f'[data-testid="{test_id}"] canvas').evaluate("(canvas) => canvas.toDataURL()")


async def test_a_run_from_the_first_click_to_the_last_behind_a_proxy(
    prefixed_address: str, pictures: Path, browser: Browser
) -> None:
    async with open_page(browser, prefixed_address, moves=True) as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        assert "token" not in page.url
        await start_training(page, "CartPole")
        await expect(state_pill(page)).to_have_text("Training")

        points = await wait_for_more(page, RETURN_CHART, "data-points", 5)
        assert await wait_for_more(page, RETURN_CHART, "data-points", points + 3) > points
        await expect(page.locator(f"{RETURN_CHART} .chart")).to_have_attribute(
            "aria-label", re.compile(r"; random play 2\d")
        )
        await open_part(page, "Workers")
        await expect(page.locator(HERE)).to_have_count(1)
        await open_part(page, "Overview")

        # The policy plays: it has a version, the picture moves, and newer versions take over.
        version = await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        first = await picture_of(page, "watch")
        await wait_until(
            page,
            "(first) => document.querySelector('[data-testid=watch] canvas').toDataURL() !== first",
            first,
        )
        # The newest takes over with the next episode.
        await page.get_by_label("Speed of the game").select_option("8")
        assert await wait_for_more(page, '[data-testid="watch"]', "data-version", version + 1) > version

        # A reload loses nothing that was drawn; the tab itself has left and comes back with two workers.
        points = await read_number(page, RETURN_CHART, "data-points")
        await page.reload()
        assert await wait_for_more(page, RETURN_CHART, "data-points", points) >= points
        # Nobody plays now, which the page says, with a button against it.
        await expect(state_pill(page)).to_have_text("Waiting for workers")
        await expect(page.get_by_test_id("steps-per-second")).to_have_text("0")
        await check_accessible(page, "waiting for workers")
        await page.get_by_test_id("waiting").get_by_role("button").click()
        await expect(state_pill(page)).to_have_text("Training")
        await open_part(page, "Workers")
        await page.get_by_label("Number of workers").fill("2")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.locator(HERE)).to_have_count(2)
        # A training takes both cores: it stands still while the page is looked at.
        await page.get_by_role("button", name="Pause training").click()
        await expect(state_pill(page)).to_have_text("Paused")
        await check_accessible(page, "workers of a run")
        await photograph_all(page, pictures, "workers")
        await open_part(page, "Overview")
        await photograph_all(page, pictures, "run")
        await page.get_by_role("button", name="Resume training").click()
        await expect(state_pill(page)).to_have_text("Training")
        points = await read_number(page, RETURN_CHART, "data-points")
        await wait_for_more(page, RETURN_CHART, "data-points", points + 1)
        await check_accessible(page, "a run")

        await stop_run(page)
        await expect(state_pill(page)).to_have_text("Stopped")
        link = await page.get_by_role("link", name="Get policy", exact=True).evaluate(ADDRESS)
        answer = await page.request.get(link)
        assert answer.ok
        assert len(await answer.body()) > 1000
        ship = page.get_by_test_id("ship")
        await expect(ship).to_contain_text('await loadAgent("./policy/")')
        for name, begins in (("agent.js", b"var "), ("policy.onnx", b"\x08"), ("policy.json", b"{")):
            link = await ship.get_by_role("link", name=name, exact=True).evaluate(ADDRESS)
            answer = await page.request.get(link)
            assert answer.ok and (await answer.body()).startswith(begins), name
        await check_accessible(page, "a run that is over")
        await ship.scroll_into_view_if_needed()
        await photograph(page, pictures / "ship.png", full_page=False)

        await page.get_by_role("link", name="Runs").click()
        await expect(page.locator("tr[data-id]")).to_have_count(1)
        await check_accessible(page, "runs")
        await photograph_all(page, pictures, "runs")
        await page.locator(".run-name").click()
        assert await wait_for_more(page, RETURN_CHART, "data-points", points) >= points
        # A past run's policy is there to be watched.
        assert await wait_for_more(page, '[data-testid="watch"]', "data-version", 1) >= 1


@pytest.mark.long
async def test_another_device_joins_by_the_link_over_the_network(
    address: str, pictures: Path, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await page.get_by_role("radio", name=re.compile("^CartPole")).click()
        form = page.get_by_role("form", name="Train CartPole")
        await form.get_by_role("switch", name="Run the workers in this tab").uncheck()
        await start_training(page, "CartPole")
        await expect(state_pill(page)).to_have_text("Starting")
        await open_part(page, "Workers")
        await page.get_by_role("button", name="Invite another device").click()
        await expect(page.get_by_role("img", name="QR code of the join link")).to_be_visible()
        link = await page.get_by_test_id("join-url").inner_text()
        assert urlsplit(link).hostname == lan_address() != "127.0.0.1"

        async with open_page(browser, f"{link}&workers=1", device="phone", scheme="dark") as (guest, _):
            await expect(guest.locator("#state")).to_have_text(re.compile("^Playing for cartpole"))
            assert "token" not in guest.url
            assert await guest.evaluate("isSecureContext") is False
            await expect(guest.locator("#speed")).not_to_have_text("0")
            await expect(state_pill(page)).to_have_text("Training")
            await expect(page.locator("[data-testid=fleet] tbody tr")).to_contain_text("invited")
            await open_part(page, "Overview")
            await wait_for_more(page, RETURN_CHART, "data-points", 2)
            await photograph(guest, pictures / "join-phone-dark.png")
            # The link opens no dashboard: a worker may play, nothing else.
            answer = await guest.request.get(link.split("join.html")[0] + "api/runs")
            assert answer.status in (401, 403)

            # A reload by mistake comes back by itself; leaving is for good.
            await guest.reload()
            await expect(guest.locator("#state")).to_have_text(re.compile("^Playing for cartpole"))
            await check_accessible(guest, "the join page")
            await guest.get_by_role("button", name="Leave").click()
            await expect(guest.locator("#state")).to_have_text(re.compile("^Left"))
            # Workers that end a moment later change nothing of that, and a reload does not come back.
            assert await guest.evaluate("window.attractHost.left")
            await expect(guest.locator("#error")).to_be_hidden()
            await guest.reload()
            await expect(guest.locator("#state")).to_have_text("No token")
        await open_part(page, "Workers")
        await expect(page.locator("[data-testid=fleet] tbody tr")).to_have_count(1)
        await expect(page.locator(HERE)).to_have_count(0)


@pytest.mark.long
async def test_a_game_that_breaks_is_reported_readably(
    address: str, pictures: Path, browser: Browser
) -> None:
    async with open_page(browser, address, scheme="dark") as (page, complaints):
        complaints.expected.append("the glass broke")
        await start_training(page, "Glass")
        # The check before the training found it too, and workers report it again and again: one card.
        report = page.get_by_test_id("fault")
        await expect(report).to_have_count(1)
        await expect(report).to_contain_text("The game threw an error")
        await expect(page.get_by_test_id("fault-place")).to_have_text(
            re.compile(r"^\d+ times.*, glass\.js:8:\d+$")
        )
        await expect(report.get_by_role("alert")).to_have_count(1)
        await expect(report.get_by_role("button", name="Copy for an issue")).to_be_visible()
        await expect(report).to_contain_text("the glass broke")
        await expect(report).to_contain_text("TypeError")
        await expect(report).to_contain_text("glass.js:8")
        await expect(report).to_contain_text(re.compile(r"seed [0-9a-f]{16}"))
        await check_accessible(page, "a report")
        await photograph(page, pictures / "report-desktop-dark.png", full_page=False)
        strip = page.get_by_test_id("fault-strip")
        await expect(strip).to_have_text(re.compile(r"^The game threw an error\d+ times"))
        await open_part(page, "Log")
        console = page.get_by_role("region", name="Log").get_by_role("list")
        await expect(console).to_contain_text('a hundred ticks {"crack":0.16666666666666666}')


@pytest.mark.long
async def test_pictures_of_the_start_page(address: str, pictures: Path, browser: Browser) -> None:
    for device in ("desktop", "phone"):
        for scheme in ("light", "dark"):
            async with open_page(browser, address, device=device, scheme=scheme, moves=True) as (page, _):
                await expect(page.locator(".game-card")).to_have_count(15)
                # A picture that is out of sight is not drawn.
                # Among games in a page only a chosen one moves.
                await expect(page.locator(".game-card:not(:has(canvas))")).to_have_count(6)
                moving = page.locator(".game-card:has(canvas)")
                await expect(moving).to_have_count(9)
                for index in range(9):
                    await moving.nth(index).scroll_into_view_if_needed()
                    await wait_until(page, DRAWN, index)
                await page.evaluate("scrollTo(0, 0)")
                await check_accessible(page, f"start, {device}, {scheme}")
                await photograph(page, pictures / f"start-{device}-{scheme}.png")


async def test_without_the_token_the_page_says_where_to_get_it(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address.split("#")[0]) as (page, complaints):
        complaints.expected.append("401")
        await expect(page.get_by_role("heading", name="Open the printed address")).to_be_visible()
        await check_accessible(page, "signed out")


async def test_a_run_that_is_not_there_is_said_without_the_servers_folders(
    shared_address: str, browser: Browser
) -> None:
    async with open_page(browser, shared_address) as (page, complaints):
        complaints.expected.append("404")
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        await page.evaluate("location.hash = '#/runs/nothing-here'")
        await expect(page.get_by_role("heading", name="No such run")).to_be_visible()
        await check_accessible(page, "an unknown run")
        # The dots behind it do not hide a text that nobody can read.
        link = page.get_by_role("link", name="See all runs")
        await link.evaluate("(link) => { link.style.color = '#ffc53d'; }")
        (poor,) = await poor_contrasts(page)
        assert poor.startswith("1.4") and "See all runs" in poor
        await page.get_by_role("link", name="See all runs").click()
        await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()


# `make test` plays in test_run_page.py; demonstrations are kept in backend/server/routes.
@pytest.mark.long
@pytest.mark.parametrize(
    ("title", "name", "key", "episodes"),
    [
        # Held to the left the snake meets the wall.
        ("Snake", "snake", "ArrowUp", 2),
        # In a page; its second car stands in the way of who stays.
        ("Lanes", "lanes", "ArrowLeft", 2),
        # Its actions are numbers, and it goes on for ten seconds.
        pytest.param("Pendulum", "pendulum", "ArrowLeft", 1, marks=pytest.mark.soak),
    ],
)
async def test_what_is_played_is_recorded_listed_and_deleted(
    address: str,
    pictures: Path,
    tmp_path: Path,
    title: str,
    name: str,
    key: str,
    episodes: int,
    browser: Browser,
) -> None:
    async with open_page(browser, address) as (page, own):
        own.expected.append("THREE.Clock")
        await start_training(page, title)
        await page.get_by_role("button", name="Play yourself").click()
        stage = page.get_by_test_id("play")
        await expect(stage).to_have_attribute("data-phase", "ready")
        record = page.get_by_role("button", name="Record", exact=True)
        await record.click()
        await expect(record).to_have_attribute("aria-pressed", "true")
        kept = page.get_by_role("region", name="Recorded episodes").get_by_role("listitem")
        for number in range(1, episodes + 1):
            await stage.focus()
            # One key for each episode: on a slow machine a second one might begin the next.
            await page.keyboard.press(key)
            await expect(stage).to_have_attribute("data-phase", re.compile("playing|over"))
            await photograph(page, pictures / f"recording-{name}-desktop-light.png")
            await expect(stage).to_have_attribute("data-phase", "over")
            await expect(kept).to_have_count(number)
        await expect(kept.first).to_contain_text("Score ")
        # The run keeps them as well, each with a star and a page that plays it again.
        await open_part(page, "Play")
        by_hand = page.get_by_test_id("recorded-episodes").get_by_role("link", name="★ Played by hand")
        await expect(by_hand).to_have_count(episodes)
        await check_accessible(page, "recorded episodes")
        await photograph_all(page, pictures, f"recorded-{name}")

        # The real game, in another process, plays them again to the same return.
        folder = tmp_path / "demonstrations"
        server = ServerSettings(runs_dir=tmp_path / "runs")
        options = ImitateOptions(run_id="imitated", epochs=1, json_output=True)
        assert await imitate_game(name, RunSettings(), options, server) == 0
        for path in folder.glob("*/*.json"):
            assert read_episode(path).end_reason != "stopped"

        await record.click()
        await expect(record).to_have_attribute("aria-pressed", "false")
        await page.get_by_role("button", name=re.compile("^Delete Score")).first.click()
        await page.get_by_role("button", name=re.compile("^Really delete Score")).click()
        await expect(kept).to_have_count(episodes - 1)
        # What is left is there when the page comes back, and nothing is recorded unasked.
        await page.reload()
        await expect(kept).to_have_count(episodes - 1)
        await expect(record).to_have_attribute("aria-pressed", "false")
        assert len(list(folder.glob("*/*.json"))) == episodes - 1
        # A demonstration that is deleted stays with the run.
        await by_hand.first.click()
        await expect(page.get_by_test_id("episode")).to_have_attribute("data-differs", "false")
