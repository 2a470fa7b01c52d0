"""Several agents in one page: each by its own keys, learning from each other, in a real Chromium."""

from pathlib import Path

import pytest

from attract_command import run_attract

PAGE = """<!doctype html><title>Two bats</title><canvas width="200" height="100"></canvas><script>
{
  const context = document.querySelector("canvas").getContext("2d"), held = {};
  addEventListener("keydown", ({ code }) => { held[code] = true; });
  addEventListener("keyup", ({ code }) => { held[code] = false; });
  const bats = [{ up: "KeyQ", down: "KeyA" }, { up: "KeyP", down: "KeyL" }];
  let x, y, dx, dy, isOver;
  function serve() {
    [x, y, isOver] = [100, 100 * Math.random(), false];
    [dx, dy] = [Math.random() < 0.5 ? 4 : -4, 6 * Math.random() - 3];
    for (const bat of bats) Object.assign(bat, { y: 50, hits: 0 });
  }
  function frame() {
    if (!isOver) {
      for (const bat of bats)
        bat.y = Math.max(10, Math.min(90, bat.y + (held[bat.down] ? 4 : 0) - (held[bat.up] ? 4 : 0)));
      x += dx;
      y += dy;
      if (y < 0 || y > 100) dy = -dy;
      const at = x < 0 ? 0 : x > 200 ? 1 : null;
      if (at !== null) {
        if (Math.abs(bats[at].y - y) < 12) {
          bats[at].hits++;
          [x, dx, dy] = [at === 0 ? 0 : 200, -dx, 6 * Math.random() - 3];
        } else isOver = true;
      }
    }
    context.clearRect(0, 0, 200, 100);
    context.fillRect(x - 2, y - 2, 4, 4);
    bats.forEach((bat, at) => context.fillRect(at * 196, bat.y - 12, 4, 24));
    requestAnimationFrame(frame);
  }
  serve();
  requestAnimationFrame(frame);
  window.game = { serve, look: () => ({ x, y, dx, dy, isOver, bats }) };
}
</script>"""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "TwoBats-v1", page: "index.html", maxSeconds: 40, numAgents: 2,
  observation: box({ low: -4, high: 4, shape: [5] }), action: discrete(["stay", "up", "down"]),
  keys: [
    { stay: [], up: ["KeyQ"], down: ["KeyA"] },
    { stay: [], up: ["KeyP"], down: ["KeyL"] },
  ],
  restart: (w) => w.game.serve(),
  observe(w) {
    const { x, y, dx, dy, bats } = w.game.look();
    // Each sees the field from its own side.
    return bats.map((bat, at) => {
      const [away, coming] = at === 0 ? [x, -dx] : [200 - x, dx];
      return [away / 100, coming / 4, (y - bat.y) / 25, dy / 3, (bat.y - 50) / 25];
    });
  },
  score: (w) => w.game.look().bats.map(({ hits }) => hits),
  over: (w) => w.game.look().bats.map(() => w.game.look().isOver),
});
"""
RANDOM_HITS = 1.0
"""Two random players each return less than one ball before one of them misses."""


@pytest.mark.long
def test_two_agents_in_one_page_learn_from_each_other_and_are_exported_as_a_policy(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "game.page.ts").write_text(ADAPTER)
    runs_dir = tmp_path / "runs"
    checked = run_attract("check", "game.page.ts", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert checked.code == 0, checked.stdout + checked.stderr
    assert checked.json["findings"] == []
    assert checked.json["play"]["return_mean"] < RANDOM_HITS
    words = ("train", "game.page.ts", "--headless", "--total-steps", "60000", "--no-check", "--json")
    trained = run_attract(*words, "--run-id", "t", "--seed", "1", runs_dir=runs_dir, folder=tmp_path)
    assert trained.code == 0, trained.stderr
    evaluated = run_attract("eval", "t", "--episodes", "10", "--json", runs_dir=runs_dir, folder=tmp_path)
    assert evaluated.json["return_mean"] > 4 * RANDOM_HITS, evaluated.stdout + evaluated.stderr
    refused = run_attract("export", "t", "--page", "--out", "site", runs_dir=runs_dir, folder=tmp_path)
    assert refused.code == 2, refused.stdout + refused.stderr
    said = " ".join(refused.stderr.split())
    assert "TwoBats-v1 has 2 agents" in said and "export without --page" in said
    assert not (tmp_path / "site").exists()
    exported = run_attract("export", "t", "--out", "agent", runs_dir=runs_dir, folder=tmp_path)
    assert exported.code == 0, exported.stderr
    assert (tmp_path / "agent" / "policy.onnx").is_file()
