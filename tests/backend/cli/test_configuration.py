"""What flags, variables and defaults give together."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.cli import app
from attract.cli.configuration import served_game
from attract.settings.run import ServerSettings

TWINS = {
    "ATTRACT_HOST": "192.0.2.1",
    "ATTRACT_PORT": "8123",
    "ATTRACT_LAN": "1",
    "ATTRACT_RUNS_DIR": "/elsewhere/runs",
    "ATTRACT_PROJECT_DIR": "/elsewhere",
}


def test_the_environment_stands_above_the_defaults(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert attract("serve") == 0
    for name, value in TWINS.items():
        monkeypatch.setenv(name, value)
    assert attract("serve") == 0
    plain, configured = served
    assert (plain.host, plain.port, plain.lan) == ("127.0.0.1", 8000, False)
    assert (configured.host, configured.port, configured.lan) == ("192.0.2.1", 8123, True)
    assert (configured.runs_dir, configured.project_dir) == (Path("/elsewhere/runs"), Path("/elsewhere"))


def test_an_empty_variable_is_none(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attract("serve")
    for name in TWINS:
        monkeypatch.setenv(name, "")
    attract("serve")
    plain, configured = served
    assert configured == plain
    assert configured.host == "127.0.0.1", "an empty address would be every address of the machine"


def test_a_flag_stands_above_the_environment(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in TWINS.items():
        monkeypatch.setenv(name, value)
    attract("serve", "--host", "127.0.0.1", "--port", "9000", "--runs-dir", "/mine", "--project-dir", "/game")
    (settings,) = served
    assert (settings.host, settings.port) == ("127.0.0.1", 9000)
    assert (settings.runs_dir, settings.project_dir) == (Path("/mine"), Path("/game"))


def test_variables_that_no_flag_has_a_twin_for_are_read_too(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_PUBLIC_URL", "https://play.example")
    monkeypatch.setenv("ATTRACT_ALLOWED_HOSTS", "a.example, b.example")
    attract("serve")
    (settings,) = served
    assert settings.public_url == "https://play.example"
    assert settings.allowed_hosts == ("a.example", "b.example")


def test_the_project_of_a_module_is_found_unless_it_is_given(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    module = str(tmp_path / "proj" / "train" / "walk.ts")
    game, settings = served_game("proj/train/walk.ts", ServerSettings())
    assert (game, settings.project_dir) == (module, tmp_path)
    given = ServerSettings(project_dir=Path("proj"))
    assert served_game("proj/train/walk.ts", given) == (module, given), "a variable or flag wins"
    assert served_game("snake", given) == ("snake", given)


def test_a_module_may_be_named_from_the_given_project_directory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proj" / "train").mkdir(parents=True)
    (tmp_path / "proj" / "train" / "walk.ts").touch()
    given = ServerSettings(project_dir=Path("proj"))
    assert served_game("train/walk.ts", given)[0] == str(tmp_path / "proj" / "train" / "walk.ts")


@pytest.mark.parametrize("command", ["train", "check", "tune", "imitate", "eval", "export", "serve"])
def test_every_command_that_takes_a_game_takes_its_project(command: str) -> None:
    # `cluster` hands what it does not know to `train`.
    names = {name for argument in app[command].assemble_argument_collection() for name in argument.names}
    assert "--project-dir" in names
