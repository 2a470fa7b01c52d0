import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from attract.run import event_stream
from attract.schema.access import AccessView, JoinLink, OpenedSession, ServerInfo, ViewerLink
from attract.server import access_store
from gateway_world import GatewayWorld, gateway


class Browser:
    """A page that signed in: its cookies, its origin, and its key."""

    def __init__(self, world: GatewayWorld, agent: str = "browser") -> None:
        origin = f"http://127.0.0.1:{world.port}"
        self.client = httpx.AsyncClient(base_url=origin, headers={"origin": origin, "user-agent": agent})

    async def sign_in(self, token: str) -> "Browser":
        response = await self.client.post("/api/session", json={"token": token})
        self.client.headers["x-attract-key"] = OpenedSession.model_validate(response.json()).key
        return self

    async def access(self) -> AccessView:
        return AccessView.model_validate((await self.client.get("/api/access")).json())

    async def status(self) -> int:
        return (await self.client.get("/api/info")).status_code


async def test_the_urls_token_is_exchanged_for_a_strict_cookie_that_scripts_cannot_read(world: GatewayWorld):
    origin = f"http://127.0.0.1:{world.port}"
    async with world.anonymous() as client:
        assert (await client.post("/api/session", json={"token": "guessed"})).status_code == 401
        worker = await client.post("/api/session", json={"token": world.guard.issue("worker")})
        assert worker.status_code == 401
        response = await client.post("/api/session", json={"token": world.guard.admin_token})
        opened = OpenedSession.model_validate(response.json())
        assert opened.info.role == "admin"
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        # Without a path it is for the folder the browser sees: .../api, whatever prefix a proxy adds.
        assert "path" not in cookie
        info = ServerInfo.model_validate((await client.get("/api/info")).json())
        assert (info.role, info.active_run, info.lan) == ("admin", None, False)
        assert (await client.post("/api/join", json={})).status_code == 403
        assert (await client.post("/api/join", json={}, headers={"origin": origin})).status_code == 403
        own = {"origin": origin, "x-attract-key": opened.key}
        assert (await client.post("/api/join", json={}, headers=own)).status_code == 200


async def test_local_and_invited_links(world: GatewayWorld, tmp_path: Path):
    local = JoinLink.model_validate((await world.client.post("/api/join", json={})).json())
    assert local.url == f"join.html#token={local.token}"
    grant = world.guard.grant_of(local.token)
    assert grant is not None
    assert (grant.role, grant.tier) == ("worker", "local")
    refused = await world.client.post("/api/join", json={"tier": "invited"})
    assert refused.status_code == 409
    assert "--lan" in refused.json()["fix"]
    async with gateway(tmp_path / "lan", public_url="https://hub.example/me/", invite_seconds=60) as lan:
        invited = JoinLink.model_validate(
            (await lan.client.post("/api/join", json={"tier": "invited"})).json()
        )
        assert invited.url == f"https://hub.example/me/join.html#token={invited.token}"
        assert invited.expires_seconds == 60
        grant = lan.guard.grant_of(invited.token)
        assert grant is not None
        assert (grant.role, grant.tier) == ("worker", "invited")


async def test_with_lan_a_link_names_an_address_other_devices_can_reach(tmp_path: Path):
    async with gateway(tmp_path, lan=True) as world:
        link = JoinLink.model_validate(
            (await world.client.post("/api/join", json={"tier": "invited"})).json()
        )
        url = httpx.URL(link.url)
        assert url.port == world.port
        assert url.host not in ("127.0.0.1", "localhost", "0.0.0.0")


async def test_hostile_13_a_logout_ends_the_session_and_its_tabs_and_no_other(world: GatewayWorld):
    first = await Browser(world, "one").sign_in(world.guard.admin_token)
    second = await Browser(world, "two").sign_in(world.guard.admin_token)
    cookies = dict(first.client.cookies)
    assert world.guard.admin_token not in cookies.values()
    view = await second.access()
    assert {(session.agent, session.is_own) for session in view.sessions} == {("one", False), ("two", True)}
    tab = JoinLink.model_validate((await first.client.post("/api/join", json={})).json())
    again = JoinLink.model_validate((await first.client.post("/api/join", json={})).json())
    assert tab.token == again.token
    assert (await first.client.post("/api/logout", json={})).status_code == 200
    assert not first.client.cookies
    first.client.cookies.update(cookies)
    assert (await first.status(), await second.status()) == (401, 200)
    assert world.guard.grant_of(tab.token) is None
    assert [session.agent for session in (await second.access()).sessions] == ["two"]
    for browser in (first, second):
        await browser.client.aclose()


