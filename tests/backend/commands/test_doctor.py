"""The doctor: what is missing is said with the command that mends it."""

from pathlib import Path

import pytest

from attract.commands import doctor


def _named(name: str) -> doctor.Finding:
    return next(finding for finding in doctor.examine() if finding.name == name)


def test_this_machine_can_run_the_tests() -> None:
    assert [finding.name for finding in doctor.examine() if finding.required and not finding.ok] == []


def test_a_missing_chromium_names_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTRACT_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    finding = _named("chromium")
    assert not finding.ok
    assert "playwright install" in finding.fix
    assert "apt-get install chromium" in finding.fix


def test_missing_pages_name_make_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGE", tmp_path)
    finding = _named("web build")
    assert (finding.ok, finding.fix) == (False, "make build")


def test_windows_is_sent_to_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "platform", "win32")
    finding = _named("system")
    assert not finding.ok
    assert "wsl --install" in finding.fix


def test_a_runs_folder_that_cannot_be_written_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda _path, _mode: False)
    finding = _named("runs folder")
    assert not finding.ok
    assert "ATTRACT_RUNS_DIR" in finding.fix
