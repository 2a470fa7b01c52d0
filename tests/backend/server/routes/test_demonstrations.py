"""What somebody played is kept by the admin's page alone, within bounds, and can be deleted."""

import base64
import json
from typing import Any

import httpx
import numpy as np
import pytest

from attract.schema.recorded_episode import MAX_ACTION_BYTES
from attract.server.guard import MAX_BODY_BYTES
from attract.server.past_run_routes import MAX_BYTES
from gateway_world import GatewayWorld
from recorded_episodes import recorded_document

EPISODE = recorded_document(1.0, steps=2, version=None, game_id="Catch-v1", end_reason="terminated")


def of_length(actions: np.ndarray) -> dict[str, Any]:
    """An episode of one agent with these actions, not deflated, as a page sends it."""
    packed = {
        "dtype": str(actions.dtype),
        "shape": list(actions.shape),
        "deflated": False,
        "data": base64.b64encode(actions.tobytes()).decode(),
    }
    marks = {"interval": len(actions), "hashes": "0123abcd"}
    return EPISODE | {"actions": packed, "num_steps": len(actions), "marks": marks}


async def test_an_episode_is_kept_listed_and_deleted(world: GatewayWorld):
    response = await world.client.post("/api/demonstrations", json=EPISODE)
    assert response.status_code == 201
    kept = response.json()
    assert (kept["num_steps"], kept["player"], kept["problem"]) == (2, "person", None)
    listed = await world.client.get("/api/demonstrations", params={"game_id": "Catch-v1"})
    assert listed.json() == [kept]
    path = f"/api/demonstrations/{kept['id']}/delete"
    deleted = await world.client.post(path, json={}, params={"game_id": "Catch-v1"})
    assert (deleted.status_code, deleted.json()) == (200, [])
    again = await world.client.post(path, json={}, params={"game_id": "Catch-v1"})
    assert (again.status_code, again.json()["error"]) == (404, "there is no such demonstration")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"actions": []}, "actions"),
        ({"num_steps": 3}, "actions.shape"),
        ({"actions": EPISODE["actions"] | {"data": "AA=="}}, "actions.data"),
        ({"actions": EPISODE["actions"] | {"shape": [MAX_ACTION_BYTES + 1, 1]}}, "actions.shape.0"),
        ({"game_id": "x" * 121}, "game_id"),
        ({"returns": []}, "returns"),
        ({"returns": [1e40]}, "returns.0"),
        ({"episode": -1}, "episode"),
        ({"game_id": ""}, "game_id"),
        ({"player": "somebody else"}, "player"),
    ],
)
async def test_what_is_no_episode_is_refused_by_name(world: GatewayWorld, change: dict[str, Any], where: str):
    response = await world.client.post("/api/demonstrations", json=EPISODE | change)
    assert response.status_code == 422 and response.json()["error"].startswith(f"{where}: ")
    assert (await world.client.get("/api/demonstrations", params={"game_id": "Catch-v1"})).json() == []


@pytest.mark.parametrize(
    "actions",
    [
        np.full((MAX_ACTION_BYTES, 1), 2, np.uint8),
        np.random.default_rng(0).normal(size=(MAX_ACTION_BYTES // 8, 1, 2)).astype(np.float32),
    ],
    ids=["whole", "real"],
)
async def test_the_longest_episodes_are_kept_and_listed(world: GatewayWorld, actions: np.ndarray):
    # A busy machine may take longer than the five seconds that a client waits unless told otherwise.
    world.client.timeout = httpx.Timeout(120)
    response = await world.client.post("/api/demonstrations", json=of_length(actions))
    assert response.status_code == 201
    listed = await world.client.get("/api/demonstrations", params={"game_id": "Catch-v1"})
    assert listed.json() == [response.json()] and response.json()["num_steps"] == len(actions)


async def test_a_body_is_refused_from_the_first_byte_too_many_and_only_here_may_be_so_large(
    world: GatewayWorld,
):
    def body(size: int) -> bytes:
        return json.dumps(EPISODE).encode().ljust(size)

    async def status(path: str, size: int) -> int:
        headers = {"content-type": "application/json"}
        return (await world.client.post(path, content=body(size), headers=headers)).status_code

    assert await status("/api/demonstrations", MAX_BYTES) == 201
    assert await status("/api/demonstrations", MAX_BYTES + 1) == 413
    assert await status("/api/runs", MAX_BODY_BYTES + 1) == 413


@pytest.mark.parametrize("game_id", ["", "x" * 121, "x" * 5_000])
async def test_a_game_id_that_is_no_name_is_refused_in_every_route(world: GatewayWorld, game_id: str):
    kept = (await world.client.post("/api/demonstrations", json=EPISODE)).json()
    listed = await world.client.get("/api/demonstrations", params={"game_id": game_id})
    path = f"/api/demonstrations/{kept['id']}/delete"
    deleted = await world.client.post(path, json={}, params={"game_id": game_id})
    assert (listed.status_code, deleted.status_code) == (422, 422)


async def test_a_game_id_whose_folder_no_disk_can_have_lists_nothing(world: GatewayWorld):
    # 120 characters of three bytes each, written as in a URL: more than a file's name may have.
    long = "\u6f22" * 120
    # Where nothing was ever kept, the disk finds that out before it looks at the name.
    await world.client.post("/api/demonstrations", json=EPISODE)
    listed = await world.client.get("/api/demonstrations", params={"game_id": long})
    assert (listed.status_code, listed.json()) == (200, [])
    path = "/api/demonstrations/one/delete"
    assert (await world.client.post(path, json={}, params={"game_id": long})).status_code == 404
    assert (
        await world.client.post("/api/demonstrations", json=EPISODE | {"game_id": long})
    ).status_code == 507


async def test_a_full_disk_is_said(world: GatewayWorld, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attract.runs.demonstrations.write_atomically", refuse)
    response = await world.client.post("/api/demonstrations", json=EPISODE)
    assert response.status_code == 507
    assert "No space left on device" in response.json()["error"]
