"""Making sure that a Chromium is there: by commands that are scripts here."""

import os
import sys
from pathlib import Path

import pytest

from attract.browser import chromium, install


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a Chromium, whose Python is a script that a test writes."""
    for name in (chromium.SETTING, "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_one_that_is_there_needs_nothing(machine: Path, capsys: pytest.CaptureFixture[str]):
    script(machine / "bin" / "chromium", "echo Chromium 1.2.3")
    assert install.main() == 0
    assert capsys.readouterr().out == ""


def test_the_first_command_that_brings_one_is_enough(machine: Path, capsys: pytest.CaptureFixture[str]):
    browser = machine / "bin" / "chromium"
    script(
        machine / "python",
        f'printf "#!/bin/sh\\necho Chromium 1.2.3\\n" > {browser}; /bin/chmod 755 {browser}',
    )
    assert install.main() == 0
    assert "trying to install Playwright's Chromium" in capsys.readouterr().out


def test_where_nothing_helps_the_commands_to_type_are_named(
    machine: Path, capsys: pytest.CaptureFixture[str]
):
    script(machine / "python", "echo no network >&2; exit 3")
    assert install.main() == 1
    said = capsys.readouterr().err
    assert "no network" in said
    assert all(command in said for command in chromium.INSTALL_COMMANDS)
    assert f"{chromium.SETTING}=" in said


def test_a_setting_that_names_no_chromium_is_not_mended(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(chromium.SETTING, str(machine / "none"))
    script(machine / "python", "touch called")
    assert install.main() != 0
    assert chromium.SETTING in capsys.readouterr().err
    assert not (Path(os.curdir) / "called").exists()
