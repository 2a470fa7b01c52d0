"""A game that lives in a page, in the dashboard: trained in the tab, watched, and played by hand."""

import re
from pathlib import Path

from playwright.async_api import expect

from dashboard_page import chromium, open_page, photograph, serve, wait_for_more, wait_until

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
CANVAS = '[data-testid="{}"] canvas'


async def test_it_is_trained_in_the_tab_watched_and_played(tmp_path: Path) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs") as address:
        async with chromium() as browser, open_page(browser, address) as (page, _):
            await page.get_by_role("button", name=re.compile("^Meteors")).click()
            form = page.get_by_role("form", name="Train Meteors")
            await form.get_by_label("Workers", exact=True).fill("1")
            await form.get_by_role("button", name="Start training").click()
            await page.wait_for_url(re.compile(r"#/runs/"))
            version = await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
            await wait_for_more(page, '[data-testid="watch"]', "data-version", version + 1)
            # The sky of the page, dark blue, in the middle of what the dashboard shows.
            blue = """() => {
              const canvas = document.querySelector('[data-testid="watch"] canvas');
              const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
              copy.drawImage(canvas, 0, 0);
              const { data } = copy.getImageData(canvas.width / 2, canvas.height / 8, 1, 1);
              return data[0] === 11 && data[1] === 16 && data[2] === 32;
            }"""
            await wait_until(page, blue)
            shown = CANVAS.format("watch")
            first = await page.locator(shown).evaluate("(canvas) => canvas.toDataURL()")
            await wait_until(
                page, f"(first) => document.querySelector('{shown}').toDataURL() !== first", first
            )
            await photograph(page, PICTURES / "page-game.png")
            await page.get_by_role("button", name="Play yourself").click()
            await expect(page.get_by_test_id("play")).to_have_attribute("data-phase", "ready")
