import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, WebSocket

from attract.errors import ConfigurationError
from attract.server.guard import Guard, GuardMiddleware, check_roles, routes_for
from attract.settings.run import ServerSettings

BASE = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the audit trail is written: `./runs` by default."""
    monkeypatch.chdir(tmp_path)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def guarded_app(guard: Guard) -> FastAPI:
    """One route per role, reading and changing, and a websocket."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    for name in ("admin", "viewer", "worker", "public"):
        router = routes_for(name)

        async def answer() -> dict[str, bool]:
            return {"ok": True}

        router.get(f"/{name}")(answer)
        router.post(f"/{name}")(answer)
        app.router.routes.extend(router.routes)

    public = routes_for("public")

    @public.post("/echo")
    async def echo(body: dict[str, Any]) -> dict[str, Any]:
        return body

    app.router.routes.extend(public.routes)
    check_roles(app.routes)

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    app.add_middleware(GuardMiddleware, guard=guard, routes=app.routes, request_seconds=1.0)
    return app


class World:
    def __init__(self, folder: Path, **settings: Any) -> None:
        self.clock = Clock()
        self.guard = Guard(ServerSettings.from_mapping({"runs_dir": folder, **settings}), self.clock)
        self.app = guarded_app(self.guard)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=BASE)

    async def get(self, path: str, **headers: str) -> int:
        return (await self.client.get(path, headers=named(headers))).status_code

    async def post(self, path: str, **headers: str) -> int:
        return (await self.client.post(path, json={}, headers=named(headers))).status_code

    async def websocket(self, headers: dict[str, str], server: str = "127.0.0.1") -> str:
        """What the middleware answers to a websocket: `websocket.accept` or `websocket.close`."""
        sent: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        scope = {
            "type": "websocket",
            "path": "/ws",
            "raw_path": b"/ws",
            "root_path": "",
            "query_string": b"",
            "scheme": "ws",
            "subprotocols": [],
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "server": (server, 8000),
            "client": ("127.0.0.1", 1),
        }
        await self.app(scope, receive, send)
        return sent[0]


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    await world.client.aclose()


FOREIGN_HOSTS = ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "192.168.0.9:8000", "", "["]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_foreign_host_is_refused_on_every_route_even_public_ones(world: World, host: str):
    assert await world.get("/public", host=host) == 421
    assert await world.websocket({"host": host}) == "websocket.close"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "[::1]:8000", "LOCALHOST"])
async def test_loopback_names_are_this_server(world: World, host: str):
    assert await world.get("/public", host=host) == 200
    assert await world.websocket({"host": host}) == "websocket.accept"