async def test_hostile_13_the_admin_ends_a_session_of_another_browser(world: GatewayWorld):
    stolen = await Browser(world).sign_in(world.guard.admin_token)
    (entry,) = AccessView.model_validate((await world.client.get("/api/access")).json()).sessions
    path = f"/api/access/{entry.entry_id}/revoke"
    view = AccessView.model_validate((await world.client.post(path, json={})).json())
    assert view.sessions == []
    assert await stolen.status() == 401
    assert (await world.client.post(path, json={})).status_code == 404
    await stolen.client.aclose()


async def test_hostile_13_sessions_and_links_outlive_the_server(tmp_path: Path):
    async with gateway(tmp_path, lan=True) as world:
        browser = await Browser(world).sign_in(world.guard.admin_token)
        cookies, key = dict(browser.client.cookies), browser.client.headers["x-attract-key"]
        made = await browser.client.post("/api/join", json={"tier": "invited"})
        token = JoinLink.model_validate(made.json()).token
        await browser.client.aclose()
    async with gateway(tmp_path, lan=True) as world:
        browser = Browser(world)
        browser.client.cookies.update(cookies)
        browser.client.headers["x-attract-key"] = key
        assert (await browser.client.post("/api/join", json={})).status_code == 200
        view = await browser.access()
        assert [session.is_own for session in view.sessions] == [True]
        assert [(invitation.tier, invitation.note) for invitation in view.invitations] == [
            ("local", "a tab of this browser"),
            ("invited", "made on the dashboard"),
        ]
        grant = world.guard.grant_of(token)
        assert grant is not None
        assert (grant.role, grant.tier) == ("worker", "invited")
        await browser.client.aclose()


async def test_hostile_13_an_event_stream_ends_with_the_session_that_listens(world: GatewayWorld):
    first = await Browser(world, "one").sign_in(world.guard.admin_token)
    second = await Browser(world, "two").sign_in(world.guard.admin_token)
    async with world.fleet().joined():
        view = await world.start(total_steps=10_000_000)
        path = f"/api/runs/{view.run_id}/events"
        async with (
            asyncio.timeout(60),
            first.client.stream("GET", path) as ended,
            second.client.stream("GET", path) as other,
        ):
            assert (ended.status_code, other.status_code) == (200, 200)
            assert (await first.client.post("/api/logout", json={})).status_code == 200
            async for _ in ended.aiter_bytes():
                pass
            # Another session goes on listening.
            lines = other.aiter_lines()
            metrics = 0
            while metrics < 5:
                metrics += (await anext(lines)) == "event: metrics"
        await world.service.abort()
    for browser in (first, second):
        await browser.client.aclose()


async def test_hostile_13_an_event_stream_ends_when_its_session_expires(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.2)
    browser = await Browser(world, "one").sign_in(world.guard.admin_token)
    async with world.fleet().joined():
        view = await world.start(total_steps=10_000_000)
        async with (
            asyncio.timeout(60),
            browser.client.stream("GET", f"/api/runs/{view.run_id}/events") as stream,
        ):
            lines = stream.aiter_lines()
            metrics = 0
            while metrics < 3:
                metrics += (await anext(lines)) == "event: metrics"
            now = time.time()
            monkeypatch.setattr(world.guard.access, "_wall", lambda: now + access_store.SESSION_SECONDS + 1)
            async for _ in lines:
                pass
        await world.service.abort()
    await browser.client.aclose()


async def viewer_link(admin: httpx.AsyncClient, run_id: str | None = None) -> str:
    response = await admin.post("/api/viewer-link", json={"run_id": run_id})
    assert response.status_code == 200
    return ViewerLink.model_validate(response.json()).url


