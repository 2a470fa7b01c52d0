"""The table of runs, and beside it the charts of the ticked ones, in a real browser."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.index import write_labels
from attract.runs.metrics import MetricsStore
from attract.schema.run_list import RunLabels
from dashboard_page import FITS, check_accessible, open_page, photograph_all, serve, wait_until
from known_runs import run_on_disk

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "runs"
MAX_SECONDS = 20
"""For a person who asks what the better of two runs did differently."""
LR = {"slow": 0.0001, "fast": 0.004}
COUNT_ADDRESSES = """() => {
  globalThis.addresses = 0;
  const replace = history.replaceState;
  history.replaceState = (...all) => { addresses += 1; replace.apply(history, all); };
}"""
SLIDER_STEPS = 30


def write_runs(folder: Path) -> Path:
    """Three games; of Snake two settings with two seeds each."""
    for name, rate in LR.items():
        for seed in (1, 2):
            returns = [float(update * seed) for update in range(10)]
            run_on_disk(
                folder,
                f"{name}-{seed}",
                returns if name == "fast" else [value / 9 for value in returns],
                settings={"seed": seed, "ppo": {"learning_rate": rate}},
                episode_return_mean=returns[-1] if name == "fast" else float(seed),
                created=f"2026-11-2{seed}T10:00:00+00:00",
            )
    run_on_disk(folder, "pole", [30.0], game="cartpole", title="CartPole", episode_return_mean=30.0)
    run_on_disk(folder, "empty", [], state="stopped", created="2026-11-25T10:00:00+00:00")
    return folder


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    return write_runs(tmp_path)


@pytest.fixture
def address(runs_dir: Path) -> Iterator[str]:
    with serve(runs_dir) as url:
        yield url


@pytest.fixture(scope="module")
def shared_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the same runs, for the tests that change nothing of them."""
    with serve(write_runs(tmp_path_factory.mktemp("shared"))) as url:
        yield url


async def open_table(page: Page, search: str = "") -> None:
    await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
    await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs{search}")
    await expect(page.locator("tr[data-id]").first).to_be_visible()


async def expect_rows(page: Page, *ids: str) -> None:
    """The rows in this order."""
    await wait_until(
        page,
        "(ids) => [...document.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id).join() === ids",
        ",".join(ids),
    )


def row(page: Page, run_id: str) -> Locator:
    return page.locator(f'tr[data-id="{run_id}"]')


async def test_runs_are_searched_sorted_and_the_address_keeps_it(
    shared_address: str, browser: Browser
) -> None:
    async with open_page(browser, shared_address) as (page, complaints):
        complaints.expected.append("400")
        await open_table(page)
        await expect_rows(page, "fast-2", "slow-2", "fast-1", "slow-1", "pole")
        await page.keyboard.press("/")
        search = page.get_by_role("combobox", name="Search runs")
        await expect(search).to_be_focused()
        await search.press_sequentially("lr<0.001")
        await expect_rows(page, "slow-2", "slow-1")
        await search.fill("retrun>3")
        await expect(page.get_by_test_id("runs-tools")).to_contain_text("character 1")
        await expect(page.get_by_test_id("runs-tools")).to_contain_text("did you mean return?")
        await search.fill("game:snake return>=2")
        await expect_rows(page, "fast-2", "slow-2", "fast-1")
        head = page.get_by_role("columnheader", name="Return")
        for order, ids in (
            ("descending", ("fast-2", "fast-1", "slow-2")),
            ("ascending", ("slow-2", "fast-1", "fast-2")),
        ):
            await head.get_by_role("button").click()
            await expect_rows(page, *ids)
            await expect(head).to_have_attribute("aria-sort", order)
        await page.reload()
        await expect_rows(page, "slow-2", "fast-1", "fast-2")
        await expect(search).to_have_value("game:snake return>=2")
        await head.get_by_role("button").click()
        await expect_rows(page, "fast-2", "slow-2", "fast-1")
        assert "sort" not in page.url


