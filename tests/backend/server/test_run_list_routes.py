"""Runs over HTTP: searched, labelled, deleted and restored."""

import pytest

from gateway_world import GatewayWorld
from known_runs import run_on_disk


@pytest.fixture
def runs(world: GatewayWorld) -> None:
    run_on_disk(world.runs_dir, "a", settings={"ppo": {"learning_rate": 0.0005}}, created="2026-11-20")
    run_on_disk(world.runs_dir, "b", [30.0], episode_return_mean=30.0, created="2026-11-21")
    run_on_disk(world.runs_dir, "c", [], created="2026-11-22")


async def ids(world: GatewayWorld, **query: object) -> list[str]:
    answer = await world.client.get("/api/runs", params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return [run["run_id"] for run in answer.json()["runs"]]


async def test_runs_are_searched_sorted_and_paged(world: GatewayWorld, runs: None):
    assert await ids(world) == ["b", "a"]
    assert await ids(world, q="lr<0.001") == ["a"]
    assert await ids(world, q="is:all", sort="id") == ["a", "b", "c"]
    first = (await world.client.get("/api/runs?limit=1")).json()
    assert (first["num_found"], first["num_hidden"], first["next"]) == (2, 1, "b")
    assert await ids(world, limit=1, after=first["next"]) == ["a"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"q": "game:snake retrun>20"}, "character 12"),
        ({"q": "x" * 1001}, "at most 1000"),
        ({"sort": "lenght"}, "no field or setting"),
        ({"after": "gone"}, "no row"),
    ],
)
async def test_a_search_that_cannot_be_read_is_400_with_the_place(
    world: GatewayWorld, query: dict[str, str], text: str
):
    answer = await world.client.get("/api/runs", params=query)
    assert answer.status_code == 400
    assert text in answer.json()["error"]


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"q": "x" * 2001}, {"sort": ""}]
)
async def test_hostile_what_is_out_of_bounds_is_refused(world: GatewayWorld, query: dict[str, str]):
    assert (await world.client.get("/api/runs", params=query)).status_code == 422


async def test_labels_are_changed_and_bounded(world: GatewayWorld, runs: None):
    changed = await world.client.patch(
        "/api/runs/a", json={"name": "Best", "tags": ["good"], "starred": True}
    )
    assert (changed.status_code, changed.json()["name"]) == (200, "Best")
    assert await ids(world, q="tag:good is:starred") == ["a"]
    await world.client.patch("/api/runs/a", json={"archived": True})
    assert (await ids(world), await ids(world, q="is:archived")) == (["b"], ["a"])
    for body in ({"name": "x" * 121}, {"tags": ["a b"]}, {"starred": "maybe"}, {"color": "red"}, []):
        assert (await world.client.patch("/api/runs/a", json=body)).status_code == 422
    assert (await world.client.patch("/api/runs/gone", json={"name": "x"})).status_code == 404


async def test_a_run_is_deleted_and_restored(world: GatewayWorld, runs: None):
    deleted = await world.client.request("DELETE", "/api/runs/a", json={})
    assert deleted.status_code == 200
    assert await ids(world) == ["b"]
    assert (await world.client.get("/api/runs/a")).status_code == 404
    path = f"/api/trash/{deleted.json()['trash_id']}/restore"
    restored = await world.client.post(path, json={})
    assert (restored.status_code, restored.json()["run_id"]) == (200, "a")
    assert await ids(world) == ["b", "a"]
    assert (await world.client.post(path, json={})).status_code == 404
    assert (await world.client.request("DELETE", "/api/runs/gone", json={})).status_code == 404


async def test_deleted_runs_of_the_longest_ids_are_listed_and_paged(world: GatewayWorld):
    for name in ("x", "y"):
        run_on_disk(world.runs_dir, name * 120, created=f"2026-11-2{name == 'y':d}")
        await world.client.request("DELETE", f"/api/runs/{name * 120}", json={})
    (first,) = await ids(world, q="is:deleted", limit=1)
    (second,) = await ids(world, q="is:deleted", limit=1, after=first)
    assert (first[:120], second[:120]) == ("y" * 120, "x" * 120)
    restored = await world.client.post(f"/api/trash/{second}/restore", json={})
    assert restored.json()["run_id"] == "x" * 120


async def test_the_trash_is_searched_and_a_run_in_it_erased(world: GatewayWorld, runs: None):
    deleted = (await world.client.request("DELETE", "/api/runs/a", json={})).json()
    assert await ids(world, q="is:deleted lr<0.001") == [deleted["trash_id"]]
    path = f"/api/trash/{deleted['trash_id']}"
    erased = await world.client.request("DELETE", path, json={})
    assert (erased.status_code, erased.json()) == (200, deleted)
    assert await ids(world, q="is:deleted") == []
    assert (await world.client.request("DELETE", path, json={})).status_code == 404


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_hostile_13_a_page_of_another_site_changes_no_run(world: GatewayWorld, runs: None, method: str):
    own = f"http://127.0.0.1:{world.port}"
    async with world.anonymous() as browser:
        opened = await browser.post("/api/session", json={"token": world.guard.admin_token})
        key = opened.json()["key"]
        for headers, status in (
            ({"origin": "https://evil.example", "x-attract-key": key}, 403),
            ({"x-attract-key": key}, 403),
            ({"origin": own}, 403),
            ({"origin": own, "x-attract-key": key, "sec-fetch-site": "same-site"}, 403),
            ({"origin": own, "x-attract-key": key, "content-type": "text/plain"}, 415),
        ):
            refused = await browser.request(method, "/api/runs/a", json={"name": "x"}, headers=headers)
            assert refused.status_code == status, headers
    assert [run["name"] for run in (await world.client.get("/api/runs")).json()["runs"]] == ["", ""]


async def test_what_the_disk_refuses_is_said(world: GatewayWorld, runs: None):
    (world.runs_dir / "a" / "labels.json").mkdir()
    refused = await world.client.patch("/api/runs/a", json={"name": "x"})
    assert (refused.status_code, "cannot be written" in refused.json()["error"]) == (422, True)
    (world.runs_dir / ".trash").write_text("no folder")
    refused = await world.client.request("DELETE", "/api/runs/a", json={})
    assert (refused.status_code, "cannot be moved" in refused.json()["error"]) == (422, True)
    assert await ids(world) == ["b", "a"]


async def test_the_active_run_is_live_in_the_list_and_cannot_be_deleted(world: GatewayWorld):
    async with world.fleet().joined():
        view = await world.start()
        assert await ids(world, q="is:live") == [view.run_id]
        refused = await world.client.request("DELETE", f"/api/runs/{view.run_id}", json={})
        assert (refused.status_code, "active" in refused.json()["error"]) == (409, True)
        named = await world.client.patch(f"/api/runs/{view.run_id}", json={"name": "Now"})
        assert named.json()["name"] == "Now"
        await world.service.stop(view.run_id)
    assert (await world.client.request("DELETE", f"/api/runs/{view.run_id}", json={})).status_code == 200
