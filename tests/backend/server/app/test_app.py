"""The gateway put together."""

import json
from pathlib import Path

import pytest
from fastapi import APIRouter

import attract.server.routes
from attract.errors import ConfigurationError
from attract.processes.children import LearnerLink
from attract.run.service import RunService
from attract.server.app import build_app, read_build
from attract.server.guard import Guard
from attract.settings.run import ServerSettings


async def no_learner() -> LearnerLink:
    raise AssertionError("no run is started here")


def settings(folder: Path, **given: object) -> ServerSettings:
    values = {"runs_dir": folder / "runs", "project_dir": folder, "web_dir": folder / "web"}
    return ServerSettings.from_mapping(values | given)


def test_it_holds_the_run_service_and_the_guard_with_the_admins_token(tmp_path: Path):
    app = build_app(settings(tmp_path), no_learner)
    assert isinstance(app.state.service, RunService)
    assert isinstance(app.state.guard, Guard)
    grant = app.state.guard.grant_of(app.state.guard.admin_token)
    assert grant is not None
    assert grant.role == "admin"


@pytest.mark.parametrize(("tier", "granted"), [({}, "invited"), ({"worker_tier": "local"}, "local")])
def test_a_token_of_the_operators_choice_lets_workers_in(tmp_path: Path, tier: dict[str, str], granted: str):
    token = "w" * 40
    app = build_app(settings(tmp_path, worker_token=token, **tier), no_learner)
    grant = app.state.guard.grant_of(token)
    assert grant is not None
    assert (grant.role, grant.tier) == ("worker", granted)


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError):
        build_app(settings(tmp_path, admin_token="short"), no_learner)


def test_an_app_with_a_route_that_says_not_who_may_call_it_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    forgotten = APIRouter()
    forgotten.get("/forgotten")(lambda: None)
    monkeypatch.setattr(attract.server.routes, "pages", forgotten)
    with pytest.raises(RuntimeError, match="/forgotten"):
        build_app(settings(tmp_path), no_learner)


def test_the_build_of_the_web_side_is_read_where_there_is_one(tmp_path: Path):
    assert read_build(tmp_path) is None
    (tmp_path / "build.json").write_text(json.dumps({"build": "0a1b"}))
    assert read_build(tmp_path) == "0a1b"
