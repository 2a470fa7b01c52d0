"""Games that live in a page: trained, evaluated and resumed as any other, in frames of a real Chromium."""

import json
from pathlib import Path

import pytest

from attract_command import run_attract

RANDOM_SECONDS = 3.0
"""Random play of Meteors survives for two seconds, seldom for three."""
NEVER_READY = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Broken-v1", page: "%s",
  observation: box({ shape: [1] }), action: discrete(["wait"]), keys: { wait: [] },
  ready: (w) => w.isReady === true, observe: () => [0], score: () => 0, over: () => false, maxSeconds: 1,
});
"""
COUNTED = """<!doctype html><script>
let ticks = 0, hits = 0;
const begin = () => { ticks = hits = 0; };
addEventListener("keydown", () => { hits++; });
requestAnimationFrame(function frame() { ticks++; requestAnimationFrame(frame); });
window.look = () => ({ ticks, hits });
</script>"""
COUNTING = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Counted-v1", page: "dist/index.html", maxSeconds: 5,
  observation: box({ shape: [1] }), action: discrete(["wait", "hit"]), keys: { wait: [], hit: ["Space"] },
  restart: (w) => w.eval("begin()"), observe: (w) => [w.look().ticks / 60],
  score: (w) => w.look().hits, over: (w) => w.look().ticks > 100,
});
"""
PORTAL = """<!doctype html><title>Games</title><h1>Play</h1>
<iframe src="play/game.html?from=portal" width="780" height="480" allow="autoplay"></iframe>"""
IN_PORTAL = """<!doctype html><body><script type="module">
const held = {};
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
let state = "menu", side = "Left", score = 0, until = 0, end = 0;
function turn() { side = Math.random() < 0.5 ? "Left" : "Right"; until = performance.now() + 500; }
function begin() { state = "playing"; score = 0; end = Date.now() + 4000; turn(); }
function frame(now) {
  if (state === "menu" && held.Enter) begin();
  if (state === "playing") {
    if (held[`Arrow${side}`] && !held[`Arrow${side === "Left" ? "Right" : "Left"}`]) score++;
    if (now >= until) turn();
    if (Date.now() >= end) state = "over";
  }
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
window.game = { look: () => ({ state, side, score }), menu() { state = "menu"; } };
</script>"""
AWAITING = """<!doctype html><body><script>
const held = {};
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let state = "menu", side = "Left", score = 0, rounds = 0;
async function round() {
  side = Math.random() < 0.5 ? "Left" : "Right";
  for (let i = 0; i < 30; i++) {
    await frame();
    if (held[`Arrow${side}`]) score++;
  }
}
async function play() {
  for (;;) {
    while (!held.Enter) await frame();
    score = 0;
    await wait(100);
    state = "playing";
    for (rounds = 0; rounds < 8 && state === "playing"; rounds++) await round();
    if (state === "playing") state = "over";
    while (state === "over") await frame();
  }
}
play();
window.game = { look: () => ({ state, side, score }), menu() { state = "menu"; } };
</script>"""
AWAITING_ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Awaiting-v1", page: "index.html", maxSeconds: 10, TURNS
  observation: box({ shape: [1] }), action: discrete(["left", "right"]),
  keys: { left: ["ArrowLeft"], right: ["ArrowRight"] }, restart: (w) => w.game.menu(),
  menu: (w, page) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
  playing: (w) => w.game.look().state === "playing",
  observe: (w) => [w.game.look().side === "Left" ? -1 : 1],
  score: (w) => w.game.look().score / 100, over: (w) => w.game.look().state === "over",
});
"""
PORTAL_ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
const game = (w) => w.frames[0]?.game;
export default definePageGame({
  id: "InPortal-v1", page: "index.html",
  observation: box({ shape: [1] }), action: discrete(["left", "right"]),
  keys: { left: ["ArrowLeft"], right: ["ArrowRight"] },
  ready: (w) => game(w) !== undefined, restart: (w) => game(w).menu(),
  menu: (w, page) => page.hold(page.ticks % 4 < 2 ? ["Enter"] : []),
  playing: (w) => game(w).look().state === "playing",
  observe: (w) => [game(w).look().side === "Left" ? -1 : 1],
  score: (w) => game(w).look().score / 100, over: (w) => game(w).look().state === "over",
});
"""


def test_an_agent_learns_in_the_page_that_is_shipped(trained_meteors: Path) -> None:
    outcome = json.loads((trained_meteors / "outcome.json").read_text())
    assert outcome["episode_return_mean"] > 2 * RANDOM_SECONDS


# `make test` plays an episode of this run again in test_replay.py.
@pytest.mark.long
def test_an_evaluation_plays_each_episode_in_a_page_of_its_own_and_can_be_repeated(
    trained_meteors: Path,
) -> None:
    words = ("eval", "p", "--episodes", "12", "--json")
    first, second = (run_attract(*words, runs_dir=trained_meteors) for _ in range(2))
    assert first.code == second.code == 0, first.stderr + second.stderr
    assert first.json["return_mean"] > 2 * RANDOM_SECONDS
    names = ("return_mean", "length_mean")
    assert [first.json[name] for name in names] == [second.json[name] for name in names]


