"""What the command line makes of flags and environment."""

from pathlib import Path
from typing import Any

import pytest

from attract import cli
from attract.commands import serve
from attract.settings import SERVER_VARIABLES, ServerSettings

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
