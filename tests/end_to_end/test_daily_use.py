"""What one says of a run, and how one looks at it, in a real browser: it is there one click later."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from dashboard_page import open_page, serve
from known_runs import run_on_disk

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    for day in range(1, 6):
        returns = [float(day * update) for update in range(20)]
        created = f"2026-11-2{day}T10:00:00+00:00"
        run_on_disk(folder, f"run-{day}", returns, settings={"seed": day}, created=created)
    with serve(folder) as url:
        yield url


async def go(page: Page, fragment: str) -> None:
    await expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    await page.evaluate("(hash) => { location.hash = hash; }", fragment)


async def test_n5_a_run_is_named_tagged_noted_and_put_away_on_its_own_page(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await go(page, "#/runs/run-1")
        for field, text in (("name", "hero"), ("tags", "good"), ("note", "wider net")):
            await page.get_by_role("button", name=f"Edit {field} of run-1").click()
            await page.get_by_role("textbox", name=f"{field} of run-1").fill(text)
            await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Star hero").click()
        await expect(page.get_by_role("heading", name="hero", level=1)).to_be_visible()
        await expect(page).to_have_title(re.compile("hero$"))
        await go(page, "#/")
        row = page.locator(".rows li", has_text="hero")
        await expect(row).to_contain_text("good")
        await expect(row).to_contain_text("★")
        await row.get_by_role("link").click()
        await expect(page.locator("[data-testid=run-head]")).to_contain_text("wider net")
        await page.get_by_role("button", name="Delete", exact=True).click()
        await page.locator("tr[data-id]", has_text="hero").get_by_role("button", name="Restore").click()
        await expect(page.locator("[data-testid=strip]")).to_contain_text("Restored hero")


async def test_n6_n12_how_one_looks_is_kept_from_run_to_run(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await go(page, "#/runs/run-1/charts")
        await page.get_by_role("slider", name="Smoothing").first.fill("0.8")
        await expect(page).to_have_url(re.compile("smooth=0.8"))
        await go(page, "#/runs")
        await page.get_by_role("combobox", name="Group by").select_option("state")
        await page.get_by_role("button", name="finished").click()
        await page.get_by_role("checkbox", name="Tick run-5").check()
        await page.get_by_role("checkbox", name="Tick run-3").click(modifiers=["Shift"])
        await expect(page.get_by_role("region", name="Ticked runs")).to_contain_text("3 runs ticked")
        await page.get_by_role("checkbox", name="Tick all runs").check()
        await expect(page.get_by_role("region", name="Ticked runs")).to_contain_text("5 runs ticked")
        await page.locator('tr[data-id="run-2"] a.run-name').click()
        await expect(page).to_have_url(re.compile("run-2.*smooth=0.8"))
        await page.get_by_role("link", name="Runs", exact=True).click()
        await expect(page).to_have_url(re.compile("group=state&smooth=0.8$"))


async def test_n7_the_chart_on_the_overview_is_enlarged_and_pinned_there(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await go(page, "#/runs/run-1")
        await page.get_by_role("button", name="Enlarge Return").click()
        window = page.get_by_role("dialog", name="Chart")
        await window.get_by_role("slider", name="Smoothing").fill("0.6")
        for name in ("Log axis", "Table"):
            await window.get_by_role("checkbox", name=name).check()
        for name in ("Save CSV", "Save PNG"):
            await expect(window.get_by_role("button", name=name)).to_be_visible()
        await window.get_by_role("button", name="Close Return").click()
        await expect(window).to_have_count(0)
        await page.get_by_role("button", name="Pin Return").click()
        await expect(page).to_have_url(re.compile("pin="))
        await page.get_by_role("link", name="Charts").click()
        await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()


async def test_n19_a_query_that_is_half_typed_keeps_the_rows_and_raises_no_alarm(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, complaints):
        complaints.expected.append("400")
        await go(page, "#/runs")
        rows = page.locator("tr[data-id]")
        await expect(rows).to_have_count(5)
        search = page.get_by_role("combobox", name="Search runs")
        for text in ("ret", "retrun>", "retrun>15"):
            async with page.expect_response(re.compile("api/runs\\?q=ret")):
                await search.fill(text)
            await expect(rows).to_have_count(5)
        await expect(page.get_by_role("alert")).to_have_count(0)
        await page.get_by_role("button", name="return>15", exact=True).click()
        await expect(page.get_by_text("No run is found by")).to_be_visible()
        await expect(search).to_have_value("return>15")


async def test_n21_two_fingers_zoom_a_chart_and_one_moves_it(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await go(page, "#/runs/run-1")
        over = page.locator(".u-over").first
        box = await over.bounding_box()
        assert box is not None
        touch = await page.context.new_cdp_session(page)

        async def drag(*fingers: tuple[float, float]) -> None:
            """Each from one share of the chart's width to another."""
            for kind, share in (
                ("touchStart", 0.0),
                ("touchMove", 0.5),
                ("touchMove", 1.0),
                ("touchEnd", 0.0),
            ):
                at = [box["x"] + box["width"] * (begin + (end - begin) * share) for begin, end in fingers]
                points = [{"x": x, "y": box["y"] + 50, "id": place} for place, x in enumerate(at)]
                event = {"type": kind, "touchPoints": [] if kind == "touchEnd" else points}
                await touch.send("Input.dispatchTouchEvent", event)

        # There are 1,900 steps: 0.4 to 0.6 of them come to lie at 0.2 and 0.8, so a third is seen.
        await drag((0.4, 0.2), (0.6, 0.8))
        await expect(page).to_have_url(re.compile(r"from=6\d\d.*&to=12\d\d"))
        await drag((0.7, 0.4))
        await expect(page).to_have_url(re.compile(r"from=8\d\d.*&to=14\d\d"))
