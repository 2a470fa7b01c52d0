"""Games that live in a page, in the dashboard: trained in the tab, watched and played, as they look."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from dashboard_page import (
    VIEWPORTS,
    check_accessible,
    open_page,
    photograph,
    serve,
    start_training,
    stop_run,
    wait_for_more,
)

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
WATCH = '[data-testid="watch"]'
PLAY = '[data-testid="play"]'
BEZEL = (11, 13, 20)
"""Colour of the dashboard's screen where no page is."""
SKY = (11, 16, 32)
SAND = (239, 230, 210)
HOLE = (107, 74, 43)
MOLE = (43, 33, 24)
COLOURS = """async ([png, places]) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return places.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3));
}"""
"""Colours of a picture of the page at some places."""
SHORT_GAME = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Flash-v1", page: "flash.html", size: [300, 200], observation: box({ shape: [1] }),
  action: discrete(["wait"]), keys: { wait: [] },
  observe: (w) => [w.look()], score: (w) => w.look(), over: (w) => w.look() > 3,
});
"""
"""Without a restart: each of its episodes has a page of its own, and is over before the next is there."""
SHORT_PAGE = """<!doctype html><h1>0</h1><script>
let ticks = 0;
function frame() { document.querySelector("h1").textContent = ++ticks; requestAnimationFrame(frame); }
requestAnimationFrame(frame);
window.look = () => ticks;
</script>"""
AIMED_GAME = """
import { box, definePageGame, discrete, mixed } from "attract/page";
export default definePageGame({
  id: "Aimed-v1", page: "aimed.html", size: [400, 200], observation: box({ shape: [1] }), maxSeconds: 600,
  action: mixed({ aim: box({ shape: [2], low: 0, high: [400, 200] }),
    button: discrete(["hold", "fire", "mine"]), legs: discrete(["stand", "run"]) }),
  pointers: { aim: "move", fire: "press", mine: "right" }, keys: { run: ["KeyR"] }, taps: true,
  observe: () => [0], score: (w) => w.hits, over: () => false, reset: "reload",
});
"""
AIMED_PAGE = """<!doctype html><pre id=at></pre><script>
window.hits = 0;
const held = new Set();
addEventListener("keydown", ({ code }) => held.add(code));
addEventListener("keyup", ({ code }) => held.delete(code));
addEventListener("pointermove", ({ clientX, clientY }) => { at.textContent = `${clientX} ${clientY}`; });
addEventListener("pointerdown", ({ button, clientX, clientY }) => {
  if (Math.hypot(clientX - 300, clientY - 50) < 9) hits++;
  at.textContent = `${button} ${Math.round(clientX)} ${Math.round(clientY)} ${[...held]}`;
});
requestAnimationFrame(function frame() { requestAnimationFrame(frame); });
</script>"""
SHOWN = 'iframe[style*="scale"]'
"""The page that plays, in its thread's document; others are kept ready beside it, unseen."""
BOX = """(element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x, y, width, height];
}"""
BOXES = f"""(screen) => [screen, screen.querySelector("iframe")].map({BOX})"""
MIDDLES = """(elements) => elements.map((element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
})"""
Place = tuple[float, float]


@dataclass(frozen=True)
class Shown:
    """Where the page that plays lies within the dashboard's screen, in CSS pixels."""

    left: float
    top: float
    scale: float

    def at(self, x: float, y: float) -> Place:
        """A place of the page's window."""
        return self.left + self.scale * x, self.top + self.scale * y


def thread_of(page: Page, screen: str) -> FrameLocator:
    return page.frame_locator(f"{screen} iframe")


async def shown_in(page: Page, screen: str, size: tuple[int, int]) -> Shown:
    """Waits until the page that plays lies in the middle of the screen, as large as fits."""
    within = thread_of(page, screen).locator(SHOWN)
    for _ in range(100):
        # Both at once: what is above them may grow meanwhile.
        outer, frame = await page.locator(screen).evaluate(BOXES)
        assert frame == outer
        scale = min(outer[2] / size[0], outer[3] / size[1])
        shown = Shown((outer[2] - scale * size[0]) / 2, (outer[3] - scale * size[1]) / 2, scale)
        expected = (*shown.at(0, 0), scale * size[0], scale * size[1])
        found = await within.evaluate(BOX)
        if all(abs(a - b) < 1 for a, b in zip(found, expected, strict=True)):
            return shown
    raise AssertionError(f"the page lies at {found}, expected {expected}")


