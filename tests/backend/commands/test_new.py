"""`attract new`: what it writes, and what it refuses; that it trains is `tests/end_to_end`'s to show."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import yaml

from attract.commands import new
from attract.commands.new import create_project, next_steps
from attract.errors import ConfigurationError
from attract.games.page_places import page_place
from attract.playtest.project_file import read_project_file


def test_a_project_has_the_folders_name_and_all_that_it_imports(tmp_path: Path) -> None:
    folder = tmp_path / "star-catcher"
    files = {str(path) for path in create_project(folder, "pure")}
    assert {"package.json", "src/game.ts", "src/main.ts", ".gitignore", "index.html"} <= files
    package = json.loads((folder / "package.json").read_text())
    assert package["name"] == "star-catcher"
    assert "my-game" not in (folder / "README.md").read_text() + (folder / "index.html").read_text()
    manifest = json.loads((folder / "vendor" / "attract" / "package.json").read_text())
    assert manifest["name"] == "attract-mode" and manifest["sideEffects"] is False
    for entry in manifest["exports"].values():
        for path in entry.values():
            assert (folder / "vendor" / "attract" / path).is_file(), path


def test_a_game_in_its_page_brings_its_own_and_no_player(tmp_path: Path) -> None:
    folder = tmp_path / "star-catcher"
    files = {str(path) for path in create_project(folder, "page")}
    assert files == {
        ".github/workflows/play.yml", ".gitignore", "README.md", "attract.config.ts", "game.page.ts",
        "index.html",
        "package.json", "src/agent.ts", "src/game.js", "src/style.css", "tsconfig.json", "vite.config.js",
    }  # fmt: skip
    assert "my-game" not in (folder / "README.md").read_text() + (folder / "index.html").read_text()
    # What the page loads, a browser can read as it is: that is how it is trained.
    index = (folder / "index.html").read_text()
    for named in re.findall(r'(?:src|href)="/([^"]+)"', index):
        assert (folder / named).is_file() and not named.endswith(".ts")
    # `attract train .` plays by this adapter.
    assert page_place(str(folder), tmp_path / "runs").adapters() == [folder / "game.page.ts"]


@pytest.mark.parametrize("template", get_args(new.Template))
def test_the_workflow_beside_a_game_plays_that_game(template: new.Template, tmp_path: Path) -> None:
    files = {str(path) for path in create_project(tmp_path / "game", template)}
    workflow = yaml.safe_load((tmp_path / "game" / new.WORKFLOW).read_text())
    run = [step["run"] for step in workflow["jobs"]["play"]["steps"] if "run" in step]
    played = [words.split()[1:3] for words in run if words.startswith("attract ")]
    assert [command for command, _ in played] == ["check", "train", "ci"]
    assert {game for command, game in played if command != "ci"} <= files
    # `attract ci` plays what the project's file names.
    file = read_project_file(tmp_path / "game" / new.PROJECT_FILE)
    assert Path(file.game).resolve() == tmp_path / "game" / played[0][1]
    # What is left is for GitHub: `${{ ... }}`.
    text = (tmp_path / "game" / new.WORKFLOW).read_text()
    assert re.findall(r"(?<!\$)\{\{", text) == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("My Game", "my-game"),
        ("game!", "game"),
        ("-game", "game"),
        ("Spiel", "spiel"),
        ("C:\\games\\Pong 2", "pong-2"),
        ("遊戯", "my-game"),
    ],
)
def test_a_name_that_no_package_may_have_is_refused_with_the_nearest(
    tmp_path: Path, name: str, nearest: str
) -> None:
    with pytest.raises(ConfigurationError, match="is not a valid package name") as refused:
        create_project(tmp_path / name, "pure")
    assert refused.value.fix == f"attract new {nearest}"
    assert not (tmp_path / name).exists()


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="already exists"):
        create_project(folder, "pure")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    with pytest.raises(ConfigurationError, match="already exists"):
        create_project(folder / "notes.txt", "pure")


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    (tmp_path / "game").mkdir()
    assert create_project(tmp_path / "game", "physics")


def test_without_a_build_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new, "WEB", tmp_path / "web")
    with pytest.raises(ConfigurationError) as refused:
        create_project(tmp_path / "game", "pure")
    assert refused.value.fix == "npm run build"
    assert not (tmp_path / "game").exists()


def test_a_path_with_a_space_is_quoted() -> None:
    assert next_steps(Path("a b/game"), "pure").startswith("cd 'a b/game'\n")


@pytest.mark.parametrize("template", get_args(new.Template))
def test_the_next_steps_train_what_was_written(template: new.Template, tmp_path: Path) -> None:
    files = {str(path) for path in create_project(tmp_path / "game", template)}
    (trained,) = re.findall(r"attract train (\S+)", next_steps(tmp_path / "game", template))
    assert trained in files
    assert f"attract train {trained} " in (tmp_path / "game" / "README.md").read_text()


def test_new_lists_what_it_wrote_and_what_to_type_next(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert attract("new", "my-walk", "--template", "physics") == 0
    output = capsys.readouterr().out
    wrote, _, following = output.partition("\n\nNext:\n\n")
    files = [Path(line.removeprefix("wrote ")) for line in wrote.splitlines()]
    assert Path("my-walk/src/game.ts") in files and all(path.is_file() for path in files)
    assert following.startswith("cd my-walk\nattract train src/game.ts ")
