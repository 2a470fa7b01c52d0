"""Finding a Chromium: the order of the places, and the words when there is none."""

import os
from pathlib import Path

import pytest

from attract.browser import chromium
from attract.errors import ConfigurationError


def _executable(path: Path, text: str = "#!/bin/sh\necho Chromium 1.2.3\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH folder and an empty home."""
    monkeypatch.delenv(chromium.SETTING, raising=False)
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_none_is_found_on_a_bare_machine(bare_machine: Path) -> None:
    assert chromium.find_chromium() is None


def test_the_error_names_the_commands_that_install_one(bare_machine: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chromium.require_chromium()
    for command in chromium.INSTALL_COMMANDS:
        assert command in str(caught.value)
    assert chromium.SETTING in str(caught.value)


def test_playwrights_newest_download_is_found_last(bare_machine: Path) -> None:
    cache = bare_machine / "home/.cache/ms-playwright"
    _executable(cache / "chromium-999/chrome-linux/chrome")
    newest = _executable(cache / "chromium-1200/chrome-linux64/chrome")
    found = chromium.find_chromium()
    assert found is not None
    assert found.path == str(newest)
    on_path = _executable(bare_machine / "bin/chromium")
    found = chromium.find_chromium()
    assert found is not None
    assert found.path == str(on_path)


def test_the_setting_wins_over_the_path(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(bare_machine / "bin/chromium")
    chosen = _executable(bare_machine / "else/my-chromium")
    monkeypatch.setenv(chromium.SETTING, str(chosen))
    found = chromium.find_chromium()
    assert found is not None
    assert (found.path, found.found_by) == (str(chosen), f"setting {chromium.SETTING}")
    assert found.version() == "Chromium 1.2.3"


def test_a_setting_that_names_nothing_is_refused(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(bare_machine / "bin/chromium")
    monkeypatch.setenv(chromium.SETTING, "/nowhere/chromium")
    with pytest.raises(ConfigurationError, match="'/nowhere/chromium' is not an executable file"):
        chromium.find_chromium()


def test_a_browser_that_does_not_start_has_no_version(bare_machine: Path) -> None:
    broken = _executable(bare_machine / "bin/chromium", "#!/bin/sh\nexit 3\n")
    assert chromium.Chromium(str(broken), "test").version() is None


def test_the_sandbox_is_off_only_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--no-sandbox" in chromium.launch_switches()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--no-sandbox" not in chromium.launch_switches()


def test_scale_11_a_container_without_user_namespaces_switches_the_sandbox_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv(chromium.SANDBOX, "off")
    assert "--no-sandbox" in chromium.launch_switches()
    monkeypatch.setenv(chromium.SANDBOX, "no")
    with pytest.raises(ConfigurationError, match="neither on nor off"):
        chromium.launch_switches()
