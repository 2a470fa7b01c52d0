"""Games of one's own: choices, switches, masks and sets; trained, exported and judged in browsers."""

import json
from pathlib import Path

import onnxruntime
import pytest

from attract_command import run_attract

DIALS = """
import { box, defineGame, multiDiscrete } from "attract";

// Turn each of two dials to the position that is shown; one other position of each is locked.
class Dials {
  start({ random, out }) {
    this.random = random;
    this.step = 0;
    this.draw(out);
  }
  update(deltaTime, action, out) {
    let right = 0;
    for (let dial = 0; dial < 2; dial++) {
      if (action[dial] === this.locked[dial]) throw new Error("a locked position was chosen");
      if (action[dial] === this.target[dial]) right++;
    }
    this.step++;
    this.draw(out);
    return { reward: right / 2, terminated: this.step === 10 };
  }
  draw(out) {
    this.target = [this.random.int(3), this.random.int(4)];
    this.locked = [(this.target[0] + 1) % 3, (this.target[1] + 1 + this.random.int(3)) % 4];
    out.observation.fill(0);
    out.observation[this.target[0]] = 1;
    out.observation[3 + this.target[1]] = 1;
    out.actionMask.fill(1);
    out.actionMask[this.locked[0]] = 0;
    out.actionMask[3 + this.locked[1]] = 0;
  }
}

export default defineGame({
  id: "Dials-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [7] }),
  action: multiDiscrete([3, 4]),
  actionMask: true,
  create: () => new Dials(),
});
"""

SWITCHES = """
import { box, defineGame, multiBinary } from "attract";

// Set four switches as four lamps show.
class Switches {
  start({ random, out }) {
    this.random = random;
    this.step = 0;
    this.draw(out);
  }
  update(deltaTime, action, out) {
    let right = 0;
    for (let i = 0; i < 4; i++) if (action[i] === this.lamps[i]) right++;
    this.step++;
    this.draw(out);
    return { reward: right / 4, terminated: this.step === 10 };
  }
  draw(out) {
    this.lamps = [0, 1, 2, 3].map(() => this.random.int(2));
    out.observation.set(this.lamps);
  }
}

export default defineGame({
  id: "Switches-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [4] }),
  action: multiBinary(4),
  create: () => new Switches(),
});
"""
THINGS = """
import { defineGame, discrete, set } from "attract";

// Up to six things in any order: is one of them red? Their other number says nothing.
class Things {
  start({ random }) {
    this.random = random;
    this.step = 0;
    return this.draw();
  }
  update(deltaTime, action) {
    const right = action === (this.things.some(([red]) => red === 1) ? 1 : 0);
    this.step++;
    return { observation: this.draw(), reward: right ? 1 : 0, terminated: this.step === 10 };
  }
  draw() {
    const isRed = this.random.int(2);
    this.things = Array.from({ length: this.random.int(6) }, () => [0, this.random()]);
    if (isRed) this.things.splice(this.random.int(this.things.length + 1), 0, [1, this.random()]);
    return this.things;
  }
}

export default defineGame({
  id: "Things-v1",
  tickSeconds: 0.1,
  observation: set({ max: 6, shape: [2] }),
  action: discrete(2),
  create: () => new Things(),
});
"""
GOAL = 9
"""The most is 10; a right step has a tenth of it."""


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("dials", DIALS),
        ("things", THINGS),
        # Switches differ from dials in what contract/test_distributions_golden.py compares.
        pytest.param("switches", SWITCHES, marks=pytest.mark.long),
    ],
)
def test_it_learns_and_its_export_says_what_its_actions_are(tmp_path: Path, name: str, source: str) -> None:
    game = tmp_path / f"{name}.js"
    game.write_text(source)
    trained = run_attract(
        "train", str(game), "--headless", "--workers", "2", "--seed", "1", "--run-id", name,
        "--until-return", str(GOAL), "--total-steps", "400000", "--ppo.gamma", "0.5", "--json",
        runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert trained.code == 0, trained.stderr
    assert trained.json["goal_reached"] is True
    folder = Path(trained.json["export"])
    described = json.loads((folder / "policy.json").read_text())
    session = onnxruntime.InferenceSession(str(folder / "policy.onnx"))
    outputs = {entry.name: entry.shape for entry in session.get_outputs()}
    kind, num_logits, components = {
        "dials": ("multi_discrete", 7, [2]),
        "switches": ("multi_binary", 4, [4]),
        "things": ("discrete", 2, []),
    }[name]
    assert outputs["logits"][1] == num_logits
    assert outputs["action"][1:] == components
    assert described["game"]["action"]["kind"] == kind
