"""A game that breaks is told of in words, with stack, slot and seed; exit code 1, or 2 if it never began."""

from pathlib import Path

import pytest

from attract_command import run_attract

GAME = """
import { box, defineGame, discrete } from "attract";

class Broken {
  ticks = 0;
  start() {
    return [0];
  }
  update(_deltaTime: number, _action: number) {
    this.ticks += 1;
    BREAK
    return { observation: [this.ticks / 1000], reward: 1, terminated: false };
  }
}

export default defineGame({
  id: "Broken-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.1,
  maxSeconds: 1000,
  observation: box({ low: 0, high: 2, shape: [1] }),
  action: discrete(2),
  create: () => new Broken(),
});
"""


def _train(folder: Path, statement: str) -> tuple[int, str]:
    game = folder / "broken.ts"
    game.write_text(GAME.replace("BREAK", statement))
    outcome = run_attract(
        "train",
        str(game),
        "--headless",
        # What the check before a training says of such games is tested in test_check.py.
        "--no-check",
        "--workers",
        "1",
        "--total-steps",
        "10000000",
        runs_dir=folder / "runs",
    )
    return outcome.code, outcome.stdout + outcome.stderr


# `make test` ends a training with one stack in test_check.py.
@pytest.mark.long
def test_a_throw_on_the_1000th_tick_is_reported_readably_and_exits_1(tmp_path: Path) -> None:
    code, output = _train(tmp_path, 'if (this.ticks >= 1000) throw new RangeError("the floor is lava");')
    assert code == 1, output
    assert "RangeError: the floor is lava" in output
    assert "broken.ts:11" in output, "the stack is not that of the author's file"
    assert "slot " in output
    assert "seed " in output
    assert "tick 1000" in output
    assert "action 0, observation [" in output or "action 1, observation [" in output
    assert output.count("at Broken.update (") == 1, "one stack is enough"
    assert "rollout-" not in output, "frames of our own bundles say nothing"


@pytest.mark.long
def test_a_game_that_throws_when_it_is_loaded_is_wrong_use_as_a_misspelled_name_is(tmp_path: Path) -> None:
    game = tmp_path / "unloadable.ts"
    game.write_text('throw new Error("at import");')
    outcome = run_attract("train", str(game), "--total-steps", "100", runs_dir=tmp_path / "runs")
    said = outcome.stdout + outcome.stderr
    assert outcome.code == 2, said
    assert "at import" in said and "unloadable.ts:1:" in said


@pytest.mark.long
def test_a_nan_is_reported_with_what_would_be_right(tmp_path: Path) -> None:
    code, output = _train(tmp_path, "if (this.ticks >= 1000) return { observation: [NaN], reward: 1 };")
    assert code == 1, output
    assert "update() returned observation[0] = NaN, expected a finite number" in output
    assert "at Broken.update (" in output
    assert "broken.ts:9:3" in output, "the place of the method"
    assert "observation [NaN]" in output


@pytest.mark.long
def test_a_hang_is_reported_as_one_without_a_stack(tmp_path: Path) -> None:
    code, output = _train(tmp_path, "while (this.ticks >= 1000) {}")
    assert code == 1, output
    assert "hang" in output
    assert "no stack" in output


def test_a_module_that_cannot_be_bundled_is_refused_with_the_place(tmp_path: Path) -> None:
    code, output = _train(tmp_path, "if (")
    assert code == 2, output
    assert "broken.ts:12" in output


# A field of a range that no trainer knows: no check of the SDK looks for it.
UNKNOWN_FIELD = "maxSeconds: 1000,\n  parameters: { speed: { default: 1, low: 0, high: 2, step: 1 } } as any,"


@pytest.mark.parametrize("command", ["check", pytest.param("train", marks=pytest.mark.long)])
def test_a_description_that_the_server_refuses_ends_the_command_with_the_reason(
    command: str, tmp_path: Path
) -> None:
    game = tmp_path / "broken.ts"
    game.write_text(GAME.replace("BREAK", "").replace("maxSeconds: 1000,", UNKNOWN_FIELD))
    flags = ("--headless", "--no-check", "--workers", "1") if command == "train" else ()
    outcome = run_attract(command, str(game), *flags, runs_dir=tmp_path / "runs")
    output = outcome.stdout + outcome.stderr
    assert outcome.code in (1, 2), output
    assert "description.parameters.speed.step: got 1; Extra inputs are not permitted" in output
    assert "went away" not in output


# `make test` has the limit of every option in tests/web/sdk/bounds.test.ts.
@pytest.mark.long
def test_an_option_beyond_what_a_trainer_takes_is_named_with_its_limit(tmp_path: Path) -> None:
    game = tmp_path / "broken.ts"
    game.write_text(GAME.replace("BREAK", "").replace("tickSeconds: 0.1", "tickSeconds: 1e6, numAgents: 1"))
    game.write_text(game.read_text().replace("secondsPerStep: 0.1,", "").replace("maxSeconds: 1000,", ""))
    outcome = run_attract("check", str(game), runs_dir=tmp_path / "runs")
    output = outcome.stdout + outcome.stderr
    assert outcome.code == 1, output
    assert "tickSeconds: must be at most 86400, got 1000000" in output
