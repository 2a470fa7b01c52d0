"""What flags, variables and files make of `attract train`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import imitate, train, tune
from attract.commands.imitate import ImitateOptions
from attract.commands.train import TrainOptions
from attract.commands.tune import TuneOptions
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings, ServerSettings


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TrainOptions, bool]]:
    """What `attract train` was asked for, and whether its port was fixed."""
    found: list[tuple[TrainOptions, bool]] = []

    async def train_game(order: TrainOptions, server: ServerSettings, *, port_is_fixed: bool) -> int:
        found.append((order, port_is_fixed))
        return 0

    monkeypatch.setattr(train, "train_game", train_game)
    return found


def test_flags_variables_and_a_file_become_one_set_of_settings(
    attract: Callable[..., object],
    trained: list[tuple[TrainOptions, bool]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "own.yaml").write_text("seed: 1\nppo: {gamma: 0.5, n_epochs: 2}\n")
    monkeypatch.setenv("ATTRACT_PPO_GAMMA", "0.6")
    monkeypatch.setenv("ATTRACT_SEED", "2")
    flags = ("--seed", "3", "--workers", "4", "--parameters", '{"size": 9}', "--no-headless")
    assert attract("train", "snake", "--config", str(tmp_path / "own.yaml"), *flags) == 0
    ((order, port_is_fixed),) = trained
    assert order.settings.given == {
        "seed": 3,
        "ppo": {"gamma": 0.6, "n_epochs": 2},
        "parameters": {"size": 9},
        "collection": {"num_workers": 4},
    }
    assert (order.game, order.headless, port_is_fixed) == ("snake", False, False)


def test_a_port_that_was_asked_for_is_not_replaced(
    attract: Callable[..., object],
    trained: list[tuple[TrainOptions, bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attract("train", "snake", "--port", "8123")
    monkeypatch.setenv("ATTRACT_PORT", "8123")
    attract("train", "snake")
    assert [port_is_fixed for _, port_is_fixed in trained] == [True, True]


def test_a_game_s_own_file_is_named_where_it_does_not_fit_a_flag(
    attract: Callable[..., object],
    trained: list[tuple[TrainOptions, bool]],
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
    trained: list[tuple[TrainOptions, bool]],
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
    orders = [(order.game, order.settings.given, order.resume) for order, _ in trained]
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
    orders: list[tuple[TuneOptions | ImitateOptions, ServerSettings]] = []

    async def take(order: TuneOptions | ImitateOptions, server: ServerSettings) -> int:
        orders.append((order, server))
        return 0

    monkeypatch.setattr(tune, "tune_game", take)
    monkeypatch.setattr(imitate, "imitate_game", take)
    words = (str(tmp_path / "walk.ts"), "--config", str(tmp_path / "own.yaml"), "--ppo.gae-lambda", "0.9")
    assert attract("tune", *words, "--workers", "3") == 0
    assert attract("imitate", *words) == 0
    (tuned, server), (imitated, _) = orders
    assert isinstance(tuned, TuneOptions) and isinstance(imitated, ImitateOptions)
    assert tuned.settings.beneath == {"ppo": {"gamma": 0.5}}
    given = {"seed": 2, "ppo": {"n_epochs": 2, "gae_lambda": 0.9}}
    assert tuned.settings.given == {**given, "collection": {"num_workers": 3}}
    assert imitated.settings == RunSettings.from_mapping(
        {"seed": 2, "ppo": {"gamma": 0.5, "n_epochs": 2, "gae_lambda": 0.9}}
    )
    assert tuned.game == imitated.game == words[0]
    assert server.project_dir == tmp_path
