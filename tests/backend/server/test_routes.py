import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from attract.runs.directory import RunDirectory
from attract.schema.api import (
    GameEntry,
    MetricsView,
    RunView,
    SettingsForm,
    SettingsView,
)
from attract.server.audit_trail import AUDIT_FILE
from attract.settings.run import RunSettings
from attract.settings.schema import setting_paths
from gateway_world import SMALL, GatewayWorld, gateway

WAIT_SECONDS = 20.0


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GatewayWorld]:
    async with gateway(tmp_path) as world:
        yield world


def anonymous(world: GatewayWorld, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}", headers=headers)


async def trained(world: GatewayWorld, steps: int = 192) -> str:
    """Id of a finished run of `steps` agent steps, 64 an update."""
    async with world.fleet().joined():
        view = await world.start(total_steps=steps)
        await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
    return view.run_id


PUBLIC = {
    "/healthz",
    "/readyz",
    "/api/session",
    "/games/{sha256}.js",
    "/games/{sha256}.js.map",
    "/{path:path}",
}


def test_only_these_routes_are_open_to_everyone(tmp_path: Path):
    from fake_learner import FakeLearner

    world = GatewayWorld(tmp_path, FakeLearner())
    roles = {getattr(route, "path", ""): route.endpoint.attract_role for route in world.app.routes}  # type: ignore[attr-defined]
    assert {path for path, needed in roles.items() if needed == "public"} == PUBLIC
    admins = {path for path, needed in roles.items() if needed == "admin"}
    assert admins == {
        "/api/join",
        "/api/access",
        "/api/access/{entry_id}/revoke",
        "/api/demonstrations/{demonstration_id}/delete",
        "/api/runs/{run_id}/pause",
        "/api/runs/{run_id}/resume",
        "/api/runs/{run_id}/let-in",
        "/api/runs/{run_id}/rollback",
        "/api/runs/{run_id}/stop",
    } | ({"/api/runs", "/api/demonstrations"} & admins)


async def test_every_other_route_refuses_who_has_no_token(world: GatewayWorld):
    async with anonymous(world) as client:
        for route in world.app.routes:
            if not isinstance(route, Route) or route.path in PUBLIC:
                continue
            path = route.path.replace("{run_id}", "x").replace("{version}", "0").replace("{entry_id}", "s-0")
            for method in (route.methods or set()) - {"HEAD"}:
                response = await client.request(method, path, json={} if method == "POST" else None)
                assert response.status_code == 401, (method, path)
                assert response.json()["error"]


async def test_healthz_answers_without_a_token(world: GatewayWorld):
    async with anonymous(world) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_a_viewer_sees_and_changes_nothing(world: GatewayWorld):
    run_id = await trained(world, 64)
    async with anonymous(world, authorization=f"Bearer {world.guard.issue('viewer')}") as client:
        assert (await client.get("/api/info")).json()["role"] == "viewer"
        assert (await client.get(f"/api/runs/{run_id}")).status_code == 200
        for path in (
            "/api/runs",
            "/api/join",
            f"/api/runs/{run_id}/stop",
            "/api/demonstrations",
            "/api/demonstrations/x/delete?game_id=counting",
        ):
            assert (await client.post(path, json={"game": "counting"})).status_code == 403


async def test_a_card_is_for_members_and_only_of_a_game_that_has_one(world: GatewayWorld):
    for file in ("card.jpg", "policy.onnx"):
        for game in ("counting", "nothing", "..", "%2e%2e"):
            assert (await world.client.get(f"/api/games/{game}/{file}")).status_code == 404
        async with anonymous(world) as client:
            assert (await client.get(f"/api/games/juggler/{file}")).status_code == 401


async def test_games_are_listed_and_served_by_hash_for_good(world: GatewayWorld):
    entries = [GameEntry.model_validate(entry) for entry in (await world.client.get("/api/games")).json()]
    (counting,) = entries
    assert counting.reference is not None
    async with anonymous(world) as client:
        response = await client.get(f"/{counting.reference.url}")
        assert response.text == "export default 1;\n"
        assert response.headers["content-type"].startswith("text/javascript")
        assert "immutable" in response.headers["cache-control"]
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert (await client.get(f"/games/{'0' * 64}.js")).status_code == 404
        assert (await client.get("/games/counting.js")).status_code == 404
        assert (await client.get(f"/{counting.reference.url}.map")).status_code == 404


