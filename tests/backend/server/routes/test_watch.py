"""The three addresses by which a server is watched, with a readiness and an exposition of their own."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from attract.server.exposition import CONTENT_TYPE, Exposition, ServerNumbers
from attract.server.guard import check_roles
from attract.server.readiness import Readiness
from attract.server.routes import add_routes


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
