"""Runs over HTTP: the bodies that start them, what is refused of those, and studies of several."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.runs.studies import locked_study, study_folder, write_view
from attract.schema.api import (
    RunView,
    SettingsForm,
    SettingsView,
)
from attract.schema.studies import StudyTrial, StudyView
from attract.server.audit_trail import AUDIT_FILE
from attract.settings.schema import setting_paths
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


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"game": "countin"}, "counting"),
        ({"game": "../secret.ts"}, "outside"),
        ({"game": "counting", "settings": {"ppo": {"learning_rat": 1}}}, "learning_rate"),
        ({"game": "counting", "settings": {"ppo": {"gamma": 2}}}, "gamma"),
        ({"game": "counting", "run_id": "../x"}, "run id"),
        # A command line that is run comes from this machine's own command line alone.
        (
            {"game": "counting", "settings": {"self_play": {"seats": "newest,outside:bot"}}},
            "no program 'bot'",
        ),
        ({"game": "counting", "settings": {"self_play": {"seats": "newest,outside:touch /tmp/x"}}}, "seats"),
        ({"game": "counting", "settings": {"outside": {"bot": "touch /tmp/x"}}}, "outside"),
        ({"game": "counting", "settings": {"self_play": {"outside": {"bot": "id"}}}}, "outside"),
        ({"game": "counting", "outside": {"bot": "touch /tmp/x"}}, "outside"),
    ],
)
async def test_a_start_that_cannot_work_is_refused_with_what_would(
    world: GatewayWorld, body: dict[str, Any], says: str
):
    response = await world.client.post("/api/runs", json=body)
    assert response.status_code == 422
    assert says in response.text
    assert set(response.json()) == {"error", "fix", "problems", "suggestion"}


async def test_a_body_that_is_no_start_is_a_problem_too(world: GatewayWorld):
    response = await world.client.post("/api/runs", json={"gaem": "counting"})
    assert response.status_code == 422
    assert set(response.json()) == {"error", "fix", "problems", "suggestion"}
    assert "game" in response.json()["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("demonstrations", {"actions": [[["x"] * 400]], "returns": ["y"] * 400, "game_id": "z"}),
        ("runs", {"game": "counting", "k" * 30_000: 1}),
        ("runs", {"game": "counting", "settings": {"k" * 30_000: 1}}),
        ("runs", {"game": "counting", "settings": {"ppo": {f"{'k' * 100}{n}": 1 for n in range(400)}}}),
        ("runs", {"game": "counting", "settings": {"ppo": {"gamma": "g" * 30_000}}}),
        ("runs", {"game": "counting", "settings": {"policy": ["p" * 30_000]}}),
    ],
)
async def test_however_much_is_wrong_the_answer_is_a_problem_of_bounded_size(
    world: GatewayWorld, path: str, body: dict[str, Any]
):
    response = await world.client.post(f"/api/{path}", json=body)
    assert response.status_code == 422, response.text[:300]
    assert set(response.json()) == {"error", "fix", "problems", "suggestion"}
    assert len(response.content) < 200_000


async def test_of_however_many_wrong_settings_each_is_told_in_short(world: GatewayWorld):
    settings = {"k" * 30_000: {"k" * 30_000: 1}, "policy": ["p" * 30_000]}
    response = await world.client.post("/api/settings", json={"game": "counting", "settings": settings})
    assert response.status_code == 200
    assert response.json()["problems"] and len(response.content) < 200_000


async def test_settings_are_tried_without_starting_anything(world: GatewayWorld):
    form = SettingsForm.model_validate((await world.client.get("/api/settings")).json())
    assert set(form.common) <= {path for path, _ in setting_paths(form.json_schema)}
    body = {"game": "counting", "settings": {"ppo": {"gamma": 0.5}}}
    view = SettingsView.model_validate((await world.client.post("/api/settings", json=body)).json())
    assert view.effective is not None
    assert (view.effective["ppo"]["gamma"], view.problems) == (0.5, [])
    refused = {"game": "counting", "settings": {"ppo": {"gamma": 2}}}
    tried = SettingsView.model_validate((await world.client.post("/api/settings", json=refused)).json())
    started = await world.client.post("/api/runs", json=refused)
    assert [problem.setting for problem in tried.problems] == ["ppo.gamma"]
    assert started.json()["problems"] == [problem.model_dump() for problem in tried.problems]
    assert (await world.client.get("/api/runs?q=is:all")).json()["runs"] == []


def view() -> StudyView:
    return StudyView(
        study="snake",
        game="snake",
        state="searching",
        total_steps=100,
        num_trials=8,
        parallel=1,
        elapsed_seconds=1.0,
        trials=[StudyTrial(number=0, state="running", settings={"policy.hidden_sizes": [64]})],
    )


async def test_a_study_that_runs_is_listed_and_shown(world: GatewayWorld):
    assert (await world.client.get("/api/studies")).json() == []
    folder = study_folder(world.settings.runs_dir, "snake")
    with locked_study(folder):
        write_view(folder, view())
        (listed,) = (await world.client.get("/api/studies")).json()
        assert (listed["study"], listed["state"], listed["num_trials"]) == ("snake", "searching", 8)
        shown = (await world.client.get("/api/studies/snake")).json()
        assert StudyView.model_validate(shown) == view()
    assert (await world.client.get("/api/studies/snake")).json()["state"] == "stopped"


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e%2fsecret", ".trash"])
async def test_what_is_no_study_is_not_found(world: GatewayWorld, name: str):
    response = await world.client.get(f"/api/studies/{name}")
    assert response.status_code == 404
    assert "error" in response.json()


async def test_who_has_no_token_sees_none(world: GatewayWorld):
    response = await world.client.get("/api/studies", headers={"authorization": "Bearer nonsense"})
    assert response.status_code == 401