FOREIGN_ORIGINS = [
    "http://evil.example",
    "http://127.0.0.1:8001",
    "https://127.0.0.1:8000",
    "http://localhost:8000",
    "http://127.0.0.1:8000.evil.example",
    "null",
    "",
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_foreign_origin_is_refused_on_websockets_and_on_what_changes_things(world: World, origin: str):
    assert await world.post("/public", origin=origin) == 403
    assert await world.websocket({"host": "127.0.0.1:8000", "origin": origin}) == "websocket.close"


async def test_the_pages_own_origin_is_let_in(world: World):
    assert await world.post("/public", origin=BASE) == 200
    assert await world.websocket({"host": "127.0.0.1:8000", "origin": BASE}) == "websocket.accept"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_request_the_browser_calls_foreign_is_refused(world: World, site: str):
    assert await world.post("/public", origin=BASE, sec_fetch_site=site) == 403
    assert await world.post("/public", origin=BASE, sec_fetch_site="same-origin") == 200


ROLES = ["admin", "viewer", "worker", "public"]
ALLOWED = {
    "admin": {"admin", "viewer", "worker", "public"},
    "viewer": {"viewer", "public"},
    "worker": {"worker", "public"},
    "nobody": {"public"},
    "forged": {"public"},
}


@pytest.mark.parametrize("who", list(ALLOWED))
@pytest.mark.parametrize("needs", ROLES)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_each_credential_opens_its_own_routes_and_no_others(
    world: World, who: str, needs: str, method: str
):
    tokens = {
        "admin": world.guard.admin_token,
        "viewer": world.guard.issue("viewer"),
        "worker": world.guard.issue("worker"),
        "forged": world.guard.admin_token[:-1] + "_",
    }
    headers = {"authorization": f"Bearer {tokens[who]}"} if who in tokens else {}
    status = await (world.get if method == "GET" else world.post)(f"/{needs}", **headers)
    expected = 200 if needs in ALLOWED[who] else (401 if who in ("nobody", "forged") else 403)
    assert status == expected


async def test_hostile_13_a_stolen_cookie_may_look_and_changes_nothing(world: World):
    secret, key = world.guard.access.open_session("admin", "browser")
    cookie = f"{world.guard.access.cookie_name}={secret}"
    assert world.guard.admin_token not in cookie
    assert await world.get("/admin", cookie=cookie) == 200
    # What a page on another port of this host is sent: all of it but the key, which only the own page knows.
    assert await world.post("/admin", cookie=cookie, origin=BASE) == 403
    assert await world.post("/admin", cookie=cookie, origin=BASE, x_attract_key="guessed") == 403
    assert await world.post("/admin", cookie=cookie, origin=BASE, x_attract_key=key) == 200
    assert await world.post("/admin", cookie=cookie, x_attract_key=key) == 403
    assert await world.post("/admin", cookie=cookie, origin="http://evil.example", x_attract_key=key) == 403
    for other in (f"attract_0123456789ab={secret}", f"{world.guard.access.cookie_name}={key}"):
        assert await world.get("/admin", cookie=other) == 401


async def test_hostile_13_neither_the_admins_token_nor_a_sessions_secret_does_for_the_other(world: World):
    secret, _ = world.guard.access.open_session("admin", "browser")
    name = world.guard.access.cookie_name
    assert await world.get("/admin", cookie=f"{name}={world.guard.admin_token}") == 401
    assert await world.get("/admin", authorization=f"Bearer {secret}") == 401


async def test_tokens_expire_and_can_be_revoked(world: World):
    token = world.guard.issue("worker", seconds=60.0)
    bearer = {"authorization": f"Bearer {token}"}
    world.clock.now = 59.9
    assert await world.get("/worker", **bearer) == 200
    world.clock.now = 60.0
    assert await world.get("/worker", **bearer) == 401
    lasting = world.guard.issue("worker")
    world.guard.revoke(lasting)
    assert world.guard.grant_of(lasting) is None


async def test_tokens_are_256_bits_and_only_their_hashes_are_kept(world: World):
    token = world.guard.issue("worker")
    assert len(token) == 43  # 32 bytes in base 64 without padding
    assert token not in repr(vars(world.guard)["_grants"])


async def test_a_token_of_ones_own_choice_must_be_long(world: World):
    with pytest.raises(ConfigurationError):
        world.guard.accept("short", "worker")
    world.guard.accept("long-enough-to-be-secret", "worker")
    assert await world.get("/worker", authorization="Bearer long-enough-to-be-secret") == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_only_json_bodies_are_read(world: World, kind: str):
    response = await world.client.post("/echo", content=b"{}", headers={"content-type": kind})
    assert response.status_code == 415


async def test_a_large_body_is_refused_before_it_is_read(world: World):
    response = await world.client.post("/echo", json={"a": "x" * 300_000})
    assert response.status_code == 413


async def streamed(world: World, server: str, pieces: list[bytes]) -> tuple[int, int]:
    """The answer to a body of unknown length whose sender then waits, and how many pieces were taken."""
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        if taken == len(pieces):
            await asyncio.Event().wait()
        taken += 1
        return {"type": "http.request", "body": pieces[taken - 1], "more_body": True}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/echo",
        "raw_path": b"/echo",
        "root_path": "",
        "query_string": b"",
        "scheme": "http",
        "headers": [(b"host", server.encode()), (b"content-type", b"application/json")],
        "server": (server, 8000),
        "client": (server, 1),
    }
    await world.app(scope, receive, send)
    (status,) = statuses
    return status, taken


async def test_a_body_that_never_ends_is_given_up(world: World):
    """A client that sends half a body and waits; the server's own deadline of 1 s ends it."""
    assert await streamed(world, "127.0.0.1", [b"{"]) == (400, 1)


async def test_a_body_that_does_not_say_its_length_is_given_up_where_it_is_too_large(world: World):
    assert await streamed(world, "127.0.0.1", [bytes(100_000)] * 50) == (400, 3)


async def test_hostile_14_what_comes_over_the_network_uninvited_is_answered_and_not_heard(tmp_path: Path):
    world = World(tmp_path, allowed_hosts=("10.0.0.1",))
    assert await streamed(world, "10.0.0.1", [b"{}"]) == (421, 0)
    await world.client.aclose()


