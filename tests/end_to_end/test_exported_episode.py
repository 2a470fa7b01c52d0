"""`attract export --page --replay`: a folder that plays one recorded episode on any static server."""

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from attract_command import run_attract
from dashboard_page import check_accessible, open_page, photograph_all
from node_driver import bundle_driver
from servers import served_folder

expect.set_options(timeout=30_000)

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "test-results" / "exported-episode"
STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'"
SITE = "deep/er/site"
"""Below the root of its server."""
OWN_BYTES = 200_000
"""Limit of what is ours in the folder."""
PICTURE = "document.querySelector('canvas').toDataURL()"
EQUAL = "It played as it was recorded."
CRACKED_GAME = """
import { box, defineGame, discrete } from "attract";
export default defineGame({
  id: "Crack-v1", tickSeconds: 0.02, secondsPerStep: 0.04, observation: box({ shape: [1] }),
  action: discrete(["left", "right"]),
  create: () => {
    let [ticks, isCracked] = [0, false];
    return {
      start({ random }) {
        isCracked = random.int(12) === 0;
        ticks = 0;
        return [0];
      },
      update() {
        if (++ticks === 141 && isCracked) throw new TypeError("the glass broke");
        return { observation: [ticks], reward: 1, terminated: ticks >= 200 };
      },
    };
  },
});
"""
"""Fails in some episodes, in the first tick of step 71."""


