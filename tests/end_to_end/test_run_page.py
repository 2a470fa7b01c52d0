"""Parts of a run's page in a real browser: what is in sight, settings beside others, a past run's log."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from dashboard_page import (
    RETURN_CHART,
    call,
    check_accessible,
    open_page,
    open_part,
    photograph,
    photograph_all,
    read_number,
    serve,
    start_training,
    stop_run,
    wait_for_more,
    wait_until,
)

expect.set_options(timeout=60_000)

WATCH = '[data-testid="watch"]'
NEWER = "(least) => Number(document.querySelector('[data-testid=version]').textContent) >= least"
PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
MIDDLES = """(elements) => elements.map((element) => {
  const { y, height } = element.getBoundingClientRect();
  return y + height / 2;
})"""
PARTS = {
    "Charts": ("charts", "[data-testid=chart-group] figure"),
    "Play": ("play", "tr[data-version]"),
    "Workers": ("workers", "section:has-text('Devices and workers')"),
    "Settings": ("settings", 'tr[data-setting="seed"]'),
    "Log": ("log", ".log-entries li"),
}
TALKER = """
import { box, defineGame, discrete } from "attract";
class Talker {
  start() { this.ticks = 0; return { observation: [0] }; }
  update() {
    this.ticks += 1;
    if (this.ticks === 50) console.warn("the ball left the field", { x: 3 });
    return { observation: [this.ticks / 100], reward: 1, terminated: this.ticks >= 100 };
  }
}
export default defineGame({
  id: "Talker-v1", tickSeconds: 0.02, observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(2), create: () => new Talker(),
});
"""


@pytest.fixture(scope="module")
def address(trained_cartpole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    project = tmp_path_factory.mktemp("project")
    (project / "talker.js").write_text(TALKER)
    with serve(trained_cartpole, "--project-dir", str(project)) as url:
        yield url


async def open_run(page: Page, rest: str) -> None:
    await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
    await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs/{rest}")
    await expect(page.locator("[data-testid=run-head]")).to_be_visible()


async def check_in_sight(page: Page) -> None:
    """Game and learning curve stand side by side, and none of either is below the fold.

    Raises: AssertionError: with both boxes.
    """
    game = await page.locator(".cabinet").bounding_box()
    curve = await page.locator(RETURN_CHART).bounding_box()
    assert game is not None and curve is not None
    height = await page.evaluate("innerHeight")
    assert await page.evaluate("scrollY") == 0
    assert game["x"] + game["width"] <= curve["x"], (game, curve)
    for box in (game, curve):
        assert box["y"] > 0 and box["y"] + box["height"] <= height, (game, curve)
    assert game["height"] > 400 and curve["height"] > 400, (game, curve)


# `make test` has this page in both themes and at a phone's width in test_accessible_pages.py.
@pytest.mark.long
async def test_game_and_learning_curve_stand_side_by_side_above_the_fold(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await page.set_viewport_size({"width": 1440, "height": 900})
        # Over, with what is shipped first.
        await open_run(page, "p")
        await wait_for_more(page, '[data-testid="watch"]', "data-version", 1)
        await expect(page.get_by_test_id("decisions").locator("li")).to_have_count(2)
        await check_in_sight(page)
        ship = await page.get_by_test_id("ship").bounding_box()
        game = await page.locator(".cabinet").bounding_box()
        assert ship is not None and game is not None and ship["y"] + ship["height"] < game["y"]
        await expect(page.get_by_test_id("progress")).to_have_text(re.compile(r"^Return \d+ of 475$"))
        await photograph(page, PICTURES / "run-over-1440x900.png", full_page=False)
        # Going on.
        await page.get_by_role("link", name="Home").click()
        await start_training(page, "Lander")
        await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        await expect(page.get_by_test_id("decisions").locator("li")).to_have_count(4)
        await check_in_sight(page)
        await photograph(page, PICTURES / "run-live-1440x900.png", full_page=False)
        await page.emulate_media(color_scheme="dark")
        await photograph(page, PICTURES / "run-live-1440x900-dark.png", full_page=False)
        await stop_run(page)


async def test_each_part_has_an_address_and_old_ones_still_work(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await open_run(page, "p?version=0")
        watch = page.get_by_test_id("watch")
        await expect(watch).to_have_attribute("data-version", "0")
        for name, (part, shown) in PARTS.items():
            await open_part(page, name)
            await page.wait_for_url(re.compile(rf"#/runs/p/{part}\?version=0$"))
            await expect(page.locator(shown).first).to_be_visible()
            await photograph_all(page, PICTURES, f"part-{part}")
        await page.go_back()
        await expect(page.locator(PARTS["Settings"][1]).first).to_be_visible()
        # The game plays on from the overview to the versions, and the one that is chosen there is remembered.
        await open_part(page, "Overview")
        await expect(watch).to_have_attribute("data-version", "0")
        await watch.evaluate("(element) => { element.dataset.mark = 'the same'; }")
        await open_part(page, "Play")
        await expect(watch).to_have_attribute("data-mark", "the same")
        number = str(await page.locator("tr[data-version]").nth(2).get_attribute("data-version"))
        await page.get_by_role("button", name=f"Play version {number}", exact=True).click()
        await expect(watch).to_have_attribute("data-version", number)
        await page.wait_for_url(re.compile(rf"#/runs/p/play\?version={number}$"))
        await page.reload()
        await expect(watch).to_have_attribute("data-version", number)


# `make test` has each page at a phone's width in test_accessible_pages.py.
@pytest.mark.long
async def test_on_a_phone_the_parts_scroll_and_the_game_is_one_tap_away(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address, device="phone") as (page, _):
        await open_run(page, "p/settings")
        await page.get_by_text("settings the same").tap()
        await page.mouse.wheel(0, 3000)
        link = page.get_by_role("navigation", name="Parts of the run").get_by_role("link", name="Overview")
        await expect(link).to_be_in_viewport()
        await link.tap()
        await expect(page.get_by_test_id("watch")).to_be_in_viewport()
        await page.get_by_role("link", name="Log", exact=True).tap()
        await expect(page.locator(".log-entries")).to_be_visible()


def values_of(row: Locator) -> Locator:
    return row.locator("td")


async def test_settings_beside_the_game_s_own_and_another_run_s(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await open_run(page, "p/settings")
        changed = page.get_by_test_id("different").locator("tr[data-setting]")
        # As `conftest.py` trains it.
        await expect(values_of(changed.and_(page.locator('[data-setting="seed"]')))).to_have_text(["3", "0"])
        await expect(values_of(changed.and_(page.locator('[data-setting="until_return"]')))).to_have_text(
            ["475", "none"]
        )
        same = page.get_by_test_id("equal")
        await expect(same.locator('tr[data-setting="ppo.gae_lambda"]')).to_be_hidden()
        # What is folded is found by a word, with what the run uses in the place of nothing.
        await page.get_by_role("searchbox", name="Find a setting").fill("games per worker automatic")
        await expect(same.locator('tr[data-setting="collection.instances_per_worker"] td')).to_have_text(
            re.compile(r"^\d+ \(automatic\)$")
        )
        await page.get_by_role("searchbox", name="Find a setting").fill("")

        await page.evaluate("location.hash = '#/?game=cartpole&from=p&set=ppo.learning_rate=0.00123'")
        form = page.get_by_role("form", name="Train CartPole")
        await form.get_by_role("switch", name="Run the workers in this tab").uncheck()
        await form.get_by_role("button", name="Start training").click()
        await page.wait_for_url(re.compile(r"#/runs/"))
        other = page.url.rsplit("/", 1)[1]
        await stop_run(page)
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Stopped")
        await page.goto(f"{address.split('#')[0]}#/runs/p/settings")
        await page.get_by_label("Compare with").select_option(other)
        # The long names of runs leave the buttons their room.
        head = await page.locator("[data-testid=run-settings] > :first-child > *").evaluate_all(MIDDLES)
        assert max(head) - min(head) < 5, head
        rate = changed.and_(page.locator('[data-setting="ppo.learning_rate"]'))
        await expect(values_of(rate).nth(1)).to_have_text("0.00123")
        # The number of workers is that of this machine; nothing else differs.
        names = await changed.evaluate_all("(rows) => rows.map((row) => row.dataset.setting)")
        assert set(names) <= {"ppo.learning_rate", "collection.num_workers"}
        await expect(same.locator('tr[data-setting="seed"]')).to_have_count(1)

        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_label("Compare with").select_option("the game's own settings")
        await page.get_by_role("button", name="Copy changes as YAML").click()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert "seed: 3\n" in copied and "until_return: 475\n" in copied
        assert "instances_per_worker" not in copied


# `make test` has the log's route in backend/server/routes and its text in tests/web/dashboard/state/log-text.
@pytest.mark.long
async def test_the_log_of_a_past_run_with_levels_and_search(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, complaints):
        complaints.expected.append("the ball left the field")
        await start_training(page, "Talker")
        await wait_for_more(page, RETURN_CHART, "data-points", 1)
        await open_part(page, "Log")
        entries = page.locator(".log-entries li")
        said = entries.filter(has_text="the ball left the field")
        await expect(said.first).to_have_attribute("data-level", "warning")
        await stop_run(page)
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Stopped")

        # Long after: nothing of it is in the server's memory.
        await page.reload()
        await expect(said.first).to_be_visible()
        await expect(said.first).to_contain_text('Game the ball left the field {"x":3}')
        assert {"server", "learner", "game"} == set(
            await entries.evaluate_all("(items) => items.map((item) => item.dataset.source)")
        )
        await page.get_by_role("combobox", name="Least level").select_option("warning")
        await expect(page.locator('.log-entries li[data-level="info"]')).to_have_count(0)
        await expect(said.first).to_be_visible()
        await page.get_by_role("combobox", name="Least level").select_option("info")
        await page.get_by_role("searchbox", name="Search the log").fill("run ends")
        await expect(entries).to_have_count(1)
        await expect(entries).to_contain_text("ends: stopped")
        await page.get_by_role("searchbox", name="Search the log").fill("no such words")
        await expect(page.get_by_text("No line passes this filter.")).to_be_visible()
        # A run of another process.
        await page.evaluate("location.hash = '#/runs/p/log'")
        await expect(entries.filter(has_text="run p begins")).to_have_count(1)


ICON = "() => document.querySelector('link[rel=icon]').href"
COUNT_NOTICES = """
globalThis.notices = [];
globalThis.Notification = class extends Notification {
  constructor(title, options) { super(title, options); notices.push(`${title}: ${options.body}`); }
};
"""


# `make test` has title and notification in tests/web/dashboard/state (tab-title, run-news).
@pytest.mark.long
async def test_title_icon_and_a_notification_say_from_afar_how_the_run_is(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await expect(page).to_have_title("Home · Attract")
        own = await page.evaluate(ICON)
        await page.context.grant_permissions(["notifications"])
        await page.context.add_init_script(COUNT_NOTICES)
        await page.reload()
        await start_training(page, "CartPole")
        await expect(page).to_have_title(re.compile(r"^\d[\d.]* · Training · CartPole$"))
        training = await page.evaluate(ICON)
        assert training.startswith("data:image/svg+xml") and training != own
        # Off until somebody asks for it.
        notify = page.get_by_role("button", name="Notify me")
        await expect(notify).to_have_attribute("aria-pressed", "false")
        await notify.click()
        await expect(notify).to_have_attribute("aria-pressed", "true")
        await page.get_by_role("button", name="Pause training").click()
        await expect(page).to_have_title(re.compile("· Paused · CartPole$"))
        assert await page.evaluate("notices") == []
        # It is remembered, and not asked for again.
        await page.reload()
        await expect(notify).to_have_attribute("aria-pressed", "true")
        await stop_run(page)
        await expect(page).to_have_title(re.compile("· Stopped · CartPole$"))
        (notice,) = await page.evaluate("notices")
        assert re.fullmatch(r"CartPole is stopped: Return \d[\d.]*", notice)
        stopped = await page.evaluate(ICON)
        assert stopped not in (own, training)
        await page.evaluate("location.hash = '#/runs/p'")
        await expect(page).to_have_title(re.compile(r"^(4[789]\d|500) · Solved · CartPole$"))
        await page.get_by_role("link", name="Runs", exact=True).click()
        await expect(page).to_have_title("Runs · Attract")
        assert await page.evaluate(ICON) == own


async def test_play_by_keyboard_and_by_touch(address: str, browser: Browser) -> None:
    async with open_page(browser, f"{address}&run=p", scheme="dark") as (page, _):
        await page.get_by_role("button", name="Play yourself").click()
        await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "ready")
        assert "stage=play" in page.url
        await page.keyboard.press("ArrowLeft")
        await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "playing")
        await expect(page.get_by_test_id("hud-step")).not_to_have_text("0")
        await photograph(page, PICTURES / "play-desktop-dark.png", full_page=False)
        # Held to the left the pole falls.
        await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "over")
        await expect(page.get_by_test_id("hud-best")).not_to_have_text("–")
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "playing")
        run_url = page.url
    async with open_page(browser, address, device="phone") as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        await page.goto(run_url)
        up = page.locator(".touch-keys").get_by_role("button", name="←")
        await up.tap()
        await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "playing")
        await expect(page.get_by_test_id("hud-step")).not_to_have_text("0")
        await photograph(page, PICTURES / "play-phone-light.png", full_page=False)


async def plays_an_older_version_until_the_newest_is_chosen(page: Page) -> None:
    """What the page of a live run does with its versions; it is paused at the end."""
    slider = page.get_by_role("slider", name="Version that plays")
    watch = page.locator(WATCH)
    skip = page.get_by_role("button", name="Skip to the newest version and lesson")
    await wait_for_more(page, WATCH, "data-version", 0)
    # The episode of a game that stands still never ends: no other version plays by itself.
    await page.get_by_role("button", name="Pause the game", exact=True).click()
    # Between two episodes it takes the newest first.
    await expect(watch.locator(".ended")).to_have_count(0)
    old = await read_number(page, WATCH, "data-version")
    await wait_until(page, NEWER, old + 2)
    await expect(skip).to_be_enabled()
    await expect(watch).to_have_attribute("data-version", str(old))
    # An episode with the newest begins at once.
    await skip.click()
    await wait_for_more(page, WATCH, "data-version", old + 2)

    await wait_for_more(page, '[data-testid="versions"]', "data-count", 3)
    await slider.press("Home")
    await expect(watch).to_have_attribute("data-version", "0")
    count = await page.get_by_test_id("version").inner_text()
    await expect(page.get_by_test_id("version")).not_to_have_text(count)
    await expect(watch).to_have_attribute("data-version", "0")
    # What follows needs no version more, and a training takes both cores.
    await page.get_by_role("button", name="Pause training").click()
    await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Paused")
    await check_accessible(page, "an older version of a live run")
    await page.get_by_role("button", name="Play the newest", exact=True).click()
    await wait_for_more(page, WATCH, "data-version", int(count))

    # From a version that was chosen `Skip` leads back to the newest, too.
    await slider.press("Home")
    await expect(watch).to_have_attribute("data-version", "0")
    await skip.click()
    await wait_for_more(page, WATCH, "data-version", old + 2)
    await expect(page).not_to_have_url(re.compile("version="))


async def test_a_live_run_plays_each_version_and_a_viewer_has_no_button_that_would_be_refused(
    address: str,
    browser: Browser,
) -> None:
    async with open_page(browser, address, moves=True) as (page, own):
        # A card of Home may play the game that warns.
        own.expected.append("the ball left the field")
        await start_training(page, "CartPole")
        run_id = page.url.rsplit("/", 1)[1]
        await plays_an_older_version_until_the_newest_is_chosen(page)
        await page.get_by_role("button", name="Share").click()
        await page.get_by_role("button", name="Make a link for viewers").click()
        link = await page.get_by_test_id("viewer-url").inner_text()
        await check_accessible(page, "a link for viewers")
        await photograph_all(page, PICTURES, "viewer-link")

        async with open_page(browser, link) as (guest, complaints):
            complaints.expected.append("the ball left the field")
            await guest.wait_for_url(re.compile(rf"#/runs/{run_id}$"))
            await expect(guest.get_by_text("may only look")).to_be_visible()
            await page.get_by_role("button", name="Resume training").click()
            # It is live for the guest too.
            points = await wait_for_more(guest, RETURN_CHART, "data-points", 1)
            await wait_for_more(guest, RETURN_CHART, "data-points", points + 1)
            await wait_for_more(guest, '[data-testid="watch"]', "data-version", 0)
            # What follows needs no game that is played.
            await page.get_by_role("button", name="Pause training").click()
            await expect(guest.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Paused")
            for name in ("Stop", "Pause training", "Resume training", "Share", "Record", "Train again"):
                await expect(guest.get_by_role("button", name=name, exact=True)).to_have_count(0)
            await check_accessible(guest, "a run for a viewer")
            await photograph_all(guest, PICTURES, "viewer")
            for part in PARTS:
                await open_part(guest, part)
                await expect(guest.get_by_role("alert")).to_have_count(0)
            await expect(guest.get_by_text("Workers in this tab")).to_have_count(0)
            await expect(guest.get_by_role("link", name="Access")).to_have_count(0)
            # The server refuses it too.
            status, _ = await call(guest, f"api/runs/{run_id}/stop", {})
            assert status == 403
            complaints.expected.append("403")
            # An admin who opens the link stays one.
            await page.goto(link)
            await expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
            # Revoked, it shuts the guest out.
            await page.get_by_role("link", name="Access").click()
            entry = page.locator(".rows li", has_text=f"for viewers: {run_id}")
            await expect(entry).to_contain_text("may only look")
            await entry.get_by_role("button", name="Revoke").click()
            await expect(entry).to_have_count(0)
            complaints.expected.append("401")
            await guest.reload()
            await expect(guest.get_by_role("heading", name="Open the printed address")).to_be_visible()
        await page.get_by_role("button", name="Make a link for viewers").click()
        await expect(page.get_by_test_id("viewer-url")).to_have_text(re.compile(r"#token=invite\.[^&]*$"))
        await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs/{run_id}")
        await stop_run(page)
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Stopped")
