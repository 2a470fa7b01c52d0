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
    roles = {getattr(route, "path", ""): route.endpoint.attract_role for route in world.app.routes}  # type: ignore[attr-defined]
    assert {path for path, needed in roles.items() if needed == "public"} == PUBLIC
    admins = {path for path, needed in roles.items() if needed == "admin"}
    assert admins == {
        "/api/join",
        "/api/viewer-link",
        "/api/access",
        "/api/access/{entry_id}/revoke",
        "/api/demonstrations/{demonstration_id}/delete",
        "/api/trash/{trash_id}/restore",
        "/api/runs/{run_id}/pause",
        "/api/runs/{run_id}/resume",
        "/api/runs/{run_id}/let-in",
        "/api/runs/{run_id}/rollback",
        "/api/runs/{run_id}/stop",
        "/api/runs/{run_id}/episodes/{episode_id}/star",
        "/api/runs/{run_id}/episodes/{episode_id}/delete",
    } | ({"/api/runs", "/api/runs/{run_id}", "/api/demonstrations", "/api/runs/{run_id}/episodes"} & admins)


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
        for method in ("PATCH", "DELETE"):
            answer = await client.request(method, f"/api/runs/{run_id}", json={"name": "x"})
            assert answer.status_code == 403
        assert (await client.get("/api/runs")).json()["runs"][0]["name"] == ""


async def test_a_card_is_for_members_and_only_of_a_game_that_has_one(world: GatewayWorld):
    for file in ("card.jpg", "policy.onnx"):
        for game in ("counting", "nothing", "..", "%2e%2e"):
            assert (await world.client.get(f"/api/games/{game}/{file}")).status_code == 404
        async with world.anonymous() as client:
            assert (await client.get(f"/api/games/juggler/{file}")).status_code == 401
