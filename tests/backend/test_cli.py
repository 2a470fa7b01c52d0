"""What the command line makes of flags and environment."""

from pathlib import Path
from typing import Any

import pytest

from attract import cli
from attract.commands import serve, train
from attract.commands.train import TrainOptions
from attract.runs.directory import RunDirectory
from attract.settings.run import SERVER_VARIABLES, ServerSettings
from attract.settings.variables import SETTING_VARIABLES

TWINS = {
    "ATTRACT_HOST": "192.0.2.1",
    "ATTRACT_PORT": "8123",
    "ATTRACT_LAN": "1",
    "ATTRACT_RUNS_DIR": "/elsewhere/runs",
    "ATTRACT_PROJECT_DIR": "/elsewhere",
}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServerSettings]:
    """Settings that `attract serve` was called with, in a process without variables of ours."""
    found: list[ServerSettings] = []

    async def serve_dashboard(settings: ServerSettings) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(serve, "serve_dashboard", serve_dashboard)
    for name in SERVER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TrainOptions, bool]]:
    """What `attract train` was asked for, and whether its port was fixed; no variable of ours is set."""
    found: list[tuple[TrainOptions, bool]] = []

    async def train_game(order: TrainOptions, server: ServerSettings, *, port_is_fixed: bool) -> int:
        found.append((order, port_is_fixed))
        return 0

    monkeypatch.setattr(train, "train_game", train_game)
    for name in (*SERVER_VARIABLES, *SETTING_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return found


def run(*arguments: str) -> Any:
    return cli.app(list(arguments), result_action="return_value")


def test_the_environment_stands_above_the_defaults(
    served: list[ServerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("serve") == 0
    for name, value in TWINS.items():
        monkeypatch.setenv(name, value)
    assert run("serve") == 0
    plain, told = served
    assert (plain.host, plain.port, plain.lan) == ("127.0.0.1", 8000, False)
    assert (told.host, told.port, told.lan) == ("192.0.2.1", 8123, True)
    assert (told.runs_dir, told.project_dir) == (Path("/elsewhere/runs"), Path("/elsewhere"))


def test_an_empty_variable_is_none(served: list[ServerSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    run("serve")
    for name in TWINS:
        monkeypatch.setenv(name, "")
    run("serve")
    plain, told = served
    assert told == plain
    assert told.host == "127.0.0.1", "an empty address would be every address of the machine"


def test_a_flag_stands_above_the_environment(
    served: list[ServerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TWINS.items():
        monkeypatch.setenv(name, value)
    run("serve", "--host", "127.0.0.1", "--port", "9000", "--runs-dir", "/mine", "--project-dir", "/game")
    (settings,) = served
    assert (settings.host, settings.port) == ("127.0.0.1", 9000)
    assert (settings.runs_dir, settings.project_dir) == (Path("/mine"), Path("/game"))


def test_variables_that_no_flag_has_a_twin_for_are_read_too(
    served: list[ServerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTRACT_PUBLIC_URL", "https://play.example")
    monkeypatch.setenv("ATTRACT_ALLOWED_HOSTS", "a.example, b.example")
    run("serve")
    (settings,) = served
    assert settings.public_url == "https://play.example"
    assert settings.allowed_hosts == ("a.example", "b.example")


def main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """The exit code of the whole command."""
    monkeypatch.setattr("sys.argv", ["attract", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_flags_variables_and_a_file_become_one_set_of_settings(
    trained: list[tuple[TrainOptions, bool]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text("seed: 1\nppo: {gamma: 0.5, n_epochs: 2}\n")
    monkeypatch.setenv("ATTRACT_PPO_GAMMA", "0.6")
    monkeypatch.setenv("ATTRACT_SEED", "2")
    flags = ("--seed", "3", "--workers", "4", "--parameters", '{"size": 9}', "--no-headless")
    assert main(monkeypatch, "train", "snake", "--config", str(tmp_path / "own.yaml"), *flags) == 0
    ((order, port_is_fixed),) = trained
    assert order.settings == {
        "seed": 3,
        "ppo": {"gamma": 0.6, "n_epochs": 2},
        "parameters": {"size": 9},
        "collection": {"num_workers": 4},
    }
    assert (order.game, order.headless, port_is_fixed) == ("snake", False, False)


def test_a_port_that_was_asked_for_is_not_replaced(
    trained: list[tuple[TrainOptions, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("train", "snake", "--port", "8123")
    monkeypatch.setenv("ATTRACT_PORT", "8123")
    run("train", "snake")
    assert [port_is_fixed for _, port_is_fixed in trained] == [True, True]


def test_a_game_s_own_file_is_named_where_it_does_not_fit_a_flag(
    trained: list[tuple[TrainOptions, bool]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "walk.ts").write_text("export default 1;")
    (tmp_path / "walk.train.yaml").write_text("policy: {recurrent: lstm}\nppo: {burn_in_steps: 8}\n")
    game = str(tmp_path / "walk.ts")
    assert main(monkeypatch, "train", game, "--ppo.horizon", "4") == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ppo.burn_in_steps in walk.train.yaml and --ppo.horizon: ")
    assert trained == []


def test_a_resumed_run_knows_its_game(
    trained: list[tuple[TrainOptions, bool]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ATTRACT_RUNS_DIR", str(tmp_path))
    (tmp_path / "walk.ts").write_text("export default 1;")
    for run_id, game in (("bundled", "snake"), ("own", str(tmp_path / "walk.ts"))):
        directory = RunDirectory.create(tmp_path, run_id)
        directory.write_config(game, {})
        (directory.checkpoints / "3").mkdir()
        directory.mark("latest", 3)
        directory.close()
    assert main(monkeypatch, "train", "--resume", "--run-id", "bundled") == 0
    assert main(monkeypatch, "train", "--resume", "--run-id", "own", "--seed", "8") == 0
    orders = [(order.game, order.settings, order.resume) for order, _ in trained]
    assert orders == [
        ("snake", {}, True),
        (str(tmp_path / "walk.ts"), {"seed": 8}, True),
    ]


def test_flags_of_the_server_reach_it_from_both_commands(
    served: list[ServerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTRACT_LAN", "1")
    monkeypatch.setenv("ATTRACT_WORKER_TIER", "local")
    run("serve")
    run("serve", "--worker-tier", "invited", "--behind-proxy", "10.0.0.1, 10.1.0.0/16")
    plain, told = served
    assert (plain.lan, plain.worker_tier, plain.behind_proxy) == (True, "local", ())
    assert (told.lan, told.worker_tier, told.behind_proxy) == (True, "invited", ("10.0.0.1", "10.1.0.0/16"))
    help_of = {
        command: {
            argument.names: argument.parameter.help
            for argument in cli.app[command].assemble_argument_collection(parse_docstring=True)
        }
        for command in ("serve", "train")
    }
    assert (
        help_of["serve"][("--tls-key",)]
        == help_of["train"][("--tls-key",)]
        == "The certificate's key in PEM. By default $ATTRACT_TLS_KEY."
    )


WRONG = [
    ("train", "GAME is missing; attract train --help shows all"),
    ("train --resume", "which run?"),
    ("train --resume --run-id gone", "there is no run gone in "),
    ("train cartpole --seed -1", "--seed: must be a whole number, at least 0 (got -1)"),
    ("train cartpole --ppo.gamma 1.5", "--ppo.gamma: must be a number from 0 to 1 (got 1.5)"),
    ("train cartpole --preset nonsense", "--preset: must be default, "),
    ("train cartpole --until-return abc", "--until-return: must be a number, or none (got 'abc')"),
    ("train cartpole --resume --run-id gone", "there is no run gone in "),
    ("train nothere.ts", "there is no file "),
    ("eval gone", "there is no run gone in "),
    ("eval latest", "there is no latest run: "),
    ("export gone --out x", "there is no run gone in "),
    ("serve --port 99999", "--port: must be a whole number from 0 to 65535 (got 99999)"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_what_cannot_be_is_told_in_our_words_and_exits_2(
    words: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTRACT_RUNS_DIR", str(tmp_path / "runs"))
    assert main(monkeypatch, *words.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and expected in told.err
    assert "pydantic" not in told.err and "Traceback" not in told.err
    assert not (tmp_path / "runs").exists()