async def test_the_dashboard_and_its_hashed_assets(world: GatewayWorld):
    async with anonymous(world) as client:
        page = await client.get("/")
        assert "<title>Attract</title>" in page.text
        assert page.headers["cache-control"] == "no-cache"
        asset = await client.get("/assets/index-1.js")
        assert "immutable" in asset.headers["cache-control"]


TRAVERSALS = [
    "/../games/counting.js",
    "/%2e%2e/games/counting.js",
    "/..%2fgames%2fcounting.js",
    "/assets/..%2f..%2fgames%2fcounting.js",
    "//etc/hostname",
    "/%2fetc%2fhostname",
    "/assets",
    "/nothing.html",
]


@pytest.mark.parametrize("path", TRAVERSALS)
async def test_no_file_outside_the_dashboard_is_served(world: GatewayWorld, path: str):
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.split(b" ", 2)[1] == b"404"
    assert b"export default" not in answer


@pytest.mark.parametrize("run_id", ["..", "%2e%2e", "..%2fruns", ".trash", "a%00b", "gone"])
async def test_run_ids_that_are_no_runs_are_404_on_every_route(world: GatewayWorld, run_id: str):
    for rest in ("", "/metrics", "/events", "/fleet", "/policy/latest.onnx", "/policy/0.onnx"):
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
    good, bad = await trained(world, 64), await trained(world, 64)
    BREAKS[name](world.runs_dir / bad)
    listed = await world.client.get("/api/runs")
    assert listed.status_code == 200
    assert {one["run_id"] for one in listed.json()} == {good, bad}
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


async def test_links_in_a_run_folder_are_not_followed(world: GatewayWorld, tmp_path: Path):
    run_id = await trained(world, 64)
    secret = tmp_path / "secret"
    secret.write_text("secret of this machine")
    for name in ("policy.onnx", "policy.json"):
        model = world.runs_dir / run_id / "export" / name
        version = (await world.client.get(f"/api/runs/{run_id}")).json()["newest_model"]
        kept = model.read_bytes()
        model.unlink()
        model.symlink_to(secret)
        for path in (f"/policy/{version}.onnx", "/policy.json"):
            answer = await world.client.get(f"/api/runs/{run_id}{path}")
            assert "secret" not in answer.text.replace(str(secret), "")
            assert answer.status_code == 404 or (name == "policy.onnx" and path == "/policy.json")
        model.unlink()
        model.write_bytes(kept)


ODD_PATHS = [
    "/%00",
    "/" + "a" * 256,
    "/" + "a/" * 500,
    "/a" + "/a/.." * 1500,
    "/index.html/",
    "/%ff%fe",
    "/index.html%00.js",
]


@pytest.mark.parametrize("path", ODD_PATHS, ids=range(len(ODD_PATHS)))
async def test_hostile_11_no_address_makes_the_server_fail(world: GatewayWorld, path: str):
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.split(b" ", 2)[1] == b"404"
    assert len(answer) < 2000


async def test_hostile_11_versions_and_event_ids_have_few_digits(world: GatewayWorld):
    run_id = await trained(world, 64)
    for version in ("9" * 16, "9" * 5000, "-1", "1e3", "\u0661", "%00", "x" * 300):
        response = await world.client.get(f"/api/runs/{run_id}/policy/{version}.onnx")
        assert response.status_code == 404, version
        assert len(response.text) < 500
    for event_id in ("9" * 23, "9" * 5000, "-1", "x"):
        response = await world.client.get(f"/api/runs/{run_id}/events", headers={"last-event-id": event_id})
        assert response.status_code == 400, event_id
    for query in ("from=nan", "to=inf", "from=1e999", "max_points=99999999999999999999"):
        assert (await world.client.get(f"/api/runs/{run_id}/metrics?{query}")).status_code == 422


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
        assert [run["run_id"] for run in (await world.client.get("/api/runs")).json()] == [view.run_id]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"game": "countin"}, "counting"),
        ({"game": "../secret.ts"}, "outside"),
        ({"game": "counting", "settings": {"ppo": {"learning_rat": 1}}}, "learning_rate"),
        ({"game": "counting", "settings": {"ppo": {"gamma": 2}}}, "gamma"),
        ({"game": "counting", "run_id": "../x"}, "run id"),
    ],
)
async def test_a_start_that_cannot_work_is_refused_with_what_would(
    world: GatewayWorld, body: dict[str, Any], says: str
):
    response = await world.client.post("/api/runs", json=body)
    assert response.status_code == 422
    assert says in response.text
    assert set(response.json()) == {"error", "fix", "problems"}


