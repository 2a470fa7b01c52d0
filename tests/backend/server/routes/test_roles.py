"""Who may use which route."""

from pathlib import Path

from starlette.routing import Route

from gateway_world import GatewayWorld

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
    roles = {
        (method, route.path): route.required_role  # type: ignore[attr-defined]
        for route in world.app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert {path for (_, path), needed in roles.items() if needed == "public"} == PUBLIC
    assert {entry for entry, needed in roles.items() if needed == "admin"} == {
        ("POST", "/api/join"),
        ("POST", "/api/viewer-link"),
        ("GET", "/api/access"),
        ("POST", "/api/access/{entry_id}/revoke"),
        ("POST", "/api/demonstrations"),
        ("POST", "/api/demonstrations/{demonstration_id}/delete"),
        ("POST", "/api/trash/{trash_id}/restore"),
        ("DELETE", "/api/trash/{trash_id}"),
        ("POST", "/api/runs"),
        ("PATCH", "/api/runs/{run_id}"),
        ("DELETE", "/api/runs/{run_id}"),
        ("POST", "/api/runs/{run_id}/pause"),
        ("POST", "/api/runs/{run_id}/resume"),
        ("POST", "/api/runs/{run_id}/let-in"),
        ("POST", "/api/runs/{run_id}/rollback"),
        ("POST", "/api/runs/{run_id}/stop"),
        ("POST", "/api/runs/{run_id}/episodes"),
        ("POST", "/api/runs/{run_id}/episodes/{episode_id}/star"),
        ("POST", "/api/runs/{run_id}/episodes/{episode_id}/delete"),
    }


async def test_every_other_route_refuses_who_has_no_token(world: GatewayWorld):
    async with world.anonymous() as client:
        for route in world.app.routes:
            if not isinstance(route, Route) or route.path in PUBLIC:
                continue
            path = route.path.replace("{run_id}", "x").replace("{version}", "0").replace("{entry_id}", "s-0")
            for method in (route.methods or set()) - {"HEAD"}:
                response = await client.request(method, path, json=None if method == "GET" else {})
                assert response.status_code == 401, (method, path)
                assert response.json()["error"]


async def test_healthz_answers_without_a_token(world: GatewayWorld):
    async with world.anonymous() as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}


async def test_a_viewer_sees_and_changes_nothing(world: GatewayWorld):
    run_id = await world.trained(64)
    async with world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}") as client:
        assert (await client.get("/api/info")).json()["role"] == "viewer"
        assert (await client.get(f"/api/runs/{run_id}")).status_code == 200
        for path in (
            "/api/runs",
            "/api/trash/x-20260101-000000-abcd/restore",
            "/api/join",
            f"/api/runs/{run_id}/stop",
            "/api/demonstrations",
            "/api/demonstrations/x/delete?game_id=counting",
        ):
            assert (await client.post(path, json={"game": "counting"})).status_code == 403
        for method, path in (
            ("PATCH", f"/api/runs/{run_id}"),
            ("DELETE", f"/api/runs/{run_id}"),
            ("DELETE", "/api/trash/x-20260101-000000-abcd"),
        ):
            assert (await client.request(method, path, json={"name": "x"})).status_code == 403
        assert (await client.get("/api/runs")).json()["runs"][0]["name"] == ""


async def test_a_card_is_for_members_and_only_of_a_game_that_has_one(world: GatewayWorld):
    for file in ("card.jpg", "policy.onnx"):
        for game in ("counting", "nothing", "..", "%2e%2e"):
            assert (await world.client.get(f"/api/games/{game}/{file}")).status_code == 404
        async with world.anonymous() as client:
            assert (await client.get(f"/api/games/juggler/{file}")).status_code == 401
