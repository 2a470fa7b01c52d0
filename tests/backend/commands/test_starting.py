"""What flags, variables and files make of a training, and what `--resume=auto` does."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from attract.commands import imitating, training, tune
from attract.commands.train import TrainOptions
from attract.commands.training import finished_code, game_of, goes_on
from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract.runs.checkpoint_document import DOCUMENT_FILE, sealed
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.schema.api import EvaluationView, RunView
from attract.settings.given import LayeredSettings
from attract.settings.run import RunSettings, ServerSettings
from known_runs import run_view


@dataclass
class Trained:
    """What `attract train` was asked for."""

    game: str
    settings: LayeredSettings
    options: TrainOptions
    port_is_fixed: bool


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Trained]:
    found: list[Trained] = []

    async def train_game(
        game: str, settings: LayeredSettings, options: TrainOptions, server: ServerSettings
    ) -> int:
        found.append(Trained(game, settings, options, "port" in server.model_fields_set))
        return 0

    monkeypatch.setattr(training, "train_game", train_game)
    return found


def test_flags_variables_and_a_file_become_one_set_of_settings(
    attract: Callable[..., object],
    trained: list[Trained],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "own.yaml").write_text("seed: 1\nppo: {gamma: 0.5, n_epochs: 2}\n")
    monkeypatch.setenv("ATTRACT_PPO_GAMMA", "0.6")
    monkeypatch.setenv("ATTRACT_SEED", "2")
    flags = ("--seed", "3", "--workers", "4", "--parameters", '{"size": 9}', "--no-headless")
    assert attract("train", "snake", "--config", str(tmp_path / "own.yaml"), *flags) == 0
    (asked,) = trained
    assert asked.settings.given == {
        "seed": 3,
        "ppo": {"gamma": 0.6, "n_epochs": 2},
        "parameters": {"size": 9},
        "collection": {"num_workers": 4},
    }
    assert (asked.game, asked.options.headless, asked.port_is_fixed) == ("snake", False, False)


def test_a_port_that_was_asked_for_is_not_replaced(
    attract: Callable[..., object],
    trained: list[Trained],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attract("train", "snake", "--port", "8123")
    monkeypatch.setenv("ATTRACT_PORT", "8123")
    attract("train", "snake")
    assert [asked.port_is_fixed for asked in trained] == [True, True]


def test_a_game_s_own_file_is_named_where_it_does_not_fit_a_flag(
    attract: Callable[..., object],
    trained: list[Trained],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "walk.ts").write_text("export default 1;")
    (tmp_path / "walk.train.yaml").write_text("policy: {recurrent: lstm}\nppo: {burn_in_steps: 8}\n")
    game = str(tmp_path / "walk.ts")
    assert attract("train", game, "--ppo.horizon", "4") == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ppo.burn_in_steps in walk.train.yaml and --ppo.horizon: ")
    assert trained == []


def test_a_resumed_run_knows_its_game(
    attract: Callable[..., object],
    trained: list[Trained],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ATTRACT_RUNS_DIR", str(tmp_path))
    (tmp_path / "walk.ts").write_text("export default 1;")
    for run_id, game in (("bundled", "snake"), ("own", str(tmp_path / "walk.ts"))):
        directory = RunDirectory.create(tmp_path, run_id)
        directory.write_config(game, {})
        (directory.checkpoints / "3").mkdir()
        directory.mark("latest", 3)
        directory.close()
    assert attract("train", "--resume", "--run-id", "bundled") == 0
    assert attract("train", "--resume", "--run-id", "own", "--seed", "8") == 0
    orders = [(asked.game, asked.settings.given, asked.options.resume) for asked in trained]
    assert orders == [
        ("snake", {}, True),
        (str(tmp_path / "walk.ts"), {"seed": 8}, True),
    ]


def test_what_tune_varies_and_imitate_trains_has_a_file_variables_and_flags_too(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "walk.ts").write_text("export default 1;")
    (tmp_path / "walk.train.yaml").write_text("ppo: {gamma: 0.5}\n")
    (tmp_path / "own.yaml").write_text("ppo: {n_epochs: 2}\n")
    monkeypatch.setenv("ATTRACT_SEED", "2")
    asked: list[tuple[str, Any, ServerSettings]] = []

    async def take(game: str, settings: Any, _options: object, server: ServerSettings) -> int:
        asked.append((game, settings, server))
        return 0

    monkeypatch.setattr(tune, "tune_game", take)
    monkeypatch.setattr(imitating, "imitate_game", take)
    words = (str(tmp_path / "walk.ts"), "--config", str(tmp_path / "own.yaml"), "--ppo.gae-lambda", "0.9")
    assert attract("tune", *words, "--workers", "3") == 0
    assert attract("imitate", *words) == 0
    (tuned_game, tuned, server), (imitated_game, imitated, _) = asked
    assert tuned.beneath == {"ppo": {"gamma": 0.5}}
    given = {"seed": 2, "ppo": {"n_epochs": 2, "gae_lambda": 0.9}}
    assert tuned.given == {**given, "collection": {"num_workers": 3}}
    assert imitated == RunSettings.from_mapping(
        {"seed": 2, "ppo": {"gamma": 0.5, "n_epochs": 2, "gae_lambda": 0.9}}
    )
    assert tuned_game == imitated_game == words[0]
    assert server.project_dir == tmp_path


def a_run(runs_dir: Path, run_id: str = "run-1", *, steps: int | None = None, **view: Any) -> None:
    """A run of CartPole; with `steps`, one that has a policy trained for so many."""
    directory = RunDirectory.create(runs_dir, run_id)
    directory.write_config("cartpole", {"seed": 1})
    if steps is not None:
        folder = directory.checkpoints / "3"
        folder.mkdir()
        counters = {"counters": {"agent_steps": steps, "updates": 3}}
        (folder / DOCUMENT_FILE).write_text(json.dumps(sealed(3, counters)))
        directory.mark("latest", 3)
        store = MetricsStore(directory.metrics_path)
        store.put_fact("view", json.loads(whole(run_id, steps, **view).model_dump_json()))
        store.close()
    directory.close()


def whole(run_id: str, steps: int, **changes: Any) -> RunView:
    """A finished run."""
    values = {
        "state": "finished",
        "agent_steps": steps,
        "collected_steps": steps,
        "episode_return_mean": None,
    }
    return run_view(run_id=run_id, **values | changes)


def confirmed(mean: float) -> EvaluationView:
    return EvaluationView(
        policy_version=3, episodes=10, return_mean=mean, return_std=0.0, length_mean=1.0, deterministic=True
    )


def test_a_run_goes_on_where_there_is_one(tmp_path: Path):
    assert not goes_on(tmp_path, "run-1")
    a_run(tmp_path, steps=500)
    assert goes_on(tmp_path, "run-1")
    assert not goes_on(tmp_path, "run-2")


def test_the_latest_is_the_latest_with_a_policy(tmp_path: Path):
    assert not goes_on(tmp_path, "latest")
    a_run(tmp_path, steps=500)
    assert goes_on(tmp_path, "latest")


def test_one_that_was_killed_before_it_had_a_policy_is_in_the_way_of_nobody(tmp_path: Path):
    a_run(tmp_path)
    assert not goes_on(tmp_path, "run-1")
    assert not (tmp_path / "run-1").exists()


def test_which_run_has_to_be_said(tmp_path: Path):
    for ask, setting in ((goes_on, "--resume=auto"), (game_of, "--resume")):
        with pytest.raises(ConfigurationError, match="which run") as refused:
            ask(tmp_path, None)
        assert refused.value.setting == setting


def test_the_game_is_that_which_the_run_was_started_with(tmp_path: Path):
    a_run(tmp_path, steps=500)
    assert game_of(tmp_path, "run-1") == game_of(tmp_path, "latest") == "cartpole"
    with pytest.raises(ConfigurationError, match="no run run-2"):
        game_of(tmp_path, "run-2")


def test_a_run_that_has_its_steps_is_done_and_more_steps_are_more_to_do(tmp_path: Path):
    a_run(tmp_path, steps=500)
    assert finished_code(tmp_path, "run-1", {"total_steps": 500}) == DONE
    assert finished_code(tmp_path, "run-1", {"total_steps": 501}) is None
    assert finished_code(tmp_path, "run-1", {}) is None
    assert finished_code(tmp_path, "run-1", {"total_steps": 500, "until_return": 9.0}) == GOAL_MISSED


def test_a_run_whose_goal_was_confirmed_is_done_and_another_goal_is_more_to_do(tmp_path: Path):
    a_run(tmp_path, steps=500, goal=9.0, evaluation=confirmed(9.5))
    assert finished_code(tmp_path, "run-1", {"until_return": 9.0, "total_steps": 10_000}) == DONE
    assert finished_code(tmp_path, "run-1", {"until_return": 9.4}) is None


@pytest.mark.parametrize(
    "view",
    [{"evaluation": None}, {"evaluation": confirmed(8.9)}, {"state": "stopped", "evaluation": confirmed(9)}],
)
def test_a_goal_that_was_not_confirmed_is_not_reached(tmp_path: Path, view: dict[str, Any]):
    a_run(tmp_path, steps=500, goal=9.0, **view)
    assert finished_code(tmp_path, "run-1", {"until_return": 9.0}) is None


def test_a_run_without_a_policy_has_everything_to_do(tmp_path: Path):
    a_run(tmp_path)
    assert finished_code(tmp_path, "run-1", {"total_steps": 0}) is None