async def test_a_body_that_is_no_start_is_a_problem_too(world: GatewayWorld):
    response = await world.client.post("/api/runs", json={"gaem": "counting"})
    assert response.status_code == 422
    assert set(response.json()) == {"error", "fix", "problems"}
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
    assert set(response.json()) == {"error", "fix", "problems"}
    assert len(response.content) < 200_000


async def test_of_however_many_wrong_settings_each_is_told_in_short(world: GatewayWorld):
    settings = {"k" * 30_000: {"k" * 30_000: 1}, "policy": ["p" * 30_000]}
    response = await world.client.post("/api/settings", json={"game": "counting", "settings": settings})
    assert response.status_code == 200
    assert response.json()["problems"] and len(response.content) < 200_000


@pytest.mark.alone  # Two workers that are equally fast get equal leases.
async def test_metrics_are_downsampled_and_chosen_by_name_and_range(world: GatewayWorld):
    run_id = await trained(world, 640)
    response = await world.client.get(
        f"/api/runs/{run_id}/metrics",
        params={"names": "train/loss", "from": 128, "to": 512, "max_points": 2},
    )
    view = MetricsView.model_validate(response.json())
    assert "rollout/ep_rew_mean" in view.names
    (series,) = view.series
    # Updates 2..8 (128 to 512 steps) in buckets of 4 and 3: means of 2, 3, 4, 5 and of 6, 7, 8.
    assert series.values == [3.5, 7.0]
    assert (series.low, series.high) == ([2.0, 6.0], [5.0, 8.0])
    assert (await world.client.get(f"/api/runs/{run_id}/metrics?max_points=0")).status_code == 422


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
    assert (await world.client.get("/api/runs")).json() == []


async def test_a_run_says_which_models_can_be_had_and_is_listed_without_its_settings(world: GatewayWorld):
    view = await world.start()
    # No learner has a policy yet: asking for version 0 would fail.
    assert view.newest_model is None
    await world.service.stop(view.run_id)
    run_id = await trained(world)
    assert world.service.view(run_id).newest_model == 3
    document = await world.client.get(f"/api/runs/{run_id}/policy.json")
    assert document.json()["policy_version"] == 3
    listed = (await world.client.get("/api/runs")).json()
    assert [one["title"] for one in listed] == ["Counting", "Counting"]
    assert not {"settings", "description", "reports"} & set(listed[0])


async def test_policies_are_immutable_and_latest_resolves_relative_to_itself(world: GatewayWorld):
    run_id = await trained(world)
    latest = await world.client.get(f"/api/runs/{run_id}/policy/latest.onnx")
    assert latest.status_code == 307
    assert latest.headers["location"] == "3.onnx"
    assert latest.headers["cache-control"] == "no-store"
    onnx = await world.client.get(f"/api/runs/{run_id}/policy/3.onnx")
    assert onnx.content == b"onnx 3"
    assert "immutable" in onnx.headers["cache-control"]
    for version in ("99", "x", "-1"):
        assert (await world.client.get(f"/api/runs/{run_id}/policy/{version}.onnx")).status_code == 404


