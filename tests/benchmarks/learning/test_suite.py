"""The suite of games, and its table."""

import dataclasses
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.learning.plan import Baseline, Run, plan_runs
from attract_benchmarks.learning.record import Finding, Record, Row
from attract_benchmarks.learning.suite import (
    BARE,
    NAMED,
    PLAIN_GAMES,
    REWARD_SCALES,
    PlainGame,
    is_met,
    is_said,
    module_of,
    plan_suite,
    strategies,
    target_of,
)
from attract_benchmarks.learning.suite_table import render_suite

ROW = Row(1000, [], 1000, 1.0, 0.0, 0.0, 100, 1000.0)


def game(name: str) -> PlainGame:
    return next(game for game in PLAIN_GAMES if game.name == name)


def test_every_game_is_run_with_every_seed_and_size_of_rewards_under_a_key_of_its_own() -> None:
    runs = plan_suite()
    keys = [run.key for run in runs]
    assert len(set(keys)) == len(keys)
    assert len(PLAIN_GAMES) >= 12
    for game in PLAIN_GAMES:
        mine = [run for run in runs if run.task == f"plain-{game.name}"]
        bare = {(run.seed, run.reward_scale) for run in mine if run.variant == BARE}
        assert bare == {(seed, scale) for seed in (1, 2, 3) for scale in REWARD_SCALES}
        assert [run.flags for run in mine if run.variant == NAMED] == [game.named] * (9 if game.named else 0)
        assert len([run for run in mine if run.baseline]) == (3 if game.baseline else 0)
        assert all(Path(run.game).is_file() for run in mine)


def test_runs_that_take_less_time_come_first() -> None:
    keys = [run.key for run in plan_suite(seed=1, reward_scale=1.0)]
    assert keys[0] == "plain-mountain-car-continuous-bare-1"
    assert keys.index("plain-cart-pole-bare-1") < keys.index("plain-jumper-bare-1")
    assert keys.index("plain-jumper-bare-1") < keys.index("plain-breakout-bare-1")
    assert keys[-1].endswith("-sb3-1")


def test_one_game_seed_and_size_of_rewards_can_be_asked_for() -> None:
    (run,) = plan_suite(only="jumper", seed=2, reward_scale=1000.0, scale=0.01)
    assert (run.key, run.steps, run.reward_scale) == ("plain-jumper-bare-2-x1000", 3_000, 1000.0)
    assert [run.baseline for run in plan_suite(only="acrobot", reward_scale=10.0)] == [None] * 3


@pytest.mark.parametrize(
    ("given", "setting"),
    [({"only": "jumpr"}, "jumper"), ({"reward_scale": 0.0}, "--reward-scale"), ({"scale": 2.0}, "--scale")],
)
def test_what_cannot_be_is_refused(given: dict[str, object], setting: str) -> None:
    with pytest.raises(ConfigurationError, match=setting):
        plan_suite(**given)  # type: ignore[arg-type]


def test_bars_are_twice_the_simple_strategy_or_half_its_cost() -> None:
    known = strategies()
    assert target_of(game("jumper")) == 2 * known["jumper"].simple > known["jumper"].simple > 0
    assert 0 > target_of(game("exit")) == known["exit"].simple / 2 > known["exit"].simple
    assert target_of(game("acrobot")) == -73.506
    for entry in PLAIN_GAMES:
        assert target_of(entry) > known[entry.name].random


def test_a_published_bar_has_to_be_reached_at_the_published_steps() -> None:
    one = dataclasses.replace(game("jumper"), goal=5.0)
    reached = dataclasses.replace(ROW, return_mean=5.0, agent_steps=5000)
    assert is_met(one, reached)
    assert not is_met(one, dataclasses.replace(reached, return_mean=4.9))
    published = dataclasses.replace(one, baseline=Baseline("CartPole-v1", 1, {}))
    asked = dataclasses.replace(reached, steps=970)
    assert is_met(published, dataclasses.replace(asked, agent_steps=1000))
    assert not is_met(published, dataclasses.replace(asked, agent_steps=1001))


def test_a_run_beside_the_baseline_is_asked_for_fewer_steps_than_the_baseline_takes() -> None:
    steps = {run.variant: run.steps for run in plan_suite(only="acrobot", seed=1, reward_scale=1.0)}
    assert steps == {"bare": 970_000, "sb3": 1_000_000}


def test_a_run_says_so_within_a_quarter_of_its_steps_by_the_name_of_the_setting() -> None:
    one = dataclasses.replace(game("jumper"), named=("--preset", "memory"))

    def said(agent_steps: int, setting: str | None) -> bool:
        finding = Finding("memory-missing", agent_steps, setting)
        return is_said(one, dataclasses.replace(ROW, findings=[finding]))

    assert said(250, "--preset memory")
    assert not said(251, "--preset memory")
    assert not said(250, "--ppo.gamma 0.99")
    assert not said(250, None)
    assert not is_said(one, ROW)


