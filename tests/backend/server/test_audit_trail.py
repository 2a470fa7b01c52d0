import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from attract import __version__
from attract.server import audit_trail
from attract.server.audit_trail import AUDIT_FILE, AuditTrail
from attract.server.guard import token_key
from gateway_world import GatewayWorld, gateway
from waiting import WAIT_SECONDS, until


def lines(runs_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (runs_dir / AUDIT_FILE).read_text().splitlines()]


def of(world: GatewayWorld, action: str) -> list[dict[str, Any]]:
    return [line for line in lines(world.runs_dir) if line["action"] == action]


async def test_watched_starts_stops_joins_and_refusals_are_recorded_with_who_did_it(tmp_path: Path):
    async with gateway(tmp_path) as world:
        admin = token_key(world.guard.admin_token)
        fleet = world.fleet()
        async with fleet.joined():
            body = {"game": "counting", "settings": {"collection": {"num_workers": 2}}}
            run = (await world.client.post("/api/runs", json=body)).json()["run_id"]
            await until(lambda: len(of(world, "joined")) == 3, WAIT_SECONDS)
            await world.client.post(f"/api/runs/{run}/stop", json={})
        await until(lambda: len(of(world, "left")) == 3, WAIT_SECONDS)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as stranger:
            await stranger.post(f"/api/runs/{run}/stop", json={}, headers={"authorization": "Bearer guessed"})
        wrong = world.fleet()
        wrong.token = "y" * 40
        async with wrong.joined():
            await until(lambda: bool(wrong.refused), WAIT_SECONDS)
        written = lines(world.runs_dir)
        asked = [
            (entry["path"], entry["status"], entry["role"], entry["credential"])
            for entry in of(world, "requested")
        ]
        assert asked == [
            ("/api/runs", 201, "admin", admin),
            (f"/api/runs/{run}/stop", 200, "admin", admin),
        ]
        assert [(entry["run"], entry["game"]) for entry in of(world, "run_started")] == [(run, "counting")]
        assert [(entry["run"], entry["state"]) for entry in of(world, "run_ended")] == [(run, "stopped")]
        joined = of(world, "joined")
        assert {(entry["role"], entry["tier"], entry["credential"]) for entry in joined} == {
            ("host", "local", token_key(fleet.token)),
            ("worker", "local", token_key(fleet.token)),
        }
        assert len({entry["connection"] for entry in joined}) == 3
        by_http, by_socket = of(world, "refused")
        assert (by_http["status"], by_http["credential"]) == (401, token_key("guessed"))
        assert "role" not in by_http
        assert by_socket["code"] == "token"
        assert {
            entry["address"] for entry in written if entry["action"] in ("refused", "joined", "requested")
        } == {"127.0.0.1"}


async def test_watched_a_server_has_one_trail_from_its_start_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made: list[AuditTrail] = []
    make = AuditTrail.__init__

    def counted(self: AuditTrail, *given: Any) -> None:
        made.append(self)
        make(self, *given)

    monkeypatch.setattr(AuditTrail, "__init__", counted)
    async with gateway(tmp_path) as world:
        runs_dir = world.runs_dir
        run = (await world.start()).run_id
    # Two would count what they leave out each by itself, and a flood would get twice its allowance.
    assert len(made) == 1
    written = [line for line in lines(runs_dir) if line["action"] in ("run_started", "run_ended")]
    assert {entry["run"] for entry in written} == {run}
    first, *_, last = lines(runs_dir)
    assert (first["action"], last["action"]) == ("server_started", "server_ended")
    assert (first["version"], first["host"]) == (__version__, "127.0.0.1")


async def test_watched_the_trail_holds_no_secret(tmp_path: Path):
    async with gateway(tmp_path) as world:
        local = (await world.client.post("/api/join", json={})).json()["token"]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as client:
            await client.post("/api/session", json={"token": world.guard.admin_token})
            cookies = [morsel.value or "" for morsel in client.cookies.jar]
            origin = {"origin": f"http://127.0.0.1:{world.port}"}
            await client.post("/api/join", json={}, headers=origin)
            await client.post(
                "/api/runs/guessed/stop", json={}, headers={"cookie": "attract_0=planted-cookie"}
            )
        text = (world.runs_dir / AUDIT_FILE).read_text()
        assert text.count("/api/join") >= 1
        for secret in (world.guard.admin_token, local, "planted-cookie", *cookies):
            assert secret not in text
        assert (world.runs_dir / AUDIT_FILE).stat().st_mode & 0o077 == 0


