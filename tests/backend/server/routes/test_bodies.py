"""Bodies that say what to start or to try: what they give, and how they are refused."""

from typing import Any

import pytest

from attract.schema.api import (
    SettingsForm,
    SettingsView,
)
from attract.settings.schema import setting_paths
from gateway_world import GatewayWorld


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
