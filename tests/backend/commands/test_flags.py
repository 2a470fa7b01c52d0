"""Flags: each has a text and a group, a mistake is one line, and variables and defaults stand below."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from attract import cli
from attract.cli import app
from attract.commands.flags import served_game
from attract.commands.setting_flags import GROUPS, OTHER
from attract.errors import ConfigurationError
from attract.settings.run import RunSettings, ServerSettings
from attract.settings.schema import run_settings_schema, setting_paths

RULE_ID = re.compile(r"\b[TESPCID]\d{1,2}\b")


def test_every_option_has_a_text_for_a_user_and_a_group() -> None:
    arguments = cli.app["train"].assemble_argument_collection(parse_docstring=True)
    shown = [argument for argument in arguments if argument.show]
    assert len(shown) > 60
    for argument in shown:
        assert argument.parameter.help, f"{argument.name} has no text"
        assert not RULE_ID.search(argument.parameter.help), f"{argument.name} names a rule by its id"
        assert "rule" not in argument.parameter.help.lower(), argument.name
        groups = [group.name for group in argument.parameter.group]
        assert groups and OTHER.name not in groups and "Parameters" not in groups, (
            f"{argument.name}: {groups}"
        )


def test_a_flag_of_an_optional_setting_says_what_none_gives() -> None:
    arguments = cli.app["train"].assemble_argument_collection(parse_docstring=True)
    helped = {argument.name: argument.parameter.help or "" for argument in arguments if argument.show}
    optional = [f"--{path}" for path, part in setting_paths(run_settings_schema()) if _is_nullable(part)]
    assert len(optional) > 15
    for name in (name.replace("_", "-") for name in optional):
        assert re.search(r"`(none|null)`:", helped[name]), f"{name}: {helped[name]}"
    assert not [name for name, text in helped.items() if "None" in text]
    assert "`none`" not in helped["--ppo.gamma"]


def _is_nullable(schema: Mapping[str, Any]) -> bool:
    is_section = any("properties" in part for part in schema.get("anyOf", ()))
    return not is_section and {"type": "null"} in schema.get("anyOf", ())


def test_a_flag_takes_none() -> None:
    words = "train cartpole --ppo.target-kl none --max-workers none --workers 3 --ppo.no-normalize-rewards"
    _, bound, _ = cli.app.parse_args(words, exit_on_error=False, print_error=False)
    given = bound.arguments
    assert given["settings"] == {"ppo": {"target_kl": "none", "normalize_rewards": False}}
    assert (given["options"].max_workers, given["options"].workers) == ("none", "3")


def test_every_setting_has_its_group() -> None:
    assert set(GROUPS) == set(RunSettings.model_fields)


MISTAKES = [
    ("serve --port x", "--port: must be a whole number (got 'x')"),
    ("results --scale x", "--scale: must be a number (got 'x')"),
    ("bench --device gpu", "--device: must be cpu or cuda (got 'gpu')"),
    ("export x", "--out is missing; attract export --help shows all"),
    ("train cartpole --ppo.gama 1", "Did you mean --ppo.gamma?"),
    (
        "train cartpole --policy.hidden-sizes 64 32",
        "one word with commas, for example --policy.hidden-sizes 64,64",
    ),
    ("train cartpole extra", "unexpected 'extra'"),
    ("evall x", 'Did you mean "eval"?'),
    ("eval x --episodes 0", "--episodes"),
]


@pytest.mark.parametrize(("words", "expected"), MISTAKES)
def test_a_mistake_is_one_line_and_exits_2(words: str, expected: str) -> None:
    console = Console(width=60, soft_wrap=True, highlight=False)
    with console.capture() as captured, pytest.raises(SystemExit) as ended:
        cli.app(words.split(), error_console=console)
    assert ended.value.code == 2
    assert captured.get().startswith("error: ")
    assert expected in captured.get()
    assert len(captured.get().splitlines()) == 1


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


def test_a_page_is_its_one_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "index.html").touch()
    assert served_game("shop", ServerSettings())[0] == "shop", "it has none: who reads it says so"
    adapter = tmp_path / "shop" / "game.page.ts"
    adapter.write_text('export default definePageGame({ page: "index.html" })')
    for named in ("shop", "shop/index.html", str(adapter)):
        assert served_game(named, ServerSettings())[0] == str(adapter)
    (tmp_path / "shop" / "other.page.ts").write_text('definePageGame({ page: "index.html" })')
    with pytest.raises(ConfigurationError, match="shop has 2 adapters"):
        served_game("shop", ServerSettings())


@pytest.mark.parametrize("command", ["train", "check", "tune", "imitate", "eval", "export", "serve"])
def test_every_command_that_takes_a_game_takes_its_project(command: str) -> None:
    # `cluster` hands what it does not know to `train`.
    names = {name for argument in app[command].assemble_argument_collection() for name in argument.names}
    assert "--project-dir" in names
