"""Runs over HTTP: started, shown, paused, stopped, rolled back, and damaged."""

import json
from pathlib import Path

import pytest

from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.schema.api import (
    RunView,
)
from attract.server.audit_trail import AUDIT_FILE
from gateway_world import SMALL, GatewayWorld
from waiting import until


async def test_a_run_is_started_shown_paused_and_stopped_over_http(world: GatewayWorld):
    async with world.fleet().joined():
        started = await world.client.post("/api/runs", json={"game": "counting", "settings": SMALL})
        assert started.status_code == 201
        view = RunView.model_validate(started.json())
        again = await world.client.post("/api/runs", json={"game": "counting", "settings": SMALL})
        assert again.status_code == 409
        assert view.run_id in again.json()["error"]
        assert (await world.client.get("/api/info")).json()["active_run"] == view.run_id
        paused = await world.client.post(f"/api/runs/{view.run_id}/pause", json={})
        assert paused.json()["state"] == "paused"
        resumed = await world.client.post(f"/api/runs/{view.run_id}/resume", json={})
        assert resumed.json()["state"] in ("running", "starting")
        fleet = await world.client.get(f"/api/runs/{view.run_id}/fleet")
        assert len(fleet.json()["hosts"]) == 1
        stopped = await world.client.post(f"/api/runs/{view.run_id}/stop", json={})
        assert stopped.json()["state"] == "stopped"
        listed = (await world.client.get("/api/runs?q=is:all")).json()["runs"]
        assert [run["run_id"] for run in listed] == [view.run_id]


async def test_a_stopped_run_is_resumed_over_http_and_refusals_are_sentences(world: GatewayWorld):
    async with world.fleet().joined():
        view = await world.start()
        await until(lambda: world.service.view(view.run_id).updates >= 2, 20)
        stopped = await world.client.post(f"/api/runs/{view.run_id}/stop", json={})
        assert stopped.json()["state"] == "stopped"
        updates = stopped.json()["updates"]
        other = await world.start()
        refused = await world.client.post(f"/api/runs/{view.run_id}/resume", json={})
        assert refused.status_code == 409
        assert other.run_id in refused.json()["error"]
        await world.service.stop(other.run_id)
        resumed = await world.client.post(f"/api/runs/{view.run_id}/resume", json={})
        assert resumed.status_code == 200
        assert resumed.json()["run_id"] == view.run_id
        await until(lambda: world.service.view(view.run_id).updates >= updates + 2, 20)
    gone = await world.client.post("/api/runs/gone/resume", json={})
    assert gone.status_code == 404
    async with world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}") as viewer:
        assert (await viewer.post(f"/api/runs/{view.run_id}/resume", json={})).status_code == 403


@pytest.mark.parametrize("run_id", ["..", "%2e%2e", "..%2fruns", ".trash", "a%00b", "gone"])
async def test_run_ids_that_are_no_runs_are_404_on_every_route(world: GatewayWorld, run_id: str):
    # Clients turn `..` into `/api/metrics`, which is no route of a run.
    metrics = [] if run_id == ".." else ["/metrics"]
    for rest in ("", *metrics, "/events", "/fleet", "/policy/latest.onnx", "/policy/0.onnx"):
        assert (await world.client.get(f"/api/runs/{run_id}{rest}")).status_code == 404


def break_database(path: Path) -> None:
    (path / "metrics.db").write_bytes(b"garbage" * 1000)
    for beside in path.glob("metrics.db-*"):
        beside.unlink()


BREAKS = {
    "metrics.db": break_database,
    "game.json": lambda path: (path / "game.json").write_text("[]"),
    "config.yaml": lambda path: (path / "config.yaml").write_bytes(b"\xff: ["),
    "settings": lambda path: (path / "config.yaml").write_text("settings: 1"),
    "policy.json": lambda path: (path / "export" / "policy.json").write_text("{}"),
    "latest": lambda path: ((path / "latest").unlink(), (path / "latest").symlink_to("/etc/passwd")),
}


@pytest.mark.parametrize("name", BREAKS)
async def test_hostile_10_a_damaged_run_answers_with_the_reason_and_hides_no_other(
    world: GatewayWorld, name: str
):
    good, bad = await world.trained(64), await world.trained(64)
    BREAKS[name](world.runs_dir / bad)
    listed = await world.client.get("/api/runs")
    assert listed.status_code == 200
    assert {run["run_id"] for run in listed.json()["runs"]} == {good, bad}
    assert (await world.client.get(f"/api/runs/{good}")).status_code == 200
    paths = (
        "",
        "/metrics",
        "/events",
        "/fleet",
        "/log",
        "/policy/latest.onnx",
        "/policy/1.onnx",
        "/policy.json",
    )
    if name == "latest":
        assert (await world.client.get("/api/runs/latest")).status_code == 200
        return
    for path in paths:
        if name in ("metrics.db", "game.json") and path.startswith("/policy"):
            continue
        if name == "policy.json" and path in ("/metrics",):
            continue
        if path == "/metrics" and name != "metrics.db":
            continue
        answer = await world.client.get(f"/api/runs/{bad}{path}")
        assert answer.status_code == 422, (path, answer.text)
        assert f"run {bad} is damaged" in answer.json()["error"]