# `make test` searches and compares above.
@pytest.mark.long
async def test_hidden_runs_columns_and_settings_that_differ(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await open_table(page)
        await expect(page.get_by_role("columnheader", name="learning_rate")).to_be_visible()
        await expect(row(page, "slow-1").locator('[data-column="ppo.learning_rate"] strong')).to_have_text(
            "0.0001"
        )
        # The same in every run that is found: no column.
        await expect(page.get_by_role("columnheader", name="gamma")).to_have_count(0)
        await page.get_by_text("Columns", exact=True).click()
        await page.get_by_role("checkbox", name="Note").uncheck()
        await expect(page.get_by_role("columnheader", name="Note")).to_have_count(0)
        assert "hide=note" in page.url
        await page.get_by_role("button", name="Show hidden runs").click()
        await expect(row(page, "empty")).to_be_visible()


# `make test` names a run on its own page in test_daily_use.py.
@pytest.mark.long
async def test_labels_are_edited_in_place_and_stay(address: str, runs_dir: Path, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await open_table(page)
        pole = row(page, "pole")
        for label, text in (("name", "Tall <b>pole</b>"), ("tags", "good paper"), ("note", "with a = 1")):
            await pole.hover()
            await pole.get_by_role("button", name=f"Edit {label} of pole").click()
            await page.get_by_role("textbox", name=f"{label} of pole").fill(text)
            await page.keyboard.press("Enter")
            await expect(pole).to_contain_text(text.split()[0])
        await pole.get_by_role("button", name="Star").click()
        await expect(pole.get_by_role("button", name="Star")).to_have_attribute("aria-pressed", "true")
        # Escape keeps what was.
        await pole.get_by_role("button", name="Edit note of pole").click()
        await page.get_by_role("textbox", name="note of pole").fill("other")
        await page.keyboard.press("Escape")
        await expect(pole).to_contain_text("with a = 1")
        await page.reload()
        await expect(pole.get_by_role("link", name="Tall <b>pole</b>")).to_be_visible()
        await pole.get_by_role("link", name="paper").click()
        await expect_rows(page, "pole")
        assert '"tags"' in (runs_dir / "pole" / "labels.json").read_text()


async def test_a_run_is_archived_and_deleted_and_both_are_undone(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await open_table(page, "?q=game:snake&sort=id")
        await expect_rows(page, "fast-1", "fast-2", "slow-1", "slow-2")
        await row(page, "fast-1").get_by_role("button", name="Archive").click()
        await expect_rows(page, "fast-2", "slow-1", "slow-2")
        await page.get_by_role("button", name="Undo").click()
        await expect_rows(page, "fast-1", "fast-2", "slow-1", "slow-2")
        for run_id in ("fast-2", "slow-1"):
            # A chart that is still being fetched of a deleted run is answered by a 404.
            async with page.expect_response(re.compile(f"/{run_id}/metrics")):
                await row(page, run_id).get_by_role("checkbox").check()
        bulk = page.get_by_role("region", name="Ticked runs")
        await bulk.get_by_role("button", name="Delete").click()
        await expect_rows(page, "fast-1", "slow-2")
        assert not (runs_dir / "fast-2").exists()
        await expect(page.get_by_text("Deleted 2 runs.")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect_rows(page, "fast-1", "fast-2", "slow-1", "slow-2")
        assert (runs_dir / "fast-2" / "metrics.db").is_file()


# `make test` archives, deletes and undoes below.
@pytest.mark.long
async def test_deleted_runs_are_listed_restored_and_erased(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await open_table(page, "?q=game:snake&sort=id")
        for run_id in ("fast-1", "fast-2", "slow-1"):
            await row(page, run_id).get_by_role("button", name="Delete").click()
            await expect(row(page, run_id)).to_have_count(0)
        await page.get_by_role("button", name="Close").click()
        await page.get_by_role("button", name="Trash", exact=True).click()
        rows = page.locator("tr[data-id]")
        await expect(rows).to_have_count(3)
        fast, slow = rows.filter(has_text="fast-1"), rows.filter(has_text="slow-1")
        # Nothing of it can be changed or opened before it is restored.
        await expect(slow.get_by_role("link")).to_have_count(0)
        await expect(slow.get_by_role("button", name="Star")).to_be_disabled()
        await check_accessible(page, "the trash")
        PICTURES.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=PICTURES / "trash.png")
        await fast.get_by_role("button", name="Restore").click()
        await expect(rows).to_have_count(2)
        assert (runs_dir / "fast-1" / "metrics.db").is_file()
        await slow.get_by_role("button", name="Erase").click()
        question = page.get_by_role("dialog", name="Erase")
        await question.get_by_role("button", name="Keep").click()
        await expect(rows).to_have_count(2)
        for box in await rows.get_by_role("checkbox").all():
            await box.check()
        await page.get_by_role("region", name="Ticked runs").get_by_role("button", name="Erase").click()
        await expect(question).to_contain_text("Erase 2 runs?")
        await page.screenshot(path=PICTURES / "erase.png")
        await question.get_by_role("button", name="Erase").click()
        await expect(page.get_by_text("The trash is empty.")).to_be_visible()
        assert not [path for path in (runs_dir / ".trash").iterdir() if path.is_dir()]
        await page.get_by_role("button", name="Leave the trash").click()
        await expect(row(page, "fast-1")).to_be_visible()
        await expect(row(page, "slow-1")).to_have_count(0)


# `make test` groups runs in tests/web/dashboard/state/run-table.
@pytest.mark.long
async def test_seeds_of_equal_settings_are_one_row_that_opens(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    for run_id in ("fast-1", "slow-2"):
        write_labels(RunDirectory.view(runs_dir, run_id), RunLabels(tags=["study-7"]))
    async with open_page(browser, address) as (page, _):
        await open_table(page)
        await page.get_by_label("Group by").select_option("seeds")
        groups = page.locator('tr[data-kind="group"]')
        await expect(groups).to_have_count(2)
        # (9 + 18) / 2, and the two.
        fast = groups.first
        await expect(fast.locator('[data-column="return"]')).to_contain_text("13.5")
        await expect(fast.locator('[data-column="return"]')).to_contain_text("9 to 18")
        await expect(fast.locator("[data-testid=curve] polygon")).to_have_count(1)
        await expect(fast.locator('[data-column="seed"]')).to_have_text("2 values")
        button = fast.get_by_role("button", name="Snake")
        await button.click()
        await expect(button).to_have_attribute("aria-expanded", "true")
        await expect_rows_after_group(page, ["fast-2", "fast-1"])
        await fast.get_by_role("checkbox").check()
        await expect(page.get_by_text("2 runs ticked")).to_be_visible()
        await expect(row(page, "fast-1").get_by_role("checkbox")).to_be_checked()
        await check_accessible(page, "groups of runs")
        await groups.nth(1).get_by_role("checkbox").check()
        await page.get_by_role("button", name="Compare").click()
        bands = page.locator('figure[data-metric="rollout/ep_rew_mean"] .chart-legend li')
        await expect(bands).to_have_text(
            [re.compile("learning_rate 0.004, 2 seeds"), re.compile("learning_rate 0.0001, 2 seeds")]
        )
        await page.get_by_label("Group by").select_option("ppo.learning_rate")
        await expect(page.get_by_role("button", name="learning_rate 0.0001")).to_be_visible()
        assert "group=ppo.learning_rate" in page.url
        await page.get_by_label("Group by").select_option("tags")
        await expect(groups).to_have_text([re.compile("no tag 3 runs"), re.compile("study-7 2 runs")])


async def expect_rows_after_group(page: Page, ids: list[str]) -> None:
    await wait_until(
        page,
        """(ids) => [...document.querySelectorAll('tr[data-depth="1"]')]
          .map((row) => row.dataset.id).join() === ids""",
        ",".join(ids),
    )


async def test_the_table_is_used_by_keys_alone(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await open_table(page, "?sort=id")
        # Who has turned the page's keys off has turned these off too.
        await page.evaluate("localStorage.setItem('attract keys', 'off')")
        for key in "jx/":
            await page.keyboard.press(key)
        await expect(page.locator('tr[data-current="true"], input:focus')).to_have_count(0)
        await page.evaluate("localStorage.removeItem('attract keys')")
        for key in "jjkjx":
            await page.keyboard.press(key)
        # fast-1, fast-2, fast-1, fast-2.
        await expect(row(page, "fast-2")).to_have_attribute("data-current", "true")
        await expect(row(page, "fast-2").get_by_role("checkbox")).to_be_checked()
        assert "ticked=fast-2" in page.url
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("#/runs/fast-2"))


async def test_two_runs_are_compared(shared_address: str, browser: Browser) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await open_table(page)
        for run_id in ("fast-1", "slow-1"):
            await row(page, run_id).get_by_role("checkbox").check()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        # Timers of the page run when this clock is moved.
        await page.clock.install()
        await page.get_by_role("button", name="Compare").click()
        await expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
        chart = page.locator('figure[data-metric="rollout/ep_rew_mean"]')
        await expect(chart).to_have_attribute("data-runs", "2")
        # The last of nine steps of 1, and of 1 / 9.
        await expect(chart.locator(".chart-legend output")).to_have_text(["9", "1"])
        # Both are over: they are not asked for again.
        asked.clear()
        await page.clock.run_for(30_000)
        assert [url for url in asked if "/api/runs/" in url] == []
        await page.clock.resume()
        different = page.get_by_role("region", name="Settings that differ")
        rate = different.get_by_role("row", name=re.compile("ppo.learning_rate"))
        await expect(rate).to_contain_text("0.004")
        await expect(rate).to_contain_text("0.0001")
        await expect(different.get_by_role("row", name=re.compile("ppo.gamma"))).to_be_hidden()
        await different.get_by_text("equal settings").click()
        await expect(different.get_by_role("row", name=re.compile("ppo.gamma"))).to_be_visible()
        best = page.get_by_role("region", name="Final numbers").locator('td[data-best="true"]')
        await expect(best.first).to_have_text("9")
        await page.get_by_label("Over").select_option("time")
        await wait_until(page, "() => location.hash.includes('x=time')")
        # Browsers refuse an address that changes with every step of a slider.
        await page.evaluate(COUNT_ADDRESSES)
        await page.get_by_label("Smoothing").focus()
        for _ in range(SLIDER_STEPS):
            await page.keyboard.press("ArrowRight")
        await wait_until(page, "() => location.hash.includes('smooth=0.3')")
        assert await page.evaluate("addresses") < SLIDER_STEPS
        await check_accessible(page, "a comparison")
        PICTURES.mkdir(parents=True, exist_ok=True)
        await photograph_all(page, PICTURES, "compare")


async def test_charts_of_ticked_runs_have_a_baseline_and_any_metric_a_column(
    shared_address: str, browser: Browser
) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await open_table(page, "?sort=id&ticked=fast-1,slow-1")
        chart = page.locator('figure[data-metric="rollout/ep_rew_mean"]')
        await expect(chart).to_have_attribute("data-runs", "2")
        # The colour of a row is that of its line; a press hides the line.
        eye = row(page, "slow-1").get_by_role("button", name="Draw slow-1")
        await expect(eye).to_have_css("--series", await color_of(chart.locator(".chart-legend li").nth(1)))
        await eye.click()
        await expect(chart).to_have_attribute("data-runs", "1")
        await eye.click()
        await page.get_by_role("button", name="Baseline: fast-1").click()
        numbers = page.get_by_role("region", name="Numbers of each run")
        await expect(numbers.get_by_role("row", name=re.compile("Best return"))).to_contain_text("1 −8")
        await expect(row(page, "slow-1").locator('[data-column="best"]')).to_contain_text("−8")
        await page.get_by_role("checkbox", name="Charts show the difference to fast-1").check()
        await expect(chart.locator(".chart-legend output")).to_have_text(["0", "-8"])
        await page.get_by_role("button", name="Columns").click()
        await page.get_by_role("textbox", name="Find a column").fill("rew_mean")
        await page.get_by_role("checkbox", name="Return (rollout/ep_rew_mean)").check()
        await page.keyboard.press("Escape")
        column = row(page, "slow-2").locator('[data-column="rollout/ep_rew_mean"]')
        await expect(column).to_contain_text("2")
        await page.get_by_role("button", name="Views").click()
        await page.get_by_role("textbox", name="Name of this view").fill("against fast")
        await page.keyboard.press("Enter")
        await check_accessible(page, "saved views")
        await page.evaluate("location.hash = '#/runs'")
        await page.reload()
        await expect(page.get_by_role("heading", name="Compare 2 runs")).to_have_count(0)
        await page.get_by_role("button", name="Views").click()
        await page.get_by_role("link", name="against fast").click()
        await expect(chart.locator(".chart-legend output")).to_have_text(["0", "-8"])
        await expect(column).to_be_visible()
        # Scrolled to its last column, a row still has its name.
        await page.locator(".data-scroll").evaluate("(box) => box.scrollTo(box.scrollWidth, 0)")
        await expect(row(page, "fast-2").get_by_role("link")).to_be_in_viewport()


async def color_of(line: Locator) -> str:
    return await line.evaluate("(line) => line.style.getPropertyValue('--series')")


# `make test` compares two runs below.
@pytest.mark.long
async def test_what_the_better_run_did_differently_is_four_clicks_from_home(
    shared_address: str, browser: Browser
) -> None:
    async with open_page(browser, shared_address) as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        PICTURES.mkdir(parents=True, exist_ok=True)
        clicks = [
            page.get_by_role("link", name="Runs", exact=True),
            row(page, "fast-1").get_by_role("checkbox"),
            row(page, "slow-1").get_by_role("checkbox"),
            page.get_by_role("button", name="Compare"),
        ]
        started = time.monotonic()
        for number, target in enumerate(clicks):
            await target.click()
            await page.screenshot(path=PICTURES / f"better-run-{number + 1}.png")
        # How both learned, which was better, and what it did differently.
        chart = page.locator('figure[data-metric="rollout/ep_rew_mean"]')
        await expect(chart).to_have_attribute("data-runs", "2")
        best = page.get_by_role("region", name="Final numbers").locator('td[data-best="true"]')
        await expect(best.first).to_have_text("9")
        different = page.get_by_role("region", name="Settings that differ")
        await expect(different.get_by_role("row", name=re.compile("ppo.learning_rate"))).to_be_visible()
        assert time.monotonic() - started < MAX_SECONDS
        await expect(chart.locator("canvas")).to_be_visible()
        await page.screenshot(path=PICTURES / "better-run.png", full_page=True)


async def test_a_run_that_goes_on_is_current_in_the_table(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    held = RunDirectory.open_locked(runs_dir, "pole")
    store = MetricsStore(runs_dir / "pole" / "metrics.db")
    view = {**store.fact(VIEW), "state": "running", "total_steps": 10_000}
    store.put_fact(VIEW, view)
    async with open_page(browser, address) as (page, _):
        await open_table(page, "?sort=-steps")
        await expect(row(page, "pole")).to_contain_text("Training")
        await expect(row(page, "pole").get_by_role("button", name="Delete")).to_be_disabled()
        store.put_fact(VIEW, {**view, "agent_steps": 5_000})
        await expect(row(page, "pole").locator('[data-column="steps"]')).to_have_text("5,000")
        await expect(row(page, "pole").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
        store.close()
        held.close()
        await expect(row(page, "pole")).to_contain_text("Stopped")


# `make test` has a viewer's run page in test_run_page.py.
@pytest.mark.long
async def test_who_may_only_look_is_offered_no_change(address: str, browser: Browser) -> None:
    async def as_viewer(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "role": "viewer"})

    async with open_page(browser, address) as (page, _):
        # The token of the address has become a session.
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        await page.route("**/api/info", as_viewer)
        await page.reload()
        await open_table(page)
        await expect(row(page, "pole").get_by_role("button", name="Star")).to_be_disabled()
        await row(page, "pole").get_by_role("checkbox").check()
        await expect(page.get_by_text("1 run ticked")).to_be_visible()
        for name in ("Archive", "Delete", "Edit", "Tag"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)


@pytest.mark.parametrize("device", ["desktop", pytest.param("phone", marks=pytest.mark.long)])
async def test_only_rows_in_sight_are_drawn_and_the_page_fits(
    tmp_path: Path, device: str, browser: Browser
) -> None:
    for number in range(120):
        run_on_disk(
            tmp_path,
            f"run-{number:03}",
            [1.0, 2.0],
            settings={"seed": number},
            created=f"{2000 + number}-01-01",
            game="cartpole" if number < 2 else "snake",
        )
    with serve(tmp_path) as address:
        async with open_page(browser, address, device=device) as (page, _):  # type: ignore[arg-type]
            await open_table(page)
            await expect(page.get_by_text("120 runs")).to_be_visible()
            assert await page.locator("tr[data-id]").count() < 60
            await wait_until(page, FITS)
            await check_accessible(page, f"runs on a {device}")
            await page.locator(".data-scroll").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
            await expect(row(page, "run-000")).to_be_visible()
            PICTURES.mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=PICTURES / f"runs-{device}.png")
            # The two oldest are of one game: each is offered first beside the other.
            await page.evaluate("location.hash = '#/runs/run-000/settings'")
            options = page.get_by_label("Compare with").locator("option")
            await expect(options.nth(1)).to_have_attribute("value", "run-001")
            await expect(options.nth(2)).to_have_attribute("value", "run-119")
