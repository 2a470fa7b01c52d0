"""The suite names every run once; its bars follow from what was measured; a module scales rewards."""

import dataclasses
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract_benchmarks.learning.plan import Baseline
from attract_benchmarks.learning.record import Finding, Row
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
