"""`attract report` and `attract doctor`: what a report has and lacks, and what is missing here."""

import asyncio
import json
import zipfile
from pathlib import Path

import pytest

from attract.commands import doctor
from attract.commands.report import pack_report, report_lines
from attract.errors import ConfigurationError
from attract.schema.answers import DoctorFinding
from gateway_world import gateway
from waiting import WAIT_SECONDS

PLANTED = {
    "token": "pT7-" + "kQ2_" * 9 + "end",
    "cookie": "planted-session",
    "invitation": "planted-invitation",
    "variable": "planted-variable",
    "home": "/home/planted-user",
    "address": "192.0.2.99",
}


@pytest.fixture
async def trained(tmp_path: Path) -> Path:
    """A finished run, in whose folder secrets were planted wherever text is packed from."""
    async with gateway(tmp_path) as world, world.fleet().joined():
        run = (await world.start(total_steps=192)).run_id
        await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        admin = world.guard.admin_token
    folder = world.runs_dir / run
    lines = "\n".join(
        [
            f"dashboard: http://127.0.0.1:8000/#token={admin}",
            f"a page said {PLANTED['token']}",
            f"Cookie: attract_0123abcd={PLANTED['cookie']}",
            f"invitation={PLANTED['invitation']}",
            f"the variable was {PLANTED['variable']}",
            f"at update ({PLANTED['home']}/games/mine.ts:3:4)",
            f"at start ({Path.home()}/mine.ts:1:1) of {folder.resolve()}",
            f"a socket of {PLANTED['address']} is closed",
            "the end",
        ]
    )
    for name in ("gateway.log", "learner.log"):
        with (folder / "logs" / name).open("a") as file:
            file.write(lines + "\n")
    with (folder / "config.yaml").open("a") as file:
        file.write("".join(f"# {line}\n" for line in lines.splitlines()))
    (folder / "logs" / "game.log").write_text("2026-01-01T00:00:01Z INFO game: a player's own words\n")
    (folder / "admin").write_text(admin)
    return folder


def unpacked(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_watched_a_report_has_what_an_issue_needs_and_no_planted_secret(trained: Path, tmp_path: Path):
    out = tmp_path / "report.zip"
    environment = {"MY_API_KEY": PLANTED["variable"]}
    written, parts = pack_report(trained.name, trained.parent, out, environment)
    assert written == out
    assert out.stat().st_mode & 0o077 == 0
    found = unpacked(out)
    everything = "\n".join([*found.values(), *found])
    for secret in (*PLANTED.values(), (trained / "admin").read_text(), str(trained.resolve())):
        assert secret not in everything
    if str(Path.home()) != "/":
        assert f"{Path.home()}/" not in everything
    # What it is for.
    assert "the end" in found["logs/gateway.log"]
    assert "~/games/mine.ts:3:4" in found["logs/learner.log"]
    assert "num_workers" in found["settings.yaml"]
    assert json.loads(found["run.json"])["updates"] == 3
    assert json.loads(found["game.json"])["description"]["id"] == "Counting-v1"
    metrics = json.loads(found["metrics.json"])
    assert metrics["last_update"] == 3
    assert "train/loss" in metrics["names"]
    assert {load["name"] for load in json.loads(found["doctor.json"])} >= {"python", "chromium"}
    assert json.loads(found["machine.json"])["packages"]["fastapi"]
    assert "checkpoints/1/checkpoint.json" in json.loads(found["files.json"])
    # It says what is in it, and what is not; neither the game's code nor a model is.
    assert all(name in found["CONTENTS.txt"] for name in found if name != "CONTENTS.txt")
    assert "not in it:" in report_lines(parts)
    assert not [name for name in found if name.endswith((".js", ".onnx", ".safetensors"))]
    assert "export default" not in everything
    assert "what the game wrote to its console" in found["CONTENTS.txt"]
    assert "a player's own words" not in everything


def test_watched_a_damaged_run_is_reported_as_far_as_it_can_be_read(trained: Path, tmp_path: Path):
    for path in trained.glob("metrics.db*"):
        path.unlink()
    (trained / "metrics.db").write_bytes(b"garbage" * 1000)
    (trained / "game.json").unlink()
    (trained / "game.json").symlink_to("/etc/passwd")
    found = unpacked(pack_report(trained.name, trained.parent, tmp_path / "r.zip", {})[0])
    assert "could not be read" in found["run.json"]
    assert "could not be read" in found["game.json"]
    assert "root:" not in found["game.json"]
    assert "num_workers" in found["settings.yaml"]


def test_a_run_in_the_trash_and_the_newest_one_can_be_reported(trained: Path, tmp_path: Path):
    assert pack_report("latest", trained.parent, tmp_path / "a.zip", {})[0].is_file()
    trash = trained.parent / ".trash"
    trash.mkdir()
    trained.rename(trash / trained.name)
    assert pack_report(trained.name, trash.parent, tmp_path / "b.zip", {})[0].is_file()
    with pytest.raises(ConfigurationError, match="no run nothing"):
        pack_report("nothing", trash.parent, tmp_path / "c.zip", {})
    with pytest.raises(ConfigurationError, match="already exists"):
        pack_report(trained.name, trash.parent, tmp_path / "b.zip", {})
    assert not (tmp_path / "c.zip").exists()


def _named(name: str) -> DoctorFinding:
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