async def colours_at(page: Page, screen: str, places: list[Place]) -> list[tuple[int, ...]]:
    """Colours of the screen as it is seen, at places within it."""
    png = base64.b64encode(await page.locator(screen).screenshot()).decode()
    return [tuple(colour) for colour in await page.evaluate(COLOURS, [png, places])]


@pytest.mark.long
async def test_a_canvas_is_trained_in_the_tab_watched_and_played(tmp_path: Path, browser: Browser) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await start_training(page, "Meteors")
            version = await wait_for_more(page, WATCH, "data-version", 0)
            await wait_for_more(page, WATCH, "data-version", version + 1)
            shown = await shown_in(page, WATCH, (480, 400))
            assert await colours_at(page, WATCH, [shown.at(240, 50)]) == [SKY]
            first = await page.get_by_test_id("watch").screenshot()
            for _ in range(100):
                if await page.get_by_test_id("watch").screenshot() != first:
                    break
            else:
                raise AssertionError("the picture does not move")
            await photograph(page, PICTURES / "page-game.png")
            await page.get_by_role("button", name="Play yourself").click()
            await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "ready")


@pytest.mark.long
async def test_a_page_of_elements_alone_is_seen_as_it_is_and_played(tmp_path: Path, browser: Browser) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    size = (400, 440)
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.get_by_role("radio", name=re.compile("^Moles")).click()
            card = ".game-card:has(:checked)"
            await expect(page.locator(card)).to_contain_text("own restart")
            await shown_in(page, f"{card} .screen", size)
            await check_accessible(page, "a page game is chosen")
            await photograph(page, PICTURES / "page-game-chosen.png", full_page=False)
            await start_training(page, "Moles")

            await wait_for_more(page, WATCH, "data-version", 0)
            game = thread_of(page, WATCH).frame_locator(SHOWN)
            await expect(game.locator("#left")).not_to_have_text("30")
            middles = await game.locator(".hole").evaluate_all(MIDDLES)
            assert len(middles) == 9
            for device, (width, height) in VIEWPORTS.items():
                await page.set_viewport_size({"width": width, "height": height})
                shown = await shown_in(page, WATCH, size)
                # Nothing beside the page, its own ground, its holes; moles come and go in their middles.
                ground = [shown.at(-4, 220), shown.at(4, 220)]
                rims = [shown.at(x - 38, y) for x, y in middles]
                assert await colours_at(page, WATCH, [*ground, *rims]) == [BEZEL, SAND, *[HOLE] * 9]
                seen: set[tuple[int, ...]] = set()
                for _ in range(100):
                    seen |= set(await colours_at(page, WATCH, [shown.at(x, y) for x, y in middles]))
                    if {HOLE, MOLE} <= seen:
                        break
                assert {HOLE, MOLE} <= seen, f"no mole comes and goes on a {device}: {seen}"
                await photograph(page, PICTURES / f"page-game-elements-{device}.png", full_page=False)

            # The keys that the adapter names for a person go to the page, and the dashboard keeps the focus.
            await page.get_by_role("button", name="Play yourself").click()
            play = page.get_by_test_id("play")
            await expect(play).to_have_attribute("data-phase", "ready")
            score = thread_of(page, '[data-testid="play"]').frame_locator(SHOWN).locator("#score")
            await expect(score).to_have_text("0")
            await play.focus()
            await page.keyboard.down("Digit5")
            await expect(play).to_have_attribute("data-phase", "playing")
            await expect(score).not_to_have_text("0")
            await page.keyboard.up("Digit5")
            assert await page.evaluate("document.activeElement.dataset.testid") == "play"
            await photograph(page, PICTURES / "page-game-played.png", full_page=False)


