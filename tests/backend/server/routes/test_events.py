"""What a run and a server say of themselves: events, metrics and the addresses by which they are watched."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from attract.runs.metric_table import DEFINITIONS
from attract.schema.metrics import MetricDefinitions, MetricsView
from attract.server.exposition import CONTENT_TYPE, Exposition, ServerNumbers
from attract.server.guard import check_roles
from attract.server.readiness import Readiness
from attract.server.routes import add_routes
from gateway_world import GatewayWorld
from waiting import WAIT_SECONDS


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
    run_id = await world.trained()
    ((last, kind, data),) = await events_of(world, run_id, 1)
    assert (kind, data["state"], data["updates"]) == ("status", "finished", 3)
    everything = await events_of(world, run_id, 4, last_id=0)
    # Packed into one write: the rows are one event, and the last event has the newest id.
    assert [(event_id, kind) for event_id, kind, _ in everything] == [
        (0, "metric_names"),
        (0, "metrics"),
        (0, "policy"),
        (last, "status"),
    ]
    names = everything[0][2]["names"]
    rows = everything[1][2]["rows"]
    assert [update for update, *_ in rows] == [1, 2, 3]
    # A block that was under way when a batch was full makes the next one larger.
    steps = [row[1] for row in rows]
    assert 64 <= steps[0] < steps[1] < steps[2] == data["agent_steps"]
    assert [row[3 + names.index("train/loss")] for row in rows] == [1, 2, 3]
    kept = world.service.archive.events_after(run_id, 0)
    second = [event.id for event in kept if event.kind == "metrics"][1]
    missed = await events_of(world, run_id, 4, last_id=second - 1)
    # Another connection has columns of its own: they come as its rows bring them.
    ((names, later),) = [
        (missed[0][2]["names"], body["rows"]) for _, kind, body in missed if kind == "metrics"
    ]
    assert [(row[0], row[1], row[3 + names.index("train/loss")]) for row in later] == [
        (2, steps[1], 2),
        (3, steps[2], 3),
    ]


async def test_events_go_on_live(world: GatewayWorld):
    async with world.fleet().joined():
        view = await world.start(total_steps=64_000)
        listening = asyncio.create_task(events_of(world, view.run_id, 30))
        events = await listening
        kinds = {kind for _, kind, _ in events}
        assert {"status", "metrics", "policy"} <= kinds
        updates = [row[0] for _, kind, body in events if kind == "metrics" for row in body["rows"]]
        assert updates == list(range(updates[0], updates[0] + len(updates)))


@pytest.mark.alone  # Two workers that are equally fast get equal leases.
async def test_metrics_are_downsampled_and_chosen_by_name_and_range(world: GatewayWorld):
    run_id = await world.trained(640)
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


async def test_hostile_11_versions_and_event_ids_have_few_digits(world: GatewayWorld):
    run_id = await world.trained(64)
    for version in ("9" * 16, "9" * 5000, "-1", "1e3", "\u0661", "%00", "x" * 300):
        response = await world.client.get(f"/api/runs/{run_id}/policy/{version}.onnx")
        assert response.status_code == 404, version
        assert len(response.text) < 500
    for event_id in ("9" * 23, "9" * 5000, "-1", "x"):
        response = await world.client.get(f"/api/runs/{run_id}/events", headers={"last-event-id": event_id})
        assert response.status_code == 400, event_id
    for query in ("from=nan", "to=inf", "from=1e999", "max_points=99999999999999999999"):
        assert (await world.client.get(f"/api/runs/{run_id}/metrics?{query}")).status_code == 422


async def test_hostile_no_request_reads_the_database_of_a_past_run_on_the_event_loop(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
):
    run_id = await world.trained()
    threads: list[threading.Thread] = []
    connect = sqlite3.connect

    def connected(name: object, *given: Any, **named: Any) -> sqlite3.Connection:
        if str(name).endswith("metrics.db"):
            threads.append(threading.current_thread())
        return connect(str(name), *given, **named)

    monkeypatch.setattr(sqlite3, "connect", connected)
    await events_of(world, run_id, 4, last_id=0)
    for path in ("", "/metrics", "/versions", "/policy/latest.onnx", "/policy/3.onnx", "/policy.json"):
        await world.client.get(f"/api/runs/{run_id}{path}")
    await world.client.post(f"/api/runs/{run_id}/rollback", json={"to_version": 2})
    assert threads and threading.main_thread() not in threads


async def test_definitions_are_served(world: GatewayWorld):
    answer = await world.client.get("/api/metrics")
    assert MetricDefinitions.model_validate(answer.json()) == DEFINITIONS


async def test_who_has_no_token_gets_none(world: GatewayWorld):
    answer = await world.client.get("/api/metrics", headers={"authorization": "Bearer nonsense"})
    assert answer.status_code == 401


def numbers() -> ServerNumbers:
    return ServerNumbers(
        sockets=3,
        received_bytes=100,
        sockets_refused={"token": 2},
        http_refused={401: 1},
        loop_lag_seconds=0.25,
        host_restarts=0,
    )


def app(runs_dir: Path, *, is_starting: bool = False) -> FastAPI:
    one = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    one.state.readiness = Readiness(runs_dir, lambda: None, lambda: is_starting, lambda: 0.0)
    one.state.exposition = Exposition(numbers, lambda: None)
    add_routes(one)
    return one


async def get(one: FastAPI, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(one), base_url="http://server") as client:
        return await client.get(path)


def test_each_route_says_who_may_ask(tmp_path: Path):
    check_roles(app(tmp_path).routes)


async def test_healthz_says_that_the_server_answers(tmp_path: Path):
    answer = await get(app(tmp_path), "/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(("is_starting", "status"), [(False, 200), (True, 503)])
async def test_readyz_is_503_until_every_part_is_ready(tmp_path: Path, is_starting: bool, status: int):
    answer = await get(app(tmp_path, is_starting=is_starting), "/readyz")
    assert answer.status_code == status
    view = answer.json()
    assert view["ready"] == (not is_starting)
    assert sorted(view["parts"]) == ["disk", "game", "learner", "run"]
    assert view["parts"]["game"]["ready"] == (not is_starting)
    assert answer.headers["cache-control"] == "no-store"


async def test_metrics_are_prometheus_text_and_kept_by_nobody(tmp_path: Path):
    answer = await get(app(tmp_path), "/metrics")
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == (CONTENT_TYPE, "no-store")
    assert "attract_sockets_refused_total" in answer.text
