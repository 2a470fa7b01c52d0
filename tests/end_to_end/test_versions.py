"""Any version of a run plays: by the slider under the return chart in a real browser, and by `--version`."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from attract.runs.directory import RunDirectory
from attract_command import run_attract
from dashboard_page import (
    RETURN_CHART,
    check_accessible,
    open_page,
    photograph,
    serve,
    wait_for_more,
    wait_until,
)

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "versions"
WATCH = '[data-testid="watch"]'


@pytest.fixture(scope="module")
def runs_dir(trained_cartpole: Path) -> Path:
    """Runs with one that is over, `demo`."""
    (trained_cartpole / "p").rename(trained_cartpole / "demo")
    return trained_cartpole


@pytest.fixture(scope="module")
def address(runs_dir: Path) -> Iterator[str]:
    with serve(runs_dir) as url:
        yield url


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Version that plays")


async def open_run(page: Page, run_id: str, query: str = "") -> None:
    await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
    await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs/{run_id}{query}")
    await expect(slider(page)).to_be_visible()


async def drag(page: Page, share: float) -> None:
    """Drag the thumb from where it is to a share of the track's width."""
    await slider(page).scroll_into_view_if_needed()
    box = await slider(page).bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    thumb, room = 9, box["width"] - 18
    at = await slider(page).evaluate("(input) => (input.value - input.min) / (input.max - input.min)")
    await page.mouse.move(box["x"] + thumb + at * room, middle)
    await page.mouse.down()
    for part in range(1, 11):
        await page.mouse.move(box["x"] + thumb + (at + (share - at) * part / 10) * room, middle)
    await page.mouse.up()


# `make test` has versions of `eval` and `export` in backend/commands and backend/run/service.
@pytest.mark.long
def test_eval_and_export_take_a_version_and_change_nothing_of_the_run(runs_dir: Path, tmp_path: Path) -> None:
    # As the trainer holds it: an evaluation may run beside it.
    training = RunDirectory.open_locked(runs_dir, "demo")
    files = sorted(path.relative_to(runs_dir) for path in runs_dir.rglob("*"))
    saved = tmp_path / "saved"
    found = {}
    try:
        before = training.versions(), training.marked("best"), training.marked("latest")
        second = before[0][1]
        for name in ("first", "newest"):
            played = run_attract(
                *("eval", "demo", "--version", name, "--episodes", "10", "--save", str(saved), "--json"),
                runs_dir=runs_dir,
                timeout_seconds=120,
            )
            assert played.code == 0, played.stderr
            found[name] = played.json
    finally:
        training.close()
    assert sorted(path.relative_to(runs_dir) for path in runs_dir.rglob("*")) == files
    versions = {name: played["policy_version"] for name, played in found.items()}
    assert versions == {"first": 0, "newest": before[0][-1]}
    # CartPole: about 9 steps untrained and most probable actions, 475 trained.
    assert found["newest"]["return_mean"] > 2 * found["first"]["return_mean"]
    assert len(list(saved.glob(f"demo-v{before[0][-1]}-*"))) == 10
    refused = run_attract("eval", "demo", "--version", "61234", runs_dir=runs_dir, timeout_seconds=60)
    assert refused.code == 2
    assert "version 61234 is not there in demo" in refused.stderr
    assert f"these are: 0, {second}," in refused.stderr
    exported = run_attract(
        *("export", "demo", "--version", str(second), "--out", str(tmp_path / "out")),
        runs_dir=runs_dir,
        timeout_seconds=120,
    )
    assert exported.code == 0, exported.stderr
    assert json.loads((tmp_path / "out" / "policy.json").read_text())["policy_version"] == second
    directory = RunDirectory(runs_dir / "demo", None)
    assert (directory.versions(), directory.marked("best"), directory.marked("latest")) == before


# `make test` chooses a version of a live run above.
@pytest.mark.long
async def test_a_dragged_slider_and_its_keys_play_other_versions_of_a_run_that_is_over(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    versions = RunDirectory(runs_dir / "demo", None).versions()
    async with open_page(browser, address, moves=True) as (page, _):
        await open_run(page, "demo")
        newest = await wait_for_more(page, WATCH, "data-version", 0)
        assert newest == versions[-1]
        await expect(slider(page)).to_have_attribute(
            "aria-valuetext", re.compile(f"Newest version {newest}, ")
        )

        await drag(page, 0.0)
        await expect(page.locator(WATCH)).to_have_attribute("data-version", "0")
        await expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("^Version 0, 0 steps"))
        # It plays: the picture moves.
        moves = "(old) => document.querySelector('[data-testid=watch] canvas').toDataURL() !== old"
        await wait_until(
            page, moves, await page.locator(f"{WATCH} canvas").evaluate("(it) => it.toDataURL()")
        )
        await expect(page.get_by_role("img", name="The game, played by version 0")).to_be_visible()
        await drag(page, 0.5)
        said = re.match(r"Version (\d+), ", await slider(page).get_attribute("aria-valuetext") or "")
        assert said is not None
        middle = int(said[1])
        assert versions[0] < middle < versions[-1]
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(middle))

        # The address remembers it, also for another page.
        await page.wait_for_url(re.compile(f"version={middle}$"))
        await page.reload()
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(middle))
        await expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(f"^Version {middle}, "))

        # The keyboard alone: from the chart on.
        await page.locator(f"{RETURN_CHART} .chart").focus()
        await page.keyboard.press("Tab")
        await expect(slider(page)).to_be_focused()
        await page.keyboard.press("ArrowLeft")
        earlier = versions[versions.index(middle) - 1]
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(earlier))
        await page.keyboard.press("Home")
        await expect(page.locator(WATCH)).to_have_attribute("data-version", "0")
        await check_accessible(page, "a version that was chosen")
        await page.keyboard.press("End")
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(newest))
        await expect(page).not_to_have_url(re.compile("version="))

        await page.set_viewport_size({"width": 1280, "height": 720})
        PICTURES.mkdir(parents=True, exist_ok=True)
        await drag(page, 0.3)
        await page.evaluate(
            "document.querySelector('[data-testid=versions]').scrollIntoView({ block: 'end' })"
        )
        for scheme in ("dark", "light"):
            await page.emulate_media(color_scheme=scheme)
            await photograph(page, PICTURES / f"slider-{scheme}.png", full_page=False)


async def test_a_damaged_version_is_said_and_a_run_without_an_export_plays(
    address: str, runs_dir: Path, browser: Browser
) -> None:
    shutil.copytree(runs_dir / "demo", runs_dir / "spoilt", symlinks=True)
    versions = RunDirectory(runs_dir / "spoilt", None).versions()
    for path in (runs_dir / "spoilt" / "checkpoints" / str(versions[1])).glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    # As a trainer leaves it that is killed.
    for path in (runs_dir / "spoilt" / "export").iterdir():
        path.unlink()
    async with open_page(browser, address) as (page, complaints):
        complaints.expected.append("404")
        await open_run(page, "spoilt", f"?version={versions[1]}")
        alert = page.locator(WATCH).get_by_test_id("over")
        await expect(alert).to_contain_text(f"version {versions[1]} of run spoilt cannot be played")
        await slider(page).press("ArrowRight")
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(versions[2]))
        await expect(alert).to_be_hidden()
        await slider(page).press("End")
        await expect(page.locator(WATCH)).to_have_attribute("data-version", str(versions[-1]))
