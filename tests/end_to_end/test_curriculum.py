"""A curriculum on snake in a real browser: larger boards, and a resumed run that goes on in its lesson."""

import json
from pathlib import Path

import pytest

from attract.runs.metrics import MetricsStore
from attract_command import AttractCommand, Outcome

CURRICULUM = """
parameters: {size: 9}
curriculum:
  every_episodes: 20
  lessons:
    - name: small
      parameters: {size: 6}
      until: {metric: game/food, at_least: 0.01, times: 2}
      min_episodes: 600
    - {name: medium, parameters: {size: {uniform: [12, 14]}}, until: {metric: game/food, at_least: 1000}}
    - {name: large, parameters: {size: 20}}
# Games end with the update they belong to, however long the learner takes.
collection: {schedule: sync}
callbacks:
  evaluation: {every_steps: 8192, episodes: 4}
"""
STEPS = 24_576
"""Six updates of 2 workers x 32 instances x 64 steps, 250 to 500 episodes each; a snake eats once in 100."""


@pytest.mark.long
def test_C6_D2_boards_grow_lesson_by_lesson_and_a_resumed_run_goes_on_in_its_lesson(tmp_path: Path) -> None:
    config = tmp_path / "curriculum.yaml"
    config.write_text(CURRICULUM)
    first = _train(tmp_path, "--config", str(config), "--seed", "3", "--total-steps", str(STEPS))
    assert "lesson 2 of 3, medium, after episode" in first.stdout
    lessons, sizes, _ = _charts(tmp_path)
    assert lessons[-1] == 2.0
    # Whole games of the first lesson only, then of both, then of the second only.
    assert sizes[0] == 6.0
    assert 12.0 <= sizes[-1] <= 14.0
    before = len(lessons)
    saved = _curriculum(tmp_path)
    assert saved["lesson"]["name"] == "medium"
    assert len(saved["window"]) > 0

    second = _train(tmp_path, "--resume", "--total-steps", str(2 * STEPS))
    assert " of 3, " not in second.stdout
    lessons, sizes, evaluations = _charts(tmp_path)
    assert len(lessons) > before
    assert set(lessons[before:]) == {2.0}
    assert all(12.0 <= size <= 14.0 for size in sizes[-(len(lessons) - before) :])
    resumed = _curriculum(tmp_path)
    assert resumed["lesson"]["episodes"] > saved["lesson"]["episodes"]
    # Evaluations went on, on boards of the run's own size.
    assert len(evaluations) >= 4


def _train(runs_dir: Path, *arguments: str) -> Outcome:
    command = AttractCommand("train", "snake", "--run-id", "boards", *arguments, runs_dir=runs_dir)
    outcome = command.wait()
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    return outcome


def _charts(runs_dir: Path) -> tuple[list[float], list[float], list[float]]:
    """By update: the lesson, the mean board size of the games that ended, and the evaluations' returns."""
    store = MetricsStore(runs_dir / "boards" / "metrics.db")
    names = ["curriculum/lesson", "game/size", "eval/mean_reward"]
    found = {sery.name: sery.values for sery in store.query("boards", names).series}
    store.close()
    return found["curriculum/lesson"], found["game/size"], found["eval/mean_reward"]


def _curriculum(runs_dir: Path) -> dict[str, dict[str, int | str]]:
    """What the newest checkpoint knows of the course."""
    path = runs_dir / "boards" / "latest" / "checkpoint.json"
    return json.loads(path.read_text())["curriculum"]
