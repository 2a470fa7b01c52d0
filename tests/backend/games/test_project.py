"""Which folder a game may import from, where none was named."""

from pathlib import Path

import pytest

from attract.games.project import find_project_dir, shared_folder


def test_the_current_folder_is_the_project_of_a_module_below_it(tmp_path: Path) -> None:
    module = tmp_path / "proj" / "train" / "g.ts"
    assert find_project_dir(module, tmp_path / "proj") == tmp_path / "proj"
    assert find_project_dir(module, tmp_path / "other") == tmp_path / "proj" / "train", "its own folder"


@pytest.mark.parametrize("marker", ["package.json", ".git"])
def test_a_marker_above_the_module_is_found_from_any_folder(tmp_path: Path, marker: str) -> None:
    module = tmp_path / "proj" / "train" / "deep" / "g.ts"
    module.parent.mkdir(parents=True)
    (tmp_path / "proj" / marker).touch()
    for current in (module.parent, tmp_path / "other", tmp_path / "proj" / "train"):
        assert find_project_dir(module, current) == tmp_path / "proj"


def test_a_package_of_a_repository_may_import_from_the_others(tmp_path: Path) -> None:
    package = tmp_path / "mono" / "packages" / "ai"
    package.mkdir(parents=True)
    (package / "package.json").touch()
    assert find_project_dir(package / "g.ts", package) == package
    (tmp_path / "mono" / ".git").mkdir()
    assert find_project_dir(package / "g.ts", package) == tmp_path / "mono"


def test_the_home_directory_and_what_is_above_it_are_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "proj").mkdir(parents=True)
    for folder in (home, tmp_path):
        (folder / ".git").mkdir()
        (folder / "package.json").touch()
    monkeypatch.setenv("HOME", str(home))
    module = home / "proj" / "g.ts"
    for current in (home, tmp_path, Path("/")):
        assert find_project_dir(module, current) == home / "proj"
    assert find_project_dir(home / "g.ts", home) == home, "a module that lies in it has no other folder"


def test_what_two_files_share_is_named_unless_it_is_too_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert shared_folder(tmp_path / "home" / "p" / "train", tmp_path / "home" / "p" / "src") == (
        tmp_path / "home" / "p"
    )
    assert shared_folder(tmp_path / "home" / "p", tmp_path / "home" / "q") is None
    assert shared_folder(tmp_path / "home", Path("/etc")) is None
