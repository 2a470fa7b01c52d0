"""The charts of a run in a real browser: zoom, smoothing, axes, cursor, files, pins, search, permalinks."""

import asyncio
import csv
import json
import math
import re
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from attract.runs.metrics import MetricsStore, UpdateRow
from dashboard_page import check_accessible, open_page, photograph, serve, wait_until

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "charts"
UPDATES = 6_000
STEPS = 512
"""Agent steps of an update of the long run."""
KL = "train/approx_kl"
RETURN = "rollout/ep_rew_mean"


def kl(update: int) -> float:
    """A noisy curve with two spikes."""
    return {1234: 0.9, 4321: 0.7}.get(update, 0.01 + 0.009 * math.sin(update * update))


@pytest.fixture(scope="module")
def runs_dir(trained_cartpole: Path) -> Path:
    """Runs with `p`, which was trained, and `long`, its copy with the metrics of 6,000 updates."""
    folder = trained_cartpole / "long"
    shutil.copytree(trained_cartpole / "p", folder, symlinks=True)
    store = MetricsStore(folder / "metrics.db")
    store.rewind(0)
    store.close()
    rows = [
        UpdateRow(
            update=update,
            agent_steps=STEPS * update,
            collected_steps=STEPS * update,
            # The run rested for a quarter of an hour in its middle.
            seconds=update / 10 + (900 if update > UPDATES // 2 else 0),
            policy_version=update,
            checkpoint=f"checkpoints/{update}",
            weights_sha256="0" * 64,
            values={
                RETURN: 500 * update / UPDATES,
                KL: kl(update),
                "train/entropy": math.exp(-update / 2000),
                "train/loss": 10.0 ** (-4 * update / UPDATES),
                "train/entropy/scout": 0.5,
                "train/entropy/keeper": 0.6,
                "reward/food": 3.0,
                "reward/time_left": -1.0,
                "game/score": float(update),
                "rollout/episodes": 2.0,
                **({"eval/mean_reward": 500.0 * update / UPDATES} if update % 1000 == 0 else {}),
            },
        )
        for update in range(1, UPDATES + 1)
    ]
    with sqlite3.connect(folder / "metrics.db") as database:
        columns = ", ".join("?" * 7)
        database.executemany(
            f"INSERT INTO updates VALUES ({columns})", [tuple(vars(row).values())[:7] for row in rows]
        )
        database.executemany(
            "INSERT INTO points VALUES (?, ?, 1, ?, NULL, NULL)",
            [(name, row.update, value) for row in rows for name, value in row.values.items()],
        )
    return trained_cartpole


@pytest.fixture(scope="module")
def address(runs_dir: Path) -> Iterator[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(runs_dir) as url:
        yield url


async def show(page: Page, run_id: str, query: str = "") -> None:
    """The charts of a run, with the first of them drawn."""
    await expect(page.locator("h1")).to_be_visible()
    await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs/{run_id}/charts{query}")
    await expect(page.locator(".chart canvas").first).to_be_visible()


def card(page: Page, metric: str, *, large: bool = False) -> Locator:
    return page.locator(f'figure[data-metric="{metric}"][data-large="{"true" if large else "false"}"]')


async def view_of(page: Page) -> dict[str, str]:
    """The query of the page's address."""
    hash_ = await page.evaluate("location.hash")
    return {name: value for name, (value,) in parse_qs(hash_.partition("?")[2]).items()}


async def wait_for_view(page: Page, part: str) -> dict[str, str]:
    await wait_until(page, "(part) => decodeURIComponent(location.hash).includes(part)", part)
    return await view_of(page)


async def extremes(page: Page) -> tuple[float, float]:
    """Minimum and maximum that the large chart says are in sight."""
    said = page.get_by_test_id("extremes")
    low, high = await said.get_attribute("data-low"), await said.get_attribute("data-high")
    assert low is not None
    assert high is not None
    return float(low), float(high)


async def drag(page: Page, chart: Locator, start: float, end: float, *, shift: bool = False) -> None:
    """Drag along the plot of a chart, from and to a share of its width."""
    box = await chart.locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    if shift:
        await page.keyboard.down("Shift")
    await page.mouse.move(box["x"] + start * box["width"], y)
    await page.mouse.down()
    for share in (0.5, 1.0):
        await page.mouse.move(box["x"] + (start + share * (end - start)) * box["width"], y)
    await page.mouse.up()
    if shift:
        await page.keyboard.up("Shift")


def brute_force(start: float, end: float) -> tuple[float, float]:
    """Extremes of the KL divergence of all updates in the range of steps, in the digits that are served."""
    inside = [kl(update) for update in range(1, UPDATES + 1) if start <= STEPS * update <= end]
    return float(f"{min(inside):.6g}"), float(f"{max(inside):.6g}")


async def test_a_drag_zooms_asks_for_more_points_and_has_every_extreme(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long", f"?chart={KL}")
        chart = card(page, KL, large=True)
        assert await extremes(page) == brute_force(0, math.inf)
        zoomed = chart.locator(".chart")
        # Around the first spike, at a fifth of the run.
        await drag(page, chart, 0.15, 0.25)
        view = await wait_for_view(page, "from=")
        start, end = float(view["from"]), float(view["to"])
        assert 0.1 < start / (STEPS * UPDATES) < 0.2 < end / (STEPS * UPDATES) < 0.3
        await wait_until(
            page,
            "([low, high]) => { const said = document.querySelector('[data-testid=extremes]');"
            " return Number(said.dataset.low) === low && Number(said.dataset.high) === high; }",
            list(brute_force(start, end)),
        )
        # 600 updates: of the whole run some 40 points lay there, until more are there.
        points = 0
        for _ in range(150):
            points = await in_range(page, chart)
            if points > 200:
                break
            await asyncio.sleep(0.2)
        assert points > 200
        await photograph(page, PICTURES / "zoomed.png", full_page=False)
        # Shift and a drag move the range: by a tenth of its width to the right, so its content to the left.
        await drag(page, chart, 0.5, 0.4, shift=True)
        moved = await wait_until_changed(page, view)
        assert float(moved["from"]) == pytest.approx(start + 0.1 * (end - start), rel=0.02)
        assert float(moved["to"]) - float(moved["from"]) == pytest.approx(end - start, rel=1e-6)
        # A double click shows all.
        await zoomed.locator(".u-over").dblclick()
        await wait_until(page, "() => !location.hash.includes('from=')")
        await wait_until(
            page,
            f"() => Number(document.querySelector('[data-testid=extremes]').dataset.high) === {kl(1234)}",
        )


async def in_range(page: Page, chart: Locator) -> int:
    """Rows of the chart's table: the points in the range."""
    await chart.get_by_label("Table", exact=True).check()
    rows = await chart.locator("tbody tr").count()
    await chart.get_by_label("Table", exact=True).uncheck()
    return rows


async def wait_until_changed(page: Page, before: dict[str, str]) -> dict[str, str]:
    await wait_until(page, "(old) => !location.hash.includes('from=' + old)", before["from"])
    return await view_of(page)


# `make test` drags a range below.
@pytest.mark.long
async def test_buttons_keys_and_the_wheel_change_the_range_for_every_chart(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long")
        total = STEPS * UPDATES
        await page.get_by_role("button", name="Zoom in", exact=True).click()
        view = await wait_for_view(page, "from=")
        assert float(view["from"]) == pytest.approx(total / 4, rel=0.01)
        assert float(view["to"]) == pytest.approx(total * 3 / 4, rel=0.01)
        await page.get_by_role("button", name="Later", exact=True).click()
        view = await wait_until_changed(page, view)
        assert float(view["to"]) == pytest.approx(total, rel=0.01)
        await page.get_by_role("button", name="Earlier", exact=True).click()
        await wait_until_changed(page, view)
        await page.get_by_role("button", name="Follow newest").click()
        view = await wait_for_view(page, "last=")
        assert "from" not in view
        await page.get_by_role("button", name="Show all").click()
        await wait_until(page, "() => !location.hash.includes('last=')")
        # From the keyboard alone: + and - about the cursor, 0 shows all.
        chart = card(page, RETURN).locator(".chart")
        await chart.focus()
        await page.keyboard.press("+")
        view = await wait_for_view(page, "from=")
        assert float(view["to"]) - float(view["from"]) == pytest.approx(total / 2, rel=0.01)
        await page.keyboard.press("0")
        await wait_until(page, "() => !location.hash.includes('from=')")
        # Ctrl and the wheel zoom about the pointer; the wheel alone scrolls the page.
        await chart.hover()
        await page.keyboard.down("Control")
        await page.mouse.wheel(0, -100)
        await page.keyboard.up("Control")
        view = await wait_for_view(page, "from=")
        assert float(view["to"]) - float(view["from"]) == pytest.approx(total / 1.25, rel=0.01)


# `make test` has the same in tests/web/dashboard/state (chart-view, series); one drag below.
@pytest.mark.long
async def test_smoothing_log_axis_cut_and_axes_are_drawn_and_kept_in_the_address(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long")
        chart = card(page, KL)
        await chart.scroll_into_view_if_needed()
        await expect(chart.locator("canvas")).to_be_visible()
        seen = [await picture(page, chart)]

        async def changed(what: str) -> None:
            await wait_for_view(page, what)
            await page.wait_for_timeout(300)
            seen.append(await picture(page, chart))
            assert seen[-1] not in seen[:-1], what

        await page.get_by_label("Smoothing").fill("0.9")
        await changed("smooth=0.9")
        await page.get_by_label("Cut outliers").check()
        await changed("cut=1")
        for axis in ("updates", "episodes", "time", "clock"):
            await page.get_by_label("What the charts run over").select_option(axis)
            await changed(f"x={axis}")
        await chart.get_by_role("button", name="Enlarge").click()
        await card(page, KL, large=True).get_by_label("Log axis").check()
        await changed(f"log={KL}")
        await photograph(page, PICTURES / "large.png", full_page=False)
        await check_accessible(page, "a chart that fills the window")
        await page.keyboard.press("Escape")
        await wait_until(page, "() => !location.hash.includes('chart=')")
        # The same address shows the same.
        other = await page.context.new_page()
        await other.goto(page.url)
        again = card(other, KL)
        await again.scroll_into_view_if_needed()
        await expect(other.get_by_label("Smoothing")).to_have_value("0.9")
        await expect(other.get_by_label("Cut outliers")).to_be_checked()
        await expect(other.get_by_label("What the charts run over")).to_have_value("clock")
        await page.bring_to_front()
        await chart.scroll_into_view_if_needed()
        await page.mouse.move(0, 0)
        await page.wait_for_timeout(500)
        assert await picture(other, again) == await picture(page, chart)


async def picture(_page: Page, chart: Locator) -> str:
    return await chart.locator("canvas").evaluate("(canvas) => canvas.toDataURL()")


async def test_one_cursor_reads_all_charts_by_mouse_and_by_keys(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long")
        entropy, divergence = card(page, "train/entropy"), card(page, KL)
        await entropy.scroll_into_view_if_needed()
        await expect(divergence.locator("canvas")).to_be_visible()
        last = await divergence.locator("output").inner_text()
        await entropy.locator(".u-over").hover()
        tip = entropy.locator(".chart-tip")
        # The middle of the run: 3,000 updates of 512 steps; entropy exp(-1.5).
        await expect(tip).to_contain_text("steps")
        steps = re.search(r"([\d.]+)M steps", await tip.inner_text())
        assert steps is not None
        assert float(steps[1]) == pytest.approx(1.536, rel=0.03)
        await expect(entropy.locator("output").first).to_have_text(re.compile(r"0\.2[1-3]"))
        await expect(divergence.locator("output")).not_to_have_text(last)
        await expect(divergence.locator(".chart-tip")).to_be_hidden()
        await page.mouse.move(0, 0)
        await expect(divergence.locator("output")).to_have_text(last)
        # By keys: the last point, ten before it, the first.
        slider = divergence.get_by_role("slider")
        await slider.focus()
        await page.keyboard.press("End")
        await expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^3\.1M steps, KL divergence "))
        await page.keyboard.press("Shift+ArrowLeft")
        await expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^3\.0M|^3M steps"))
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowRight")
        await expect(divergence.locator(".chart-tip")).to_contain_text("steps")
        text = await entropy.locator("output").first.inner_text()
        assert float(text) == pytest.approx(0.99, abs=0.02)
        await page.keyboard.press("Escape")
        await expect(divergence.locator(".chart-tip")).to_be_hidden()


async def test_lines_that_belong_together_stand_in_one_chart(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long", "?fold=terms")
        for metric, names in {
            RETURN: ["training", "evaluation"],
            "train/entropy": ["Entropy", "keeper", "scout"],
            "reward": ["food", "time left"],
        }.items():
            await expect(card(page, metric).locator(".chart-legend li")).to_have_text(
                [re.compile(f"^{name} ") for name in names]
            )
        await expect(card(page, RETURN).locator(".chart")).to_have_attribute(
            "aria-label", re.compile("random play")
        )
        await expect(page.get_by_text("Recorded as")).to_have_count(0)


# `make test` has what is saved in tests/web/dashboard/state/chart-text.
@pytest.mark.long
async def test_numbers_and_picture_of_a_chart_are_saved(
    address: str, tmp_path: Path, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "p", f"?chart={RETURN}")
        large = card(page, RETURN, large=True)
        async with page.expect_download() as started:
            await large.get_by_role("button", name="Save CSV").click()
        download = await started.value
        assert download.suggested_filename == "p-Return.csv"
        await download.save_as(tmp_path / "return.csv")
        with (tmp_path / "return.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        assert header == ["steps", "training", "evaluation"]
        answer: dict[str, Any] = json.loads(
            await page.evaluate(
                "(url) => fetch(url).then((a) => a.text())", "api/runs/p/metrics?names=rollout/ep_rew_mean"
            )
        )
        expected = dict(zip(answer["agent_steps"], answer["series"][0]["values"], strict=True))
        assert {float(row[0]): float(row[1]) for row in rows if row[1]} == expected
        # The table has the same rows.
        await large.get_by_label("Table", exact=True).check()
        await expect(large.locator("tbody tr")).to_have_count(len(rows))
        await check_accessible(page, "a chart's table")
        async with page.expect_download() as started:
            await large.get_by_role("button", name="Save PNG").click()
        download = await started.value
        await download.save_as(PICTURES / "saved.png")
        data = (PICTURES / "saved.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", data[16:24])
        assert width > 600
        assert height > 300


# `make test` keeps addresses in tests/web/dashboard/state/kept-view.
@pytest.mark.long
async def test_pins_search_and_folds_are_kept_in_the_address(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long")
        await page.get_by_role("button", name="Pin KL divergence").click()
        assert (await wait_for_view(page, "pin="))["pin"] == KL
        await page.locator("summary", has_text="Learning in detail").click()
        assert (await wait_for_view(page, "fold="))["fold"] == "details"
        await expect(card(page, "train/loss")).to_be_visible()
        await page.reload()
        await expect(page.locator("[data-testid=chart-group]").first.locator("summary")).to_have_text(
            "Pinned"
        )
        await expect(page.locator("[data-testid=chart-group]").first.locator("figure")).to_have_attribute(
            "data-metric", KL
        )
        await expect(card(page, "train/loss")).to_be_visible()
        # A search finds what is folded away, by its title or the name of a line.
        await page.get_by_label("Search charts").fill("food")
        await wait_for_view(page, "find=food")
        await expect(page.locator("[data-testid=chart-group] figure")).to_have_count(1)
        await expect(card(page, "reward")).to_be_visible()
        await page.get_by_label("Search charts").fill("nothing like this")
        await expect(page.get_by_text("No chart has “nothing like this”.")).to_be_visible()
        await page.get_by_label("Search charts").fill("")
        await page.get_by_role("button", name="Unpin KL divergence").click()
        await wait_until(page, "() => !location.hash.includes('pin=')")
        await expect(page.get_by_role("heading", name="Pinned")).to_have_count(0)


# `make test` draws charts below.
@pytest.mark.long
async def test_charts_out_of_sight_are_not_drawn(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await show(page, "long", "?fold=details,game,terms,episodes")
        await expect(card(page, "train/loss")).to_have_count(1)
        assert await card(page, "train/loss").locator("canvas").count() == 0
        await card(page, "train/loss").scroll_into_view_if_needed()
        await expect(card(page, "train/loss").locator("canvas")).to_be_visible()
        await expect(card(page, RETURN).locator("canvas")).to_have_count(0)