@pytest.fixture(scope="module")
def pole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An episode of CartPole: 40 steps of 0.02 s, then the pole has fallen."""
    record = bundle_driver("episode-driver.ts", tmp_path_factory.mktemp("driver"), aliases={})
    order = {"game": "cartpole", "actions": [0, 1], "num_steps": 600, "episode": 0, "parameters": {}}
    (episode,) = record([order])
    assert (episode["num_steps"], episode["end_reason"]) == (40, "terminated")
    return episode


@pytest.fixture(scope="module")
def exported_pole(pole: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """As `export`, of that episode; read the site, change copies."""
    folder = tmp_path_factory.mktemp("pole")
    return export(folder, saved(folder, pole), "--game", "cartpole")


def export(folder: Path, *words: str) -> tuple[Path, str]:
    """The site of `attract export --page --replay words`, and what was printed."""
    site = folder / SITE
    exported = run_attract(
        "export", "--page", "--out", str(site), "--replay", *words, runs_dir=folder / "runs"
    )
    assert exported.code == 0, exported.stderr
    assert f"http.server --directory {site}" in exported.stdout
    return site, exported.stdout


def saved(folder: Path, episode: dict[str, Any]) -> str:
    """The file of an episode."""
    (folder / "one.episode.json").write_text(json.dumps(episode))
    return str(folder / "one.episode.json")


async def expect_step(page: Page, step: int, of: int) -> None:
    await expect(page.locator("#step")).to_have_text(f"{step} of {of}")


async def test_it_plays_the_record_is_steered_and_says_how_it_ended(
    exported_pole: tuple[Path, str], browser: Browser
) -> None:
    site, printed = exported_pole
    assert f"note: the page was opened and played to its end. {EQUAL}" in printed
    assert {path.name for path in site.iterdir()} == {"index.html", "page.js", "game.js", "episode.json"}
    assert sum((site / name).stat().st_size for name in ("index.html", "page.js")) < OWN_BYTES
    with served_folder(site.parents[2], STRICT) as address:
        # Leaving the block fails on whatever the policy reported or the console said.
        async with open_page(browser, f"{address}/{SITE}/", moves=True) as (page, _):
            await expect(page.get_by_role("heading", name="CartPole")).to_be_visible()
            await expect(page.locator("#players")).to_have_text("Played by a script, seed 3.")
            # By itself, to the end.
            await expect(page.locator("#end")).to_have_text("Game over")
            await expect(page.locator("#status")).to_have_text(EQUAL)
            await expect_step(page, 40, 40)
            await expect(page.locator("#return")).to_have_text("40")
            await expect(page.locator("#time")).to_have_text("0.80 s of 0.80 s")
            at_end = await page.evaluate(PICTURE)
            await page.get_by_role("slider", name="Position in the episode").fill("0.2")
            await expect_step(page, 10, 40)
            await expect(page.locator("#return")).to_have_text("10")
            await expect(page.locator("#end")).to_be_hidden()
            await expect(page.locator("#action")).to_have_text("left (←)")
            tenth = await page.evaluate(PICTURE)
            assert tenth != at_end
            await page.get_by_role("button", name="Step on").click()
            await expect_step(page, 11, 40)
            await expect(page.locator("#action")).to_have_text("right (→)")
            await page.keyboard.press(",")
            await expect_step(page, 10, 40)
            assert await page.evaluate(PICTURE) == tenth
            await page.get_by_role("combobox", name="Speed").select_option("0.25")
            await page.get_by_role("button", name="Play").click()
            await expect(page.get_by_role("button", name="Pause")).to_be_visible()
            await page.keyboard.press("End")
            await expect(page.locator("#end")).to_have_text("Game over")
            await check_accessible(page, "exported episode")
            await photograph_all(page, PICTURES, "cartpole")
            await page.goto(f"{address}/{SITE}/index.html?at=-0.4")
            await expect(page.locator("#end")).to_have_text("Game over")


async def test_another_play_than_the_record_is_said(
    pole: dict[str, Any], tmp_path: Path, browser: Browser
) -> None:
    other = {**pole, "returns": [41.0]}
    difference = (
        "It differs from the record at step 40, second 0.80 s: the return is 40; in the record it was 41."
    )
    _, printed = export(tmp_path, saved(tmp_path, other), "--game", "cartpole")
    assert f"played to its end. {difference}" in printed
    with served_folder(tmp_path, STRICT) as address:
        async with open_page(browser, f"{address}/{SITE}/", moves=True) as (page, _):
            await expect(page.locator("#status")).to_contain_text(difference)


# `make test` shows a failure on the dashboard in test_episode_page.py.
@pytest.mark.long
async def test_a_failure_is_shown_with_its_error(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "crack.js").write_text(CRACKED_GAME)
    trained = run_attract(
        *("train", "crack.js", "--headless", "--workers", "1", "--run-id", "cracked"),
        *("--total-steps", "8192", "--no-check", "--project-dir", str(tmp_path)),
        runs_dir=tmp_path / "runs",
        timeout_seconds=240,
    )
    assert trained.code == 0, trained.stderr
    _, printed = export(tmp_path, "cracked", "--failed")
    assert EQUAL in printed
    with served_folder(tmp_path, STRICT) as address:
        async with open_page(browser, f"{address}/{SITE}/", moves=True) as (page, _):
            await page.keyboard.press("End")
            await expect(page.locator("#end")).to_contain_text("The game failed: ")
            await expect(page.locator("#end")).to_contain_text("the glass broke")
            await expect(page.locator("#status")).to_have_text(EQUAL)
            # It draws nothing, which is said.
            await expect(page.locator("#players")).to_contain_text("This game has no draw()")
            await check_accessible(page, "an exported failure")
            await photograph_all(page, PICTURES, "failure")


def meteors(folder: Path) -> dict[str, Any]:
    """An episode of a page game: what `attract replay` says of these actions is their record."""
    actions = ([0] * 8 + [2] * 16 + [1] * 4) * 40
    episode = {
        "format": "attract-episode",
        "version": 2,
        "game_id": "Meteors-v1",
        "seed": {"low": 3, "high": 4},
        "instance": 2,
        "episode": 0,
        "seats": [{"player": "script"}],
        "seconds_per_step": 4 / 60,
        "actions": packed(actions),
        "marks": {"interval": 1, "hashes": ""},
        "returns": [0.0],
        "num_steps": len(actions),
        "num_ticks": 0,
        "end_reason": "stopped",
    }
    tried = run_attract(
        *("replay", saved(folder, episode), "--game", "meteors", "--json"), runs_dir=folder / "runs"
    )
    (played,) = json.loads(tried.stdout)["episodes"]
    steps = played["num_steps"]
    assert (played["end_reason"], 30 < steps < len(actions)) == ("terminated", True)
    ended = {name: played[name] for name in ("returns", "num_steps", "num_ticks", "end_reason")}
    return {**episode, **ended, "actions": packed(actions[:steps])}


def packed(actions: list[int]) -> dict[str, Any]:
    data = base64.b64encode(bytes(actions)).decode()
    return {"dtype": "uint8", "shape": [len(actions), 1], "deflated": False, "data": data}


# `make test` plays an episode of a page again in test_replay.py, and has the folder of one in
# backend/commands/test_exported_episode.py.
@pytest.mark.long
async def test_a_game_in_a_page_is_seen_in_its_page(tmp_path: Path, browser: Browser) -> None:
    episode = meteors(tmp_path)
    site, printed = export(tmp_path, saved(tmp_path, episode), "--game", "meteors")
    assert f"played to its end. {EQUAL}" in printed
    assert {path.name for path in site.iterdir()} == {
        "index.html", "page.js", "game.js", "episode.json", "game",
    }  # fmt: skip
    own = [site / "index.html", site / "page.js", site / "game" / "page-clock.js"]
    assert sum(path.stat().st_size for path in own) < OWN_BYTES
    with served_folder(tmp_path) as address:
        async with open_page(browser, f"{address}/{SITE}/", moves=True) as (page, _):
            await page.keyboard.press("End")
            await expect(page.locator("#end")).to_have_text("Game over")
            await expect(page.locator("#status")).to_have_text(EQUAL)
            await expect_step(page, episode["num_steps"], episode["num_steps"])
            score = float(await page.locator("#return").inner_text())
            assert score == pytest.approx(episode["returns"][0], abs=0.01)
            await check_accessible(page, "an exported page's episode")
            await photograph_all(page, PICTURES, "meteors")
            await page.get_by_role("slider", name="Position in the episode").fill("1.4")
            await expect_step(page, 21, episode["num_steps"])
            await expect(page.locator("#action")).to_have_text("right (→)")
            # The page is where it is seen, as large as its place.
            frame = page.locator("#screen iframe[style*='opacity: 1']")
            place, box = await page.locator("#screen").bounding_box(), await frame.bounding_box()
            assert place is not None and box is not None
            assert all(abs(place[side] - box[side]) <= 2 for side in ("x", "y", "width", "height"))
            await photograph_all(page, PICTURES, "meteors-21")


@pytest.mark.parametrize("missing", ["game.js", "episode.json"])
async def test_a_folder_that_is_not_whole_says_so(
    missing: str, exported_pole: tuple[Path, str], tmp_path: Path, browser: Browser
) -> None:
    site = Path(shutil.copytree(exported_pole[0], tmp_path / SITE))
    (site / missing).unlink()
    with served_folder(tmp_path, STRICT) as address:
        async with (
            open_page(browser, f"{address}/{SITE}/", moves=True) as (page, said),
        ):
            said.expected += ["404", missing, "Failed to fetch"]
            await expect(page.locator("#status")).to_have_text(re.compile("cannot be played: .*" + missing))