async def events_of(world: GatewayWorld, run_id: str, count: int, last_id: int | None = None) -> list[Any]:
    """The first `count` events of a fresh connection: (id, kind, data)."""
    headers = {} if last_id is None else {"last-event-id": str(last_id)}
    found: list[Any] = []
    async with asyncio.timeout(WAIT_SECONDS):
        async with world.client.stream("GET", f"/api/runs/{run_id}/events", headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            event: dict[str, str] = {}
            async for line in response.aiter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    event[name] = value
                elif "event" in event:
                    found.append((int(event.get("id", 0)), event["event"], json.loads(event["data"])))
                    event = {}
                    if len(found) == count:
                        return found
    return found


async def test_events_begin_with_where_the_run_stands_and_can_be_resumed(world: GatewayWorld):
    run_id = await trained(world)
    ((last, kind, data),) = await events_of(world, run_id, 1)
    assert (kind, data["state"], data["updates"]) == ("status", "finished", 3)
    everything = await events_of(world, run_id, last, last_id=0)
    assert [event_id for event_id, _, _ in everything] == list(range(1, last + 1))
    assert [body["update"] for _, kind, body in everything if kind == "metrics"] == [1, 2, 3]
    middle = last // 2
    missed = await events_of(world, run_id, last - middle, last_id=middle)
    assert missed == everything[middle:]


async def test_events_go_on_live(world: GatewayWorld):
    async with world.fleet().joined():
        view = await world.start(total_steps=64_000)
        listening = asyncio.create_task(events_of(world, view.run_id, 30))
        events = await listening
        kinds = {kind for _, kind, _ in events}
        assert {"status", "metrics", "policy"} <= kinds
        updates = [body["update"] for _, kind, body in events if kind == "metrics"]
        assert updates == list(range(updates[0], updates[0] + len(updates)))


async def test_a_prefix_stripping_proxy_changes_nothing_that_the_server_says(world: GatewayWorld):
    """No answer holds an absolute path or address: everything derives from the page's base."""
    run_id = await trained(world)
    for path in ("/api/info", "/api/games", "/api/runs", f"/api/runs/{run_id}"):
        text = (await world.client.get(path)).text
        assert f":{world.port}" not in text
        assert '"/api' not in text
        assert '"/games' not in text


async def test_a_past_runs_game_is_served_after_a_restart(tmp_path: Path):
    async with gateway(tmp_path) as first:
        run_id = await trained(first, 64)
    (tmp_path / "web" / "games" / "counting.js").write_text("export default 2;\n")
    async with gateway(tmp_path) as second:
        view = RunView.model_validate((await second.client.get(f"/api/runs/{run_id}")).json())
        assert view.game_reference is not None
        assert (await second.client.get(f"/{view.game_reference.url}")).text == "export default 1;\n"


async def test_each_of_several_policies_is_asked_for_by_name(world: GatewayWorld):
    directory = RunDirectory.create(world.runs_dir, "duo")
    settings = RunSettings.from_mapping({"collection": {"seats": ["left", "right"]}})
    directory.write_config("counting", settings.model_dump(mode="json"))
    (directory.export / "policy.json").write_text(json.dumps({"policy_version": 4}))
    (directory.export / "left.onnx").write_bytes(b"onnx left")
    directory.close()
    url = "/api/runs/duo/policy"
    # Until all are there, there is no export.
    assert (await world.client.get(f"{url}/4.onnx", params={"policy": "left"})).status_code == 404
    (directory.export / "right.onnx").write_bytes(b"onnx right")
    for name in ("left", "right"):
        onnx = await world.client.get(f"{url}/4.onnx", params={"policy": name})
        assert onnx.content == f"onnx {name}".encode() and "immutable" in onnx.headers["cache-control"]
    latest = await world.client.get(f"{url}/latest.onnx", params={"policy": "right"})
    assert latest.headers["location"] == "4.onnx?policy=right"
    for query in ({}, {"policy": "up"}):
        answer = await world.client.get(f"{url}/4.onnx", params=query)
        assert answer.status_code == 404
        assert "left, right" in answer.json()["error"]


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
    assert directory.versions() == [one for one in known if one <= 1]
    lines = [json.loads(splitline) for splitline in (world.runs_dir / AUDIT_FILE).read_text().splitlines()]
    assert [(line["run"], line["version"]) for line in lines if line["action"] == "rolled_back"] == [
        (run_id, 1)
    ]
    async with anonymous(world) as client:
        assert (await client.post(path, json=body)).status_code == 401