def fragment_of(link: str, name: str) -> str:
    return parse_qs(link.partition("#")[2])[name][0]


async def test_whoever_opens_a_viewer_s_link_may_look_and_change_nothing(world: GatewayWorld):
    run_id = await world.trained(64)
    link = await viewer_link(world.client, run_id)
    # No other device reaches this server: the page's own base is the address.
    assert link.startswith("#token=")
    assert fragment_of(link, "run") == run_id
    token = fragment_of(link, "token")
    viewer = await Browser(world, "guest").sign_in(token)
    assert (await viewer.client.get("/api/info")).json()["role"] == "viewer"
    assert (await viewer.client.get(f"/api/runs/{run_id}")).status_code == 200
    assert (await viewer.client.post("/api/settings", json={"game": "counting"})).status_code == 200
    for path in (f"/api/runs/{run_id}/resume", "/api/runs", "/api/viewer-link", "/api/join"):
        assert (await viewer.client.post(path, json={})).status_code == 403, path
    assert (await viewer.client.get("/api/access")).status_code == 403
    await viewer.client.aclose()
    # It is no worker's token.
    grant = world.guard.grant_of(token)
    assert grant is not None and grant.role == "viewer"
    access = AccessView.model_validate((await world.client.get("/api/access")).json())
    assert [(session.role, session.agent) for session in access.sessions] == [("viewer", "guest")]
    (entry,) = [entry for entry in access.invitations if entry.tier == "viewer"]
    assert entry.note == f"for viewers: {run_id}"


async def test_sessions_that_a_viewer_s_link_opened_end_with_it_and_no_others(world: GatewayWorld):
    first, second = [fragment_of(await viewer_link(world.client), "token") for _ in range(2)]
    guests = [await Browser(world).sign_in(token) for token in (first, first, second)]
    assert [await guest.status() for guest in guests] == [200, 200, 200]
    # Leaving ends one session, and the link still opens others.
    assert (await guests[0].client.post("/api/logout", json={})).status_code == 200
    assert [await guest.status() for guest in guests] == [401, 200, 200]
    guests.append(await Browser(world).sign_in(first))
    entry = first.split(".")[1]
    assert (await world.client.post(f"/api/access/{entry}/revoke", json={})).status_code == 200
    assert [await guest.status() for guest in guests] == [401, 401, 200, 401]
    refused = await world.client.post("/api/session", json={"token": first})
    assert refused.status_code == 401
    for guest in guests:
        await guest.client.aclose()


async def test_a_viewer_with_the_link_s_own_token_cannot_revoke_it(world: GatewayWorld):
    token = fragment_of(await viewer_link(world.client), "token")
    guest = await Browser(world).sign_in(token)
    async with world.anonymous() as client:
        bearer = {"authorization": f"Bearer {token}"}
        assert (await client.get("/api/info", headers=bearer)).status_code == 200
        assert (await client.post("/api/logout", json={}, headers=bearer)).status_code == 200
        assert (await client.get("/api/info", headers=bearer)).status_code == 200
    assert await guest.status() == 200
    await guest.client.aclose()


async def test_a_viewer_s_link_names_the_address_that_others_reach(tmp_path: Path):
    async with gateway(tmp_path, public_url="https://hub.example/me/", invite_seconds=60) as world:
        made = ViewerLink.model_validate(
            (await world.client.post("/api/viewer-link", json={"run_id": "a b&c"})).json()
        )
        assert made.expires_seconds == 60
        assert made.url.startswith("https://hub.example/me/#token=invite.")
        assert fragment_of(made.url, "run") == "a b&c"


async def test_hostile_a_session_is_written_off_the_event_loop(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
):
    token = world.guard.issue("viewer")
    threads: list[threading.Thread] = []
    connect = sqlite3.connect

    def connected(*given: Any, **named: Any) -> sqlite3.Connection:
        threads.append(threading.current_thread())
        return connect(*given, **named)

    monkeypatch.setattr(sqlite3, "connect", connected)
    async with world.anonymous() as client:
        assert (await client.post("/api/session", json={"token": token})).status_code == 200
    assert threads and threading.main_thread() not in threads