async def test_every_answer_carries_the_content_security_policy(world: World):
    for path in ("/public", "/nowhere", "/admin"):
        headers = (await world.client.get(path)).headers
        # Written out whole: a source more in any of them is a way in or out.
        assert headers["content-security-policy"] == (
            "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
            "frame-src 'self' http://*.localhost:*; img-src 'self' data: blob:; connect-src 'self'; "
            "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


async def test_hostile_14_loopback_names_are_good_on_loopback_alone(tmp_path: Path):
    for name in ("127.0.0.1", "localhost", "[::1]:8000"):
        world = World(tmp_path, lan=True)
        assert await world.websocket({"host": name}, server="192.168.0.9") == "websocket.close"
        assert await world.websocket({"host": name}, server="127.0.0.2") == "websocket.accept"
        assert await world.websocket({"host": name}, server="::1") == "websocket.accept"
        assert await world.websocket({"host": name}, server="::ffff:127.0.0.1") == "websocket.accept"
        await world.client.aclose()
        # As a container with a published port has it: the operator says so.
        world = World(tmp_path, lan=True, allowed_hosts=(name.strip("[]").split("]")[0],))
        assert await world.websocket({"host": name}, server="192.168.0.9") == "websocket.accept"
        await world.client.aclose()


@pytest.mark.parametrize(
    ("settings", "client", "is_open"),
    [
        ({}, ("10.0.0.7", 40000), False),
        ({"allowed_hosts": ("box",)}, ("10.0.0.7", 40000), False),
        ({"lan": True}, ("10.0.0.7", 40000), True),
        ({"behind_proxy": "10.0.0.5"}, ("10.0.0.7", 40000), False),
        ({"behind_proxy": "10.0.0.5"}, ("10.0.0.5", 40000), True),
        # An address that uvicorn took from the proxy's header has no port.
        ({"behind_proxy": "10.0.0.5"}, ("203.0.113.9", 0), True),
        ({}, ("203.0.113.9", 0), False),
    ],
)
def test_hostile_14_a_connection_over_the_network_needs_the_operators_word(
    tmp_path: Path, settings: dict[str, Any], client: tuple[str, int], is_open: bool
):
    names = World(tmp_path, **settings).guard.names
    scope = {"type": "http", "scheme": "http", "server": ("10.0.0.1", 8000), "client": client, "headers": []}
    assert names.is_open_to(scope) is is_open
    assert names.is_open_to({**scope, "scheme": "https"})
    assert names.is_open_to({**scope, "server": ("127.0.0.1", 8000)})
    assert names.is_open_to({**scope, "server": None})


async def test_two_host_headers_are_refused(world: World):
    response = await world.client.get("/public", headers=[("host", "127.0.0.1"), ("host", "127.0.0.1")])
    assert response.status_code == 421


async def test_hostile_14_who_opened_a_page_gets_no_handle_on_it(tmp_path: Path):
    for settings, host, has in (
        ({}, "127.0.0.1:8000", True),
        ({"public_url": "https://hub.example/a/"}, "hub.example", True),
        # In plain text over a network browsers ignore it, and complain.
        ({"allowed_hosts": ("box",)}, "box", False),
    ):
        world = World(tmp_path, **settings)
        response = await world.client.get("/public", headers={"host": host})
        assert (response.headers.get("cross-origin-opener-policy") == "same-origin") is has
        await world.client.aclose()


def test_hostile_09_a_chosen_token_is_an_invited_workers_unless_the_operator_says_otherwise(tmp_path: Path):
    from attract.server.app import build_app
    from fake_learner import FakeLearner

    token = "a-token-of-ones-own-choice"
    for given, tier in (({}, "invited"), ({"worker_tier": "local"}, "local")):
        settings = ServerSettings.from_mapping({"runs_dir": tmp_path, "worker_token": token, **given})
        grant = build_app(settings, FakeLearner().start).state.guard.grant_of(token)
        assert (grant.role, grant.tier) == ("worker", tier)


def test_an_app_with_a_route_without_a_role_is_not_built():
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/forgotten")
    async def forgotten() -> None: ...

    with pytest.raises(RuntimeError, match="/forgotten"):
        check_roles(app.routes)
    with pytest.raises(RuntimeError, match=r"/openapi\.json"):
        check_roles(FastAPI().routes)


async def test_what_no_route_knows_is_not_for_everyone_to_change(world: World):
    assert await world.post("/nowhere") == 401
    assert await world.get("/nowhere") == 404


async def test_behind_a_proxy_the_public_url_is_this_server(tmp_path: Path):
    world = World(tmp_path, public_url="https://hub.example/user/me/proxy/8000/")
    assert await world.get("/public", host="hub.example") == 200
    assert await world.post("/public", host="127.0.0.1:8000", origin="https://hub.example") == 200
    assert await world.post("/public", host="hub.example", origin="https://other.example") == 403
    own = {"host": "hub.example", "origin": "https://hub.example"}
    assert await world.websocket(own) == "websocket.accept"
    await world.client.aclose()


async def test_allowed_hosts_and_origins_extend_the_lists(tmp_path: Path):
    world = World(tmp_path, allowed_hosts=("trainer",), allowed_origins=("http://page.example:1",))
    assert await world.get("/public", host="trainer:8000") == 200
    assert await world.post("/public", origin="http://page.example:1") == 200
    assert await world.post("/public", origin="http://page.example:2") == 403
    await world.client.aclose()


async def test_with_lan_the_address_a_device_came_by_is_this_server_but_never_a_name(tmp_path: Path):
    for lan, expected in ((True, "websocket.accept"), (False, "websocket.close")):
        world = World(tmp_path, lan=lan)
        assert await world.websocket({"host": "192.168.0.9:8000"}, server="192.168.0.9") == expected
        assert await world.websocket({"host": "192.168.0.8:8000"}, server="192.168.0.9") == "websocket.close"
        assert await world.websocket({"host": "rebound.example"}, server="192.168.0.9") == "websocket.close"
        await world.client.aclose()