def test_a_game_of_scaled_rewards_is_a_module_beside_a_copy_of_the_game(tmp_path: Path) -> None:
    plain, scaled = plan_suite(only="jumper", seed=1)[:2]
    assert module_of(plain, tmp_path / "unused") == Path(plain.game)
    assert not (tmp_path / "unused").exists()
    module = module_of(scaled, tmp_path)
    assert module.name == "jumper-x0.001.ts"
    assert "scaled(game, 0.001)" in module.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"jumper.ts", "scaled.ts", module.name}


MAZE = next(game for game in PLAIN_GAMES if game.name == "maze")


def row(run: Run, mean: float, findings: list[Finding] | None = None) -> Row:
    return Row(run.steps, list(run.flags), run.steps, 10.0, mean, 0.25, 100, 1000.0, findings or [])


def cells(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def page(tmp_path: Path, rows: dict[str, Row]) -> str:
    record = Record(tmp_path / "results.json")
    for run in plan_suite():
        if run.key in rows:
            record.put(run, rows[run.key], "2 cores")
    return render_suite(record, plan_suite())


def all_of(task: str, variant: str, mean: float, findings: list[Finding] | None = None) -> dict[str, Row]:
    runs = [run for run in plan_suite() if (run.task, run.variant) == (f"plain-{task}", variant)]
    return {run.key: row(run, mean + run.seed, findings) for run in runs}


def test_a_row_shows_every_seed_by_the_size_of_rewards_and_the_baseline(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70) | all_of("acrobot", "sb3", -80)
    assert cells(page(tmp_path, rows), "Acrobot | defaults") == [
        "Acrobot", "defaults", ">= -73.5", "970,000",
        "-69.0, -68.0, -67.0", "-69.0, -68.0, -67.0", "-69.0, -68.0, -67.0", "yes", "-79.0, -78.0, -77.0",
    ]  # fmt: skip


def test_one_seed_of_one_size_of_rewards_below_the_bar_fails_the_game(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70)
    key = "plain-acrobot-bare-2-x1000"
    rows[key] = dataclasses.replace(rows[key], return_mean=-500.0)
    shown = cells(page(tmp_path, rows), "Acrobot | defaults")
    assert shown[5:8] == ["-69.0, -68.0, -67.0", "-69.0, -500.0, -67.0", "no"]
    # More steps than were published for the baseline are no success.
    rows = all_of("acrobot", "bare", -70)
    rows[key] = dataclasses.replace(rows[key], agent_steps=2_000_000)
    assert cells(page(tmp_path, rows), "Acrobot | defaults")[7] == "no"


def test_what_is_not_run_leaves_the_verdict_open(tmp_path: Path) -> None:
    rows = all_of("acrobot", "bare", -70)
    del rows["plain-acrobot-bare-3"]
    shown = cells(page(tmp_path, rows), "Acrobot | defaults")
    assert shown[4:8:3] == ["-69.0, -68.0, not run", "open"]
    assert cells(page(tmp_path, {}), "Jumper, scores in the hundreds | defaults")[4:8] == [
        "not run", "not run", "not run", "open",
    ]  # fmt: skip


def test_a_bare_run_that_fails_and_names_the_setting_in_time_will_do(tmp_path: Path) -> None:
    named = Finding("memory-missing", MAZE.steps // 5, " ".join(MAZE.named))
    late = dataclasses.replace(named, agent_steps=MAZE.steps // 2)
    said = all_of("maze", "bare", 1, [named]) | all_of("maze", "named", 9)
    assert cells(page(tmp_path / "said", said), "Maze, partial view | defaults")[7] == "9 of 9 say so"
    assert cells(page(tmp_path / "said", said), f"Maze, partial view | `{' '.join(MAZE.named)}`")[7] == "yes"
    solved = said | {key: dataclasses.replace(said[key], return_mean=9.0) for key in list(said)[:2]}
    found = cells(page(tmp_path / "solved", solved), "Maze, partial view | defaults")[7]
    assert found == "2 solve it, 7 say so"
    unsaid = all_of("maze", "bare", 1, [late])
    assert cells(page(tmp_path / "late", unsaid), "Maze, partial view | defaults")[7] == "no"
    # The named setting itself has to reach the bar.
    failed = all_of("maze", "named", 1, [named])
    assert (
        cells(page(tmp_path / "failed", failed), f"Maze, partial view | `{' '.join(MAZE.named)}`")[7] == "no"
    )


def test_the_strategies_are_stated(tmp_path: Path) -> None:
    text = page(tmp_path, {})
    assert "the means of 200 episodes" in text
    for game in PLAIN_GAMES:
        assert len([line for line in text.splitlines() if line.startswith(f"| {game.title} |")]) >= 2


def test_other_runs_have_no_part_in_it(tmp_path: Path) -> None:
    assert render_suite(Record(tmp_path / "results.json"), plan_runs()) == ""
