"""A page game whose agent sees nothing but the canvas: trained, evaluated, and back in its page."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser

from attract_command import run_attract
from dashboard_page import open_page
from servers import served_folder

PAGE = """<!doctype html><title>Lights</title><canvas width="60" height="40"></canvas><script>
  const context = document.querySelector("canvas").getContext("2d");
  let lit = 0, right = 0, round = 0, ticks = 0, state = "title";
  const held = new Set();
  addEventListener("keydown", ({ code }) => held.add(code));
  addEventListener("keyup", ({ code }) => held.delete(code));
  function next() { lit = Math.random() < 0.5 ? 0 : 1; ticks = 0; }
  function begin() { right = 0; round = 0; state = "playing"; next(); }
  function frame() {
    if (state === "playing" && ++ticks === 4) {
      right += held.has(lit ? "ArrowRight" : "ArrowLeft") ? 1 : -1;
      if (++round === 20) state = "over";
      next();
    }
    context.fillStyle = "#000"; context.fillRect(0, 0, 60, 40);
    context.fillStyle = "#fd8"; context.fillRect(30 * lit + 5, 10, 20, 20);
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
</script>
"""
ADAPTER = """
import { definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Lights-v1", page: "index.html", size: [100, 80], maxSeconds: 10,
  pixels: { size: 12, stack: 1 },
  action: discrete(["left", "right"]),
  keys: { left: ["ArrowLeft"], right: ["ArrowRight"] },
  loaded(w) { w.look = w.eval("() => ({ state, right })"); },
  ready: (w) => w.look().state === "title",
  restart: (w) => w.eval("begin()"),
  score: (w) => w.look().right,
  over: (w) => w.look().state === "over",
});
"""
"""An episode has 20 lights: each that is answered on its side counts 1, each other one -1."""
MOSTLY_RIGHT = 14.0
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the game lies and was trained, as run `p`."""
    folder = tmp_path_factory.mktemp("lights")
    (folder / "index.html").write_text(PAGE)
    (folder / "lights.page.ts").write_text(ADAPTER)
    words = ("train", "lights.page.ts", "--headless", "--workers", "1", "--run-id", "p", "--json")
    goal = ("--until-return", str(MOSTLY_RIGHT), "--total-steps", "60000")
    trained = run_attract(*words, *goal, runs_dir=folder / "runs", folder=folder)
    assert trained.code == 0, trained.stdout + trained.stderr
    assert trained.json["goal_reached"], trained.json
    return folder


@pytest.mark.long
def test_an_agent_learns_from_the_canvas_alone(folder: Path) -> None:
    evaluated = run_attract("eval", "p", "--episodes", "4", "--json", runs_dir=folder / "runs", folder=folder)
    assert evaluated.code == 0, evaluated.stderr
    assert evaluated.json["return_mean"] > MOSTLY_RIGHT


@pytest.mark.long
async def test_the_exported_page_is_played_by_what_its_canvas_shows(
    folder: Path, tmp_path: Path, browser: Browser
) -> None:
    site = tmp_path / "site"
    words = ("export", "p", "--page", "--out", str(site))
    exported = run_attract(*words, runs_dir=folder / "runs", folder=folder)
    assert exported.code == 0, exported.stderr
    with served_folder(site, POLICY) as address:
        async with open_page(browser, address, moves=True) as (page, said):
            said.expected += ["404", "favicon"]
            # After ten seconds without anybody; who sees nothing is right as often as not.
            best = 0
            for _ in range(60):
                best = max(best, await page.evaluate("right"))
                if best > MOSTLY_RIGHT / 2:
                    break
                await page.wait_for_timeout(500)
            assert best > MOSTLY_RIGHT / 2


def test_a_page_that_draws_by_webgl_alone_is_refused(tmp_path: Path) -> None:
    body = '<canvas id="board"></canvas><script>board.getContext("webgl");'
    rest = 'const state = "title", right = 0; function begin() {}</script>'
    (tmp_path / "index.html").write_text(f"<!doctype html>{body}{rest}")
    (tmp_path / "lights.page.ts").write_text(ADAPTER)
    checked = run_attract("check", "lights.page.ts", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert checked.code != 0
    said = re.sub(r"\s+", " ", checked.stdout + checked.stderr)
    assert "pixels: the canvas #board (300 x 150) requested WebGL" in said
