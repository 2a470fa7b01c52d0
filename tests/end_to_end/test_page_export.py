"""A page game's agent back in its page: nobody plays, it does; a key, and it leaves off."""

from pathlib import Path

import pytest
from playwright.async_api import Page

from attract_command import run_attract
from dashboard_page import chromium, open_page
from served_page import served_folder

READ = {
    "meteors": "[state, survived, Object.values(held).some(Boolean)]",
    "moles": """[document.getElementById("begin").disabled ? "playing" : "over",
        Number(document.getElementById("score").textContent), false]""",
}
"""Of a page: whether it is played, what its score is, whether a key is held."""
MORE_THAN_CHANCE = {"meteors": 4.0, "moles": 3.0}
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval'"


async def best_of(page: Page, game: str, wanted: float) -> float:
    """The best score seen within a minute and a half, or the first that is enough."""
    best = 0.0
    for _ in range(90):
        best = max(best, float((await page.evaluate(READ[game]))[1] or 0))
        if best > wanted:
            break
        await page.wait_for_timeout(1000)
    return best


@pytest.mark.parametrize("game", ["meteors", pytest.param("moles", marks=pytest.mark.soak)])
async def test_the_exported_page_plays_itself_until_somebody_does(game: str, tmp_path: Path) -> None:
    runs_dir, site = tmp_path / "runs", tmp_path / "site"
    words = ("train", game, "--headless", "--total-steps", "60000", "--run-id", "p", "--json")
    trained = run_attract(*words, runs_dir=runs_dir)
    assert trained.code == 0, trained.stderr
    exported = run_attract("export", "p", "--page", "--out", str(site), runs_dir=runs_dir)
    assert exported.code == 0, exported.stderr
    assert {path.name for path in (site / "attract").iterdir()} == {
        "agent.js", "game.js", "main.js", "page.js", "policy.json", "policy.onnx",
    }  # fmt: skip
    with served_folder(site, POLICY) as address:
        async with chromium() as browser, open_page(browser, address) as (page, said):
            said.expected += ["404", "favicon"]
            assert (await page.evaluate(READ[game]))[0] != "playing"
            assert await best_of(page, game, MORE_THAN_CHANCE[game]) > MORE_THAN_CHANCE[game]
            await page.keyboard.press("KeyQ")
            await page.wait_for_timeout(300)
            assert (await page.evaluate(READ[game]))[2] is False
