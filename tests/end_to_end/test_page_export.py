"""A page game's agent back in its page: nobody plays, it does; a key, and it leaves off."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from attract_command import run_attract
from dashboard_page import open_page
from servers import served_folder

ABOVE = """<!doctype html><link rel="stylesheet" href="../../styles.css"><body>
<script src="../../lib/engine.js"></script>
<script>
const held = {};
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
let ticks = 0, hits = 0;
const begin = () => { ticks = hits = 0; };
engine.each(() => { ticks++; if (held.Space) hits++; });
window.look = () => ({ ticks, hits });
</script>"""
ENGINE = """const engine = { each(call) {
  requestAnimationFrame(function next() { call(); requestAnimationFrame(next); });
} };"""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Above-v1", page: "17_above.html", maxSeconds: 5,
  observation: box({ shape: [1] }), action: discrete(["wait", "hit"]), keys: { wait: [], hit: ["Space"] },
  restart: (w) => w.eval("begin()"), observe: (w) => [w.look().ticks / 60],
  score: (w) => w.look().hits, over: (w) => w.look().ticks > 100,
});
"""
READ = {
    "meteors": "[state, survived, Object.values(held).some(Boolean)]",
    "moles": """[document.getElementById("begin").disabled ? "playing" : "over",
        Number(document.getElementById("score").textContent), false]""",
}
"""State of a page: whether it is played, what its score is, whether a key is held."""
MORE_THAN_CHANCE = {"meteors": 4.0, "moles": 3.0}
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval'"


async def best_of(page: Page, game: str, wanted: float) -> float:
    """The best score seen within a minute and a half, or the first that is enough."""
    best = 0.0
    for _ in range(900):
        best = max(best, float((await page.evaluate(READ[game]))[1] or 0))
        if best > wanted:
            break
        await page.wait_for_timeout(100)
    return best


@pytest.fixture
def trained_moles(tmp_path: Path) -> Path:
    words = ("train", "moles", "--headless", "--total-steps", "60000", "--run-id", "p", "--json")
    trained = run_attract(*words, runs_dir=tmp_path / "runs")
    assert trained.code == 0, trained.stderr
    return tmp_path / "runs"


# `make test` has an agent that plays a page until a key is pressed in web/sdk/page/attach.browser.test.ts,
# what an export holds in backend/commands/test_exported_trial.py.
@pytest.mark.long
@pytest.mark.parametrize("game", ["meteors", pytest.param("moles", marks=pytest.mark.soak)])
async def test_the_exported_page_plays_itself_until_somebody_does(
    game: str, tmp_path: Path, request: pytest.FixtureRequest, browser: Browser
) -> None:
    runs_dir, site = request.getfixturevalue(f"trained_{game}"), tmp_path / "site"
    exported = run_attract("export", "p", "--page", "--out", str(site), runs_dir=runs_dir)
    assert exported.code == 0, exported.stderr
    assert {path.name for path in (site / "attract").iterdir()} == {
        "agent.js", "game.js", "main.js", "page.js", "policy.json", "policy.onnx",
    }  # fmt: skip
    with served_folder(site, POLICY) as address:
        async with open_page(browser, address, moves=True) as (page, said):
            said.expected += ["404", "favicon"]
            assert (await page.evaluate(READ[game]))[0] != "playing"
            assert await best_of(page, game, MORE_THAN_CHANCE[game]) > MORE_THAN_CHANCE[game]
            await page.keyboard.press("KeyQ")
            await page.wait_for_timeout(300)
            assert (await page.evaluate(READ[game]))[2] is False


# `make test` has what lies above a page in backend/games/test_page_files.py, what an exported page asks for
# in vain in backend/commands/test_exported_trial.py.
@pytest.mark.long
def test_what_a_page_loads_from_above_is_there_in_check_training_and_its_export(tmp_path: Path) -> None:
    """The page lies two folders below what it loads; only a name in it says so, and no server of it."""
    project, runs_dir, site = tmp_path / "project", tmp_path / "runs", tmp_path / "site"
    folder = project / "examples" / "one"
    folder.mkdir(parents=True)
    (project / "lib").mkdir()
    (project / ".git").mkdir()
    (project / "lib" / "engine.js").write_text(ENGINE)
    (project / "styles.css").write_text("body { color: red }")
    (folder / "17_above.html").write_text(ABOVE)
    adapter = folder / "above.page.ts"
    adapter.write_text(ADAPTER)
    refused = run_attract("check", str(adapter), runs_dir=runs_dir)
    assert refused.code != 0 and "name it by --include" in refused.stdout + refused.stderr
    listed = ("--include", f"{project / 'lib'},{project / 'styles.css'}")
    checked = run_attract("check", str(adapter), *listed, runs_dir=runs_dir)
    assert checked.code == 0, checked.stdout + checked.stderr
    assert "which does not exist" not in checked.stdout + checked.stderr
    words = ("train", str(adapter), "--headless", "--total-steps", "2000", "--run-id", "p", "--no-check")
    trained = run_attract(*words, *listed, runs_dir=runs_dir)
    assert trained.code == 0, trained.stderr
    exported = run_attract("export", "p", "--page", "--out", str(site), *listed, runs_dir=runs_dir)
    assert exported.code == 0, exported.stderr
    assert "http://localhost:8000/examples/one/17_above.html" in exported.stdout
    assert len(re.findall("note: it has .* of --include", exported.stdout)) == 2
    assert (site / "lib" / "engine.js").is_file() and (site / "styles.css").is_file()

    # Without its engine it is dead, and that is said.
    (project / "lib" / "engine.js").unlink()
    words = ("export", "p", "--page", "--out", str(tmp_path / "other"), *listed)
    refused = run_attract(*words, runs_dir=runs_dir)
    assert refused.code != 0
    assert (
        "the exported page does not work: it requests /lib/engine.js, which does not exist" in refused.stderr
    )
    assert "engine is not defined" in refused.stderr
