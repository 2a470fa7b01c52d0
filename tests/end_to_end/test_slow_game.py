"""A game of some 25 steps a second: what comes before its first update is told, and speeds are of play."""

import re
from pathlib import Path

import pytest

from attract_command import run_attract

GAME = """
import { box, defineGame, discrete } from "attract";

class Slow {
  ticks = 0;
  start() {
    this.ticks = 0;
    return [0];
  }
  update(_deltaTime: number, action: number) {
    const until = performance.now() + 40;
    while (performance.now() < until);
    this.ticks++;
    return { observation: [this.ticks / 20], reward: action, terminated: this.ticks === 20 };
  }
}

export default defineGame({
  id: "Slow-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(2),
  create: () => new Slow(),
});
"""


@pytest.mark.long
def test_a_slow_game_is_told_of_before_its_first_update(tmp_path: Path) -> None:
    game = tmp_path / "slow.ts"
    game.write_text(GAME)
    outcome = run_attract(
        "train", str(game), "--headless", "--no-check", "--workers", "1", "--total-steps", "256",
        runs_dir=tmp_path / "runs",
    )  # fmt: skip
    output = outcome.stdout + outcome.stderr
    assert outcome.code == 0, output
    assert re.search(r"^warming up: \d+ of 256 steps", output, re.MULTILINE), output
    assert re.search(
        r"^playing the first batch: \d+ of 256 steps, \d+ steps/s, \d+ s left", output, re.MULTILINE
    )
    (first,) = re.findall(r"^update 1 .* (\d+) steps/s", output, re.MULTILINE)
    (whole,) = re.findall(r"^finished: .* (\d+) steps/s", output, re.MULTILINE)
    # 40 ms a step are 25 a second at the very most.
    assert 5 <= int(whole) <= 26
    assert 5 <= int(first) <= 26