@pytest.mark.long
async def test_a_person_takes_over_from_the_policy_by_key_and_pointer_and_hands_back(
    tmp_path: Path, browser: Browser
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await start_training(page, "Moles")
            await wait_for_more(page, WATCH, "data-version", 0)
            screen = page.get_by_test_id("watch")
            choices = page.get_by_test_id("decisions").locator("li")
            await expect(choices).to_have_count(10)
            await expect(choices.nth(1)).to_contain_text(re.compile(r"hole 1\s*1\s*\d+ %"))
            assert (
                97 <= sum(map(int, re.findall(r"(\d+) %", " ".join(await choices.all_inner_texts())))) <= 103
            )
            await expect(choices.and_(page.locator('[data-taken="true"]'))).to_have_count(1)
            for device, (width, height) in VIEWPORTS.items():
                await page.set_viewport_size({"width": width, "height": height})
                await photograph(page, PICTURES / f"page-game-decisions-{device}.png", full_page=False)
            await page.set_viewport_size({"width": 1280, "height": 900})

            # A key counts where the game has the focus, and is played from the next step on.
            await page.keyboard.press("Digit5")
            await expect(screen).to_have_attribute("data-controls", "policy")
            await screen.focus()
            await page.keyboard.down("Digit5")
            await expect(screen).to_have_attribute("data-controls", "hand")
            await expect(choices.nth(5)).to_have_attribute("data-taken", "true")
            await expect(choices.nth(5)).not_to_contain_text("%")
            await check_accessible(page, "a person has taken over")
            await photograph(page, PICTURES / "page-game-taken-over.png", full_page=False)
            await page.keyboard.up("Digit5")
            await expect(choices.nth(0)).to_have_attribute("data-taken", "true")
            await page.get_by_role("button", name="Hand back the controls to the policy").click()
            await expect(screen).to_have_attribute("data-controls", "policy")
            await expect(choices.nth(0)).to_contain_text("%")

            # So does a press of the pointer, on the hole that it is nearest to, as long as it lasts.
            shown = await shown_in(page, WATCH, (400, 440))
            corner = await screen.bounding_box()
            assert corner is not None
            x, y = shown.at(300, 228)
            await page.mouse.move(corner["x"] + x, corner["y"] + y)
            await page.mouse.down()
            await expect(screen).to_have_attribute("data-controls", "hand")
            await expect(choices.nth(6)).to_have_attribute("data-taken", "true")
            x, y = shown.at(110, 320)
            await page.mouse.move(corner["x"] + x, corner["y"] + y)
            await expect(choices.nth(7)).to_have_attribute("data-taken", "true")
            await page.mouse.up()
            await expect(choices.nth(0)).to_have_attribute("data-taken", "true")

            # It has no update() that a page could call with an action.
            await stop_run(page)
            ship = page.get_by_test_id("ship")
            await expect(ship).to_contain_text(re.compile(r"attract export moles-\S+ --out site --page"))
            await expect(ship).not_to_contain_text("game.update")
            await check_accessible(page, "a page game that is over")
            await ship.scroll_into_view_if_needed()
            await photograph(page, PICTURES / "page-game-ship.png", full_page=False)


async def test_the_pointer_plays_where_a_page_has_places_for_it(tmp_path: Path, browser: Browser) -> None:
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await start_training(page, "Moles")
            await page.get_by_role("button", name="Play yourself").click()
            play = page.get_by_test_id("play")
            await expect(play).to_have_attribute("data-phase", "ready")
            await page.get_by_role("button", name="Play", exact=True).click()
            await expect(play).to_have_attribute("data-phase", "playing")
            shown = await shown_in(page, PLAY, (400, 440))
            score = thread_of(page, PLAY).frame_locator(SHOWN).locator("#score")
            await expect(score).to_have_text("0")
            corner = await play.bounding_box()
            assert corner is not None
            x, y = shown.at(200, 228)
            await page.mouse.move(corner["x"] + x, corner["y"] + y)
            await page.mouse.down()
            await expect(score).not_to_have_text("0")
            await page.mouse.up()


@pytest.mark.long
async def test_a_mouse_aims_where_its_place_is_part_of_the_action(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "aimed.page.ts").write_text(AIMED_GAME)
    (tmp_path / "aimed.html").write_text(AIMED_PAGE)
    with serve(tmp_path / "runs", "--project-dir", str(tmp_path)) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await start_training(page, "Aimed")
            await page.get_by_role("button", name="Play yourself").click()
            play = page.get_by_test_id("play")
            await expect(play).to_contain_text("Keys: R, and the pointer")
            await page.get_by_role("button", name="Play", exact=True).click()
            shown = await shown_in(page, PLAY, (400, 200))
            at = thread_of(page, PLAY).frame_locator(SHOWN).locator("#at")
            corner = await play.bounding_box()
            assert corner is not None

            async def point(x: float, y: float) -> None:
                left, top = shown.at(x, y)
                await page.mouse.move(corner["x"] + left, corner["y"] + top)

            # It is followed without a press, and each button does what its label does.
            await point(100, 150)
            await expect(at).to_have_text(re.compile(r"^(99|100|101)\S* (149|150|151)\S*$"))
            await page.keyboard.down("KeyR")
            await point(300, 50)
            await page.mouse.down()
            await expect(at).to_have_text(re.compile(r"^0 (299|300|301) (49|50|51) KeyR$"))
            await page.mouse.up()
            await page.keyboard.up("KeyR")
            await point(20, 180)
            await page.mouse.down(button="right")
            await expect(at).to_have_text(re.compile(r"^2 (19|20|21) (179|180|181) $"))
            await page.mouse.up(button="right")


@pytest.mark.long
async def test_a_newcomer_watches_the_trained_agent_on_a_card(tmp_path: Path, browser: Browser) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, said):
            # A warning of a browser without a GPU, of which a screenshot is taken.
            said.expected.append("GPU stall due to ReadPixels")
            place = page.locator(".game-place", has_text="Juggler")
            picture = place.locator("img")
            await picture.scroll_into_view_if_needed()
            await page.wait_for_function(
                "(image) => image.naturalWidth === 400", arg=await picture.element_handle()
            )
            await expect(place).to_contain_text(re.compile(r"PixiJS.*27 points, random play 0.\d+"))
            assert await page.locator(".game-card:not(:has(canvas))").count() == 6
            await photograph(page, PICTURES / "page-game-cards.png")

            await place.get_by_role("button", name="Watch the trained agent").click()
            screen = '.game-place:has-text("Juggler") .screen'
            game = thread_of(page, screen).frame_locator(SHOWN).locator("body")
            for _ in range(90):
                # Chance hits it half a time.
                if await game.evaluate("(body) => body.ownerDocument.defaultView.juggler.game.hits") >= 4:
                    break
                await page.wait_for_timeout(1000)
            else:
                raise AssertionError("the trained agent does not juggle")
            await photograph(page, PICTURES / "page-game-trained.png", full_page=False)
            await place.get_by_role("button", name="Stop").click()
            await expect(place.get_by_role("button", name="Watch the trained agent")).to_be_visible()


# `make test` plays a page by its pointer below.
@pytest.mark.long
async def test_episodes_that_are_over_before_the_next_page_is_there_wait_for_it(
    tmp_path: Path, browser: Browser
) -> None:
    (tmp_path / "flash.page.ts").write_text(SHORT_GAME)
    (tmp_path / "flash.html").write_text(SHORT_PAGE)
    with serve(tmp_path / "runs", "--project-dir", str(tmp_path)) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.get_by_role("radio", name=re.compile("^Flash")).click()
            card = ".game-card:has(:checked)"
            await expect(page.locator(card)).to_contain_text("fresh page")
            shown = thread_of(page, card).locator(SHOWN)
            for _ in range(5):
                await shown.evaluate("(page) => page.setAttribute('data-old', '')")
                await expect(thread_of(page, card).locator(f"{SHOWN}:not([data-old])")).to_be_attached()
            await expect(page.locator(f"{card} [data-testid=over]")).to_have_count(0)
