"""DQN and SAC in a headless browser with what a game may have: named policies, masks, pictures."""

from contextlib import closing
from pathlib import Path

import pytest

from attract.runs.metrics import MetricsStore
from attract_command import run_attract

CHOOSE = """
import { box, defineGame, dict, discrete } from "attract";

const SIZE = 8;

/**
 * Each sees a lit quarter of a picture. The scout is paid for its number, the keeper for the next one.
 * The mask bars a third.
 */
class Choose {
  start({ random, out }) {
    this.random = random;
    this.left = 4;
    this.turn(out);
    return this.observe();
  }

  turn(out) {
    this.lit = [this.random.int(4), this.random.int(4)];
    this.barred = this.lit.map((lit) => (lit + 2) % 4);
    this.barred.forEach((barred, agent) => out.actionMask[agent].fill(1).fill(0, barred, barred + 1));
  }

  update(_deltaTime, actions, out) {
    for (const agent of [0, 1]) {
      if (actions[agent] === this.barred[agent]) throw new Error(`agent ${agent} took a barred choice`);
    }
    const reward = [0, 1].map((agent) => (actions[agent] === (this.lit[agent] + agent) % 4 ? 1 : 0));
    this.left -= 1;
    this.turn(out);
    return { observation: this.observe(), reward, terminated: this.left === 0 };
  }

  observe() {
    return this.lit.map((lit) => {
      const picture = new Uint8Array(SIZE * SIZE);
      picture.fill(255, (lit * SIZE * SIZE) / 4, ((lit + 1) * SIZE * SIZE) / 4);
      return { picture, left: [this.left] };
    });
  }
}

export default defineGame({
  id: "Choose-v1",
  tickSeconds: 1,
  numAgents: 2,
  observation: dict({ picture: box({ shape: [SIZE, SIZE, 1], dtype: "uint8" }), left: box({ shape: [1] }) }),
  action: discrete(4),
  actionMask: true,
  create: () => new Choose(),
});
"""
"""A return of 4 at most; of random play, which has three choices, 1.33."""
AIM = """
import { box, defineGame } from "attract";

const SIZE = 8;

class Aim {
  start({ random }) {
    this.random = random;
    this.left = 4;
    return this.observe();
  }

  update(_deltaTime, action) {
    if (Math.abs(action[0]) > 2) throw new Error(`${action[0]} lies outside of the box`);
    const reward = -Math.abs(action[0] - (this.lit - 3.5) / 2);
    this.left -= 1;
    return { observation: this.observe(), reward, terminated: this.left === 0 };
  }

  observe() {
    this.lit = this.random.int(SIZE);
    const picture = new Uint8Array(SIZE * SIZE);
    for (let row = 0; row < SIZE; row++) picture[row * SIZE + this.lit] = 255;
    return picture;
  }
}

export default defineGame({
  id: "Aim-v1",
  tickSeconds: 1,
  observation: box({ shape: [SIZE, SIZE, 1], dtype: "uint8" }),
  action: box({ shape: [1], low: -2, high: 2 }),
  create: () => new Aim(),
});
"""
"""A return of 0 at most: the distance to the lit column, from -1.75 to 1.75. Always 0 gives -4."""
FEW = (
    *("--headless", "--workers", "1", "--instances", "8", "--policy.hidden-sizes", "32", "--seed", "1"),
    *("--no-check", "--json"),
)


# `make test` trains DQN in a browser in test_dqn.py; pictures, masks and named policies in
# backend/learner/dqn.
@pytest.mark.long
def test_dqn_learns_named_policies_from_pictures_and_takes_what_the_mask_allows(tmp_path: Path) -> None:
    game = tmp_path / "choose.ts"
    game.write_text(CHOOSE)
    outcome = run_attract(
        "train", str(game), "--algorithm", "dqn", *FEW, "--collection.seats", "scout,keeper",
        "--total-steps", "3000", "--run-id", "choose", "--dqn.learning-rate", "0.002", "--dqn.gamma", "0.5",
        "--dqn.replay-ratio", "0.1", "--dqn.learning-starts", "200",
        "--dqn.exploration-fraction", "0.3", runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    with closing(MetricsStore(tmp_path / "runs" / "choose" / "metrics.db")) as store:
        (*_, (_, _, last)) = store.rows()
    # Three of four pictures right, which a network without any learning may have by chance, give 3.
    for agent, policy in enumerate(("scout", "keeper")):
        assert last[f"rollout/ep_rew_mean/agent_{agent}"] > 3.2
        # What each predicts is near what followed.
        predicted, played = last[f"train/q_value/{policy}"], last[f"train/discounted_return/{policy}"]
        assert 0.4 * played < predicted < 1.6 * played


# `make test` has SAC in tests/backend/learner/sac, and pictures by DQN above.
@pytest.mark.long
def test_sac_learns_from_a_picture_within_its_box(tmp_path: Path) -> None:
    game = tmp_path / "aim.ts"
    game.write_text(AIM)
    outcome = run_attract(
        "train", str(game), "--algorithm", "sac", *FEW, "--total-steps", "2500", "--sac.gamma", "0.5",
        "--sac.replay-ratio", "0.2", "--sac.batch-size", "64", "--sac.learning-rate", "0.003",
        "--sac.learning-starts", "200", runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["learned"] is True
    assert outcome.json["episode_return_mean"] > -3.0
