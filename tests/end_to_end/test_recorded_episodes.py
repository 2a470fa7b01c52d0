"""A run in a real browser keeps episodes of evaluations and training, and that in which its game failed."""

from pathlib import Path

import pytest

import attract
from attract.runs.episodes import read_episode
from attract.runs.loading import LoadedRun
from attract.schema.episode_actions import unpack_actions
from attract_command import run_attract

FAULTY = """
import { box, defineGame, discrete } from "attract";

let hasFailed = false;

class Faulty {
  ticks = 0;
  random: () => number;
  start({ random }) {
    this.random = random;
    this.ticks = 0;
    return [0];
  }
  update(_deltaTime: number, action: number) {
    this.ticks += 1;
    if (this.ticks === 40 && !hasFailed) {
      hasFailed = true;
      throw new RangeError("the floor is lava");
    }
    return { observation: [this.ticks / 1000], reward: action, terminated: this.random() < 0.05 };
  }
}

export default defineGame({
  id: "Faulty-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.1,
  maxSeconds: 1000,
  observation: box({ low: 0, high: 2, shape: [1] }),
  action: discrete(2),
  create: () => new Faulty(),
});
"""


def train(game: str, folder: Path, *arguments: str) -> LoadedRun:
    outcome = run_attract(
        "train", game, "--headless", "--no-check", "--run-id", "kept", *arguments, runs_dir=folder / "runs"
    )
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    return attract.load_run("kept", folder / "runs")


# `make test` keeps the best, the worst and the median in backend/run/test_episode_keeper.py.
@pytest.mark.long
def test_a_training_keeps_the_best_the_worst_and_the_median(tmp_path: Path) -> None:
    evaluation = '{"every_steps": 3000, "episodes": 8}'
    run = train(
        "cartpole",
        tmp_path,
        "--total-steps",
        "8000",
        "--callbacks.evaluation",
        evaluation,
        "--recording.every-updates",
        "4",
    )
    entries = run.recorded_episodes()
    assert all(entry.problem is None for entry in entries)
    for source in ("evaluation", "training"):
        own = [entry for entry in entries if entry.source == source]
        versions = {entry.policy_version for entry in own}
        full = [
            {entry.role: entry for entry in own if entry.policy_version == version} for version in versions
        ]
        returns = [
            [roles[role].episode_return for role in ("worst", "median", "best")]
            for roles in full
            if len(roles) == 3
        ]
        assert returns and all(sorted(three) == three for three in returns), (source, returns)
        assert any(three[0] < three[2] for three in returns)
    # The second is the first of versions 4 to 7 that a worker was given.
    kept = sorted({entry.policy_version for entry in entries if entry.source == "training"})
    assert kept[0] == 0 and kept[1] // 4 == 1, kept
    assert not [entry for entry in entries if entry.end_reason == "cut" and entry.source == "training"]
    means = {round(value, 3) for value in run.evaluations["eval/mean_reward"]}
    assert means, "the evaluations took place"
    episode = run.episode(entries[0].id)
    # CartPole pays one for each step.
    assert episode.returns == [float(episode.num_steps)]
    assert unpack_actions(episode.actions).shape == (episode.num_steps, 1)
    assert len(episode.marks.hashes) > 0 and episode.game_sha256 is not None
    assert entries[0].num_bytes < 4000

    saved = tmp_path / "saved"
    outcome = run_attract("eval", "kept", "--episodes", "5", "--save", str(saved), runs_dir=tmp_path / "runs")
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    assert f"saved 5 episodes in {saved}" in outcome.stdout
    episodes = [read_episode(path) for path in sorted(saved.glob("*.episode.json"))]
    assert [played.instance for played in episodes] == [0, 1, 2, 3, 4]
    assert {played.game_sha256 for played in episodes} == {episode.game_sha256}
    assert len(run.recorded_episodes()) == len(entries), "a past run is left as it is"


# `make test` plays every failure of a training again in test_replay.py, and looks at what is kept of one in
# backend/run/service/test_episodes.py.
@pytest.mark.long
def test_the_episode_in_which_the_game_failed_is_kept_up_to_that_step(tmp_path: Path) -> None:
    game = tmp_path / "faulty.ts"
    game.write_text(FAULTY)
    run = train(str(game), tmp_path, "--workers", "1", "--total-steps", "4000")
    (failure,) = [entry for entry in run.recorded_episodes() if entry.source == "failure"]
    assert failure.error == "RangeError: update() threw: RangeError: the floor is lava"
    episode = run.episode(failure.id)
    assert episode.error is not None
    assert (episode.end_reason, episode.num_steps, episode.error.tick) == ("failed", 40, 40)
    assert episode.error.stack is not None and "faulty.ts:18" in episode.error.stack
    assert unpack_actions(episode.actions).shape == (40, 1)