@pytest.mark.long
def test_a_run_goes_on_from_where_it_was(trained_meteors: Path) -> None:
    words = ("train", "--resume", "--run-id", "p", "--headless", "--total-steps", "50000", "--json")
    resumed = run_attract(*words, runs_dir=trained_meteors)
    assert resumed.code == 0, resumed.stderr
    assert resumed.json["episode_return_mean"] > 2 * RANDOM_SECONDS


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("index.html", "ready() was still false after 2000 frames"),
        pytest.param("other.html", "could not be had", marks=pytest.mark.long),
    ],
)
def test_a_page_that_is_no_game_is_named(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title>")
    (tmp_path / "broken.page.ts").write_text(NEVER_READY % page)
    words = ("train", "broken.page.ts", "--headless", "--total-steps", "1000", "--workers", "1")
    result = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert result.code != 0
    assert text in result.stdout + result.stderr


@pytest.mark.long
def test_a_game_whose_folder_has_moved_is_played_and_exported_from_where_it_is_now(tmp_path: Path) -> None:
    folder, runs_dir, site = tmp_path / "then", tmp_path / "runs", tmp_path / "site"
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / "index.html").write_text(COUNTED)
    (folder / "dist" / "bundle.js.map").write_bytes(bytes(2_000))
    (folder / "game.page.ts").write_text(COUNTING)
    words = ("train", str(folder / "game.page.ts"), "--headless", "--total-steps", "4000", "--no-check")
    trained = run_attract(*words, "--workers", "1", "--run-id", "c", runs_dir=runs_dir)
    assert trained.code == 0, trained.stderr
    now = folder.rename(tmp_path / "now")
    evaluate = ("eval", "c", "--episodes", "3", "--json")
    export = ("export", "c", "--page", "--out", str(site))
    for words in (evaluate, export):
        refused = run_attract(*words, runs_dir=runs_dir)
        assert refused.code == 2, refused.stderr
        said = " ".join(refused.stderr.split())
        assert "the page dist/index.html" in said and str(folder) in said and "--game PATH" in said
    assert not site.exists()
    evaluated = run_attract(*evaluate, "--game", str(now), runs_dir=runs_dir)
    assert evaluated.code == 0, evaluated.stderr
    assert evaluated.json["episodes"] == 3 and evaluated.json["length_mean"] == 25
    exported = run_attract(*export, "--game", str(now / "game.page.ts"), runs_dir=runs_dir)
    assert exported.code == 0, exported.stderr
    assert "left out: bundle.js.map (2 kB)" in exported.stdout
    assert (site / "attract" / "main.js").is_file() and (site / "index.html").is_file()


@pytest.mark.long
def test_a_game_in_a_frame_within_its_page_is_the_same_twice_and_learned(tmp_path: Path) -> None:
    (tmp_path / "play").mkdir()
    (tmp_path / "index.html").write_text(PORTAL)
    (tmp_path / "play" / "game.html").write_text(IN_PORTAL)
    (tmp_path / "portal.page.ts").write_text(PORTAL_ADAPTER)
    runs_dir = tmp_path / "runs"
    checked = run_attract("check", "portal.page.ts", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert checked.code == 0, checked.stdout + checked.stderr
    assert checked.json["findings"] == []
    words = ("train", "portal.page.ts", "--headless", "--total-steps", "40000", "--no-check", "--json")
    trained = run_attract(*words, "--run-id", "p", runs_dir=runs_dir, folder=tmp_path)
    assert trained.code == 0, trained.stderr
    # Four seconds of 60 frames: 2.4 at most, and half of that by chance.
    assert trained.json["episode_return_mean"] > 1.9
    evaluated = run_attract("eval", "p", "--episodes", "4", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert evaluated.json["return_mean"] > 2.2, evaluated.stderr


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_game_that_waits_for_promises_between_its_frames_is_learned_with_turns(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(AWAITING)
    (tmp_path / "never.page.ts").write_text(AWAITING_ADAPTER.replace("TURNS", ""))
    (tmp_path / "awaiting.page.ts").write_text(AWAITING_ADAPTER.replace("TURNS", "turns: true,"))
    runs_dir = tmp_path / "runs"
    refused = run_attract("check", "never.page.ts", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert "turns: true" in refused.stdout
    checked = run_attract("check", "awaiting.page.ts", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert checked.code == 0 and checked.json["findings"] == [], checked.stdout
    words = ("train", "awaiting.page.ts", "--headless", "--total-steps", "30000", "--no-check", "--json")
    trained = run_attract(*words, "--run-id", "a", runs_dir=runs_dir, folder=tmp_path)
    assert trained.code == 0, trained.stderr
    # Eight rounds of 30 frames: 2.4 at most, and half of that by chance.
    assert trained.json["episode_return_mean"] > 1.8
    words = ("eval", "a", "--episodes", "4", "--json")
    first, second = (run_attract(*words, runs_dir=runs_dir, folder=tmp_path) for _ in range(2))
    assert first.json["return_mean"] == second.json["return_mean"] > 2.2, first.stderr