async def test_the_log_of_a_past_run_is_there_and_a_viewer_has_the_game_s_alone(world: GatewayWorld):
    run_id = await world.trained(64)
    logs = world.runs_dir / run_id / "logs"
    (logs / "game.log").write_text("2026-01-01T00:00:05Z WARNING game: the ball left\n")
    (logs / "learner.log").write_text("2026-01-01T00:00:04Z INFO a.b: begins\n")

    def texts(answer: dict[str, list[dict[str, str]]]) -> list[str]:
        return [f"{entry['source']} {entry['level']} {entry['text']}" for entry in answer["entries"]]

    log = (await world.client.get(f"/api/runs/{run_id}/log")).json()
    assert set(log) == {"entries"}
    found = texts(log)
    assert found[:2] == ["learner info a.b: begins", "game warning the ball left"]
    assert any(text.startswith("server info attract.run.active: run") and "ends" in text for text in found)
    assert texts((await world.client.get("/api/runs/latest/log")).json()) == found
    async with world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}") as viewer:
        log = (await viewer.get(f"/api/runs/{run_id}/log")).json()
        assert texts(log) == ["game warning the ball left"]


async def test_a_prefix_stripping_proxy_changes_nothing_that_the_server_says(world: GatewayWorld):
    """No answer holds an absolute path or address: everything derives from the page's base."""
    run_id = await world.trained()
    for path in ("/api/info", "/api/games", "/api/runs", f"/api/runs/{run_id}"):
        text = (await world.client.get(path)).text
        assert f":{world.port}" not in text
        assert '"/api' not in text
        assert '"/games' not in text


async def test_C10_an_admin_takes_a_run_that_is_over_back_to_an_earlier_version(world: GatewayWorld):
    run_id = (await world.start()).run_id
    path, body = f"/api/runs/{run_id}/rollback", {"to_version": 1}
    refused = await world.client.post(path, json=body)
    assert (refused.status_code, f"run {run_id} is active" in refused.json()["error"]) == (409, True)
    await world.service.stop(run_id)
    assert (await world.client.post("/api/runs/nothing/rollback", json=body)).status_code == 404
    directory = RunDirectory.view(world.runs_dir, run_id)
    for version in range(4):
        (directory.checkpoints / str(version)).mkdir(exist_ok=True)
    known = directory.versions()
    assert known[-1] >= 3
    answer = await world.client.post(path, json=body)
    assert (answer.status_code, answer.json()["run_id"]) == (200, run_id)
    assert directory.versions() == [version for version in known if version <= 1]
    lines = [json.loads(splitline) for splitline in (world.runs_dir / AUDIT_FILE).read_text().splitlines()]
    assert [(line["run"], line["version"]) for line in lines if line["action"] == "rolled_back"] == [
        (run_id, 1)
    ]
    async with world.anonymous() as client:
        assert (await client.post(path, json=body)).status_code == 401


async def test_a_run_that_another_process_trains_is_live_and_controlled_there(world: GatewayWorld):
    run_id = await world.trained()
    store = MetricsStore(world.runs_dir / run_id / "metrics.db")
    store.put_fact(VIEW, {**store.fact(VIEW), "state": "running"})
    store.close()
    elsewhere = RunDirectory.open_locked(world.runs_dir, run_id)
    info = (await world.client.get("/api/info")).json()
    assert (info["active_run"], info["live_run"]) == (None, run_id)
    view = (await world.client.get(f"/api/runs/{run_id}")).json()
    assert (view["state"], view["is_elsewhere"]) == ("running", True)
    for action in ("pause", "stop"):
        refused = await world.client.post(f"/api/runs/{run_id}/{action}", json={})
        assert (refused.status_code, "another process" in refused.json()["error"]) == (409, True)
    elsewhere.close()
    assert (await world.client.get("/api/info")).json()["live_run"] is None
    assert not (await world.client.get(f"/api/runs/{run_id}")).json()["is_elsewhere"]
    async with world.fleet().joined():
        own = await world.start()
        assert (await world.client.get("/api/info")).json()["live_run"] == own.run_id
        assert not (await world.client.get(f"/api/runs/{own.run_id}")).json()["is_elsewhere"]
        await world.service.stop(own.run_id)
