"""The example of `attract skill`, on a page of the kind that it is written for."""

from pathlib import Path

from attract.commands.skill import skill_text
from attract_command import run_attract

PAGE = """<!doctype html>
<canvas width="800" height="600"></canvas>
<script>
  let player, rocks, score, state;
  const keys = new Set();
  function newGame() {
    player = { x: 400, y: 560 };
    rocks = [];
    score = 0;
    state = "playing";
  }
  addEventListener("keydown", ({ code }) => keys.add(code));
  addEventListener("keyup", ({ code }) => keys.delete(code));
  let frame = 0;
  function draw() {
    requestAnimationFrame(draw);
    if (state !== "playing") return;
    frame += 1;
    if (keys.has("ArrowLeft")) player.x = Math.max(0, player.x - 6);
    if (keys.has("ArrowRight")) player.x = Math.min(800, player.x + 6);
    if (frame % 40 === 0) rocks.push({ x: Math.random() * 800, y: 0 });
    for (const rock of rocks) rock.y += 4;
    if (rocks.some(({ x, y }) => Math.hypot(x - player.x, y - player.y) < 40)) state = "over";
    rocks = rocks.filter(({ y }) => y < 600 || (score += 10) < 0);
  }
  newGame();
  draw();
</script>
"""


def test_its_example_is_an_adapter_that_plays(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    _, _, rest = skill_text("attract").partition("```ts\n")
    example, _, _ = rest.partition("```")
    lines = [line.removeprefix("   ") for line in example.splitlines()]
    game = tmp_path / "game.page.ts"
    game.write_text("\n".join(lines))
    outcome = run_attract("check", str(game), "--json", runs_dir=tmp_path / "runs")
    answer = outcome.json
    assert outcome.code == 0, answer
    assert answer["ok"] is True
    assert answer["play"]["return_mean"] > 0
    assert 20 < answer["play"]["length_mean"] < 2_000