def test_watched_the_trail_is_bounded_and_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_trail, "MAX_BYTES", 4000)
    trail = AuditTrail(tmp_path, lambda: 0.0)
    for number in range(500):
        trail.write("run_started", run=f"run-{number}")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 8000
    assert {path.name for path in tmp_path.iterdir()} == {AUDIT_FILE, f"{AUDIT_FILE}.1"}
    assert lines(tmp_path)[-1]["run"] == "run-499"
    kept = [*(tmp_path / f"{AUDIT_FILE}.1").read_text().splitlines()]
    numbers = [int(json.loads(line)["run"][4:]) for line in kept] + [
        int(line["run"][4:]) for line in lines(tmp_path)
    ]
    # None is missing between the oldest that is kept and the newest.
    assert numbers == list(range(numbers[0], 500))


def test_watched_a_flood_of_refusals_is_counted_and_pushes_nothing_out(tmp_path: Path):
    now = 0.0
    trail = AuditTrail(tmp_path, lambda: now)
    trail.write("run_started", run="r")
    for _ in range(10_000):
        trail.write("refused", code="token", address="192.0.2.1")
    assert len(lines(tmp_path)) == 1 + 100
    # A tenth of a line a second: 10 s later there is room for one, which says what was left out.
    now = 10.0
    trail.write("refused", code="token", address="192.0.2.1")
    assert lines(tmp_path)[-1]["left_out"] == 9_900
    trail.write("requested", path="/api/join")
    assert lines(tmp_path)[-1]["action"] == "requested"


def test_watched_a_line_is_one_line_whatever_is_in_it(tmp_path: Path):
    trail = AuditTrail(tmp_path, lambda: 0.0)
    trail.write("refused", path="/x\n{}\u2028\x1b[2J" + "z" * 10_000)
    (line,) = lines(tmp_path)
    text = (tmp_path / AUDIT_FILE).read_text()
    assert text.count("\n") == 1
    assert text.isascii()
    assert "\x1b" not in text
    assert len(line["path"]) == 200


def test_watched_a_disk_that_takes_no_writes_changes_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("no folder")
    trail = AuditTrail(tmp_path / "file" / "runs", lambda: 0.0)
    trail.write("run_started", run="r")
    trail.write("run_ended", run="r")
    assert len([record for record in caplog.records if "trail cannot be written" in record.message]) == 1


def test_watched_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / AUDIT_FILE).symlink_to(elsewhere)
    AuditTrail(runs, lambda: 0.0).write("run_started", run="r")
    assert elsewhere.read_text() == "mine"


def test_watched_servers_that_share_a_folder_lose_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_trail, "MAX_BYTES", 30_000)

    def write(who: int) -> None:
        trail = AuditTrail(tmp_path, lambda: 0.0)
        for number in range(100):
            trail.write("run_started", run=f"{who}-{number}")

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = (tmp_path / AUDIT_FILE).read_text().splitlines()
    older = tmp_path / f"{AUDIT_FILE}.1"
    written += older.read_text().splitlines() if older.exists() else []
    assert len({json.loads(entry)["run"] for entry in written}) == 400


async def test_scale_13_lines_of_the_runs_log_say_which_socket_and_lease(tmp_path: Path):
    async with gateway(tmp_path, log_format="json") as world:
        fleet = world.fleet()
        async with fleet.joined():
            run = (await world.start()).run_id
            await until(lambda: len(fleet.accepted) > 4, WAIT_SECONDS)
            fleet.block_error = b"\xc1 nonsense"
            log = world.runs_dir / run / "logs" / "gateway.log"
            await until(lambda: "is closed" in log.read_text(), WAIT_SECONDS)
            await world.service.stop(run)
        shown = [json.loads(splitline) for splitline in log.read_text().splitlines()]
        assert {line["run"] for line in shown} == {run}
        (closed,) = [line for line in shown if "is closed" in line["message"]]
        assert closed["level"] == "warning"
        assert closed["connection"] in {entry["connection"] for entry in of(world, "joined")}
        assert closed["host"] == "b" * 32
        assert os.getpid() in {line["process"] for line in lines(world.runs_dir)}
        await asyncio.sleep(0)
