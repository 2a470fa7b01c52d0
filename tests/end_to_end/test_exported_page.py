"""`attract export --page`: a folder that any static server shows: the agent plays, or a person does."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from attract_command import run_attract
from dashboard_page import check_accessible, open_page
from servers import served_folder

expect.set_options(timeout=30_000)

ROOT = Path(__file__).resolve().parents[2]
STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'"
LARGEST_BYTES = 512 * 1024
PICTURES = ROOT / "test-results" / "exported-page"


def export_page(runs: Path, *words: str) -> Path:
    """The folder of a page whose agent was trained for as long as `words` say."""
    always = ("--headless", "--no-check", "--workers", "2", "--seed", "3", "--run-id", "p")
    trained = run_attract("train", *words, *always, runs_dir=runs)
    assert trained.code == 0, trained.stderr
    return export_trained(runs)


def export_trained(runs: Path) -> Path:
    """The page of run `p`."""
    site = runs / "site"
    exported = run_attract("export", "p", "--out", str(site), "--page", runs_dir=runs)
    assert exported.code == 0, exported.stderr
    assert f"http.server --directory {site}" in exported.stdout
    assert all(path.stat().st_size <= LARGEST_BYTES for path in site.iterdir())
    return site


def score_of(page: Page, name: str):
    return page.get_by_role("list", name="Scores").get_by_role("listitem").filter(has_text=f"{name}:")


@pytest.fixture(scope="module")
def cartpole(trained_cartpole: Path) -> Path:
    return export_trained(trained_cartpole)


async def test_an_agent_plays_until_one_takes_over(cartpole: Path, browser: Browser):
    site = cartpole
    names = {path.name for path in site.iterdir()}
    assert names == {"index.html", "page.js", "game.js", "policy.json", "policy.onnx"}
    PICTURES.mkdir(parents=True, exist_ok=True)
    with served_folder(site, STRICT) as address:
        # Leaving the block fails on whatever the policy reported or the console said.
        async with open_page(browser, address, moves=True) as (page, _):
            await expect(page.get_by_role("heading", name="CartPole")).to_be_visible()
            await expect(page.locator("#status")).to_have_text("The agent plays.")
            await expect(page.get_by_role("button", name="Watch the agent")).to_have_attribute(
                "aria-pressed", "true"
            )
            # Ten seconds at most: it was trained, and balances for some time.
            await expect(score_of(page, "The agent")).to_have_text(re.compile(r"\d+\.0"), timeout=60_000)
            agents = float((await score_of(page, "The agent").inner_text()).split(":")[1].split(";")[0])
            await page.get_by_role("button", name="Play yourself").click()
            await expect(page.locator("#status")).to_have_text("You play by keyboard.")
            # Nobody touches a key, and the pole falls.
            await expect(score_of(page, "You")).to_have_text(re.compile("mean of .* episodes"))
            own = float((await score_of(page, "You").inner_text()).split(":")[1].split(";")[0])
            assert own < 60 < agents
            # Arrows are keys of the game, and still move the slider that has the focus.
            await page.get_by_role("slider").focus()
            await page.keyboard.press("ArrowRight")
            await expect(page.locator("#mistakes-shown")).to_have_text("5 %")
            await page.keyboard.press("ArrowLeft")
            await expect(page.locator("#mistakes-shown")).to_have_text("0 %")
            await check_accessible(page, "exported page")
            await page.screenshot(path=PICTURES / "cartpole.png")


@pytest.mark.long
async def test_one_plays_with_the_agents_of_a_game_of_several_each_by_its_own_policy(
    tmp_path: Path, browser: Browser
):
    words = ("foragers", "--total-steps", "4000", "--collection.seats", "scout,scout,heavy")
    site = export_page(tmp_path, *words)
    assert {"scout.onnx", "heavy.onnx"} <= {path.name for path in site.iterdir()}
    with served_folder(site, STRICT) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await expect(page.locator("#status")).to_have_text("The agent plays.")
            await page.get_by_role("button", name="Play with the agent").click()
            await page.keyboard.press("ArrowLeft")
            mean = re.compile(r"^You and the agent: -?\d+\.\d : -?\d+\.\d : -?\d+\.\d")
            await expect(score_of(page, "You and the agent")).to_have_text(mean, timeout=120_000)


@pytest.mark.long
async def test_one_plays_against_the_agent_of_a_game_of_two_sides(tmp_path: Path, browser: Browser):
    # The other paddle is the agent's; nobody touches a key, and the first one stands still.
    site = export_page(tmp_path, str(ROOT / "benchmarks" / "suite" / "duel.ts"), "--total-steps", "100000")
    with served_folder(site, STRICT) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.get_by_role("button", name="Play with the agent").click()
            await expect(page.locator("#status")).to_have_text("You play by keyboard.")
            scores = score_of(page, "You and the agent")
            await expect(scores).to_have_text(re.compile(r"-?\d\.\d : -?\d\.\d"), timeout=120_000)
            mine, its = re.findall(r"-?\d\.\d", await scores.inner_text())[:2]
            assert float(mine) < 0 < float(its)


@pytest.mark.long
async def test_a_network_larger_than_a_file_may_be_is_split_and_plays(tmp_path: Path, browser: Browser):
    site = export_page(tmp_path, "harvest", "--total-steps", "2000")
    assert {"policy.onnx.1", "policy.onnx.2"} <= {path.name for path in site.iterdir()}
    assert not (site / "policy.onnx").exists()
    await watched(browser, site)


@pytest.mark.soak
@pytest.mark.parametrize("game", ["snake", "lander", "pendulum", "memory", "keydoor"])
async def test_the_agent_of_each_bundled_game_plays_its_page(game: str, tmp_path: Path, browser: Browser):
    await watched(browser, export_page(tmp_path, game, "--total-steps", "4000"))


async def watched(browser: Browser, site: Path) -> None:
    """The agent plays an episode to its end in the page, and nothing is reported."""
    with served_folder(site, STRICT) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await expect(page.locator("#status")).to_have_text("The agent plays.")
            await expect(score_of(page, "The agent")).to_have_text(re.compile(r"-?\d+\.\d"), timeout=120_000)
            await page.get_by_role("button", name="Play yourself").click()
            await expect(page.locator("#status")).to_have_text("You play by keyboard.")


@pytest.mark.parametrize("missing", ["game.js", "policy.json"])
async def test_a_folder_that_is_not_whole_says_so(
    missing: str, cartpole: Path, tmp_path: Path, browser: Browser
):
    site = Path(shutil.copytree(cartpole, tmp_path / "site"))
    (site / missing).unlink()
    with served_folder(site, STRICT) as address:
        async with open_page(browser, address, moves=True) as (page, said):
            said.expected += ["404", missing, "Failed to fetch"]
            await expect(page.locator("#status")).to_have_text(re.compile("cannot start"))
            await expect(page.locator("#status")).to_have_text(re.compile(missing.replace(".", r"\.")))
