"""A visitor's browser, with a profile of its own, lends itself to the training of a game in a page."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright, expect

from attract.browser.chromium import launch_switches, require_chromium
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.collection.leases import Lease
from attract.collection.state import CollectionState
from attract.server.in_process import Gateway, running_gateway
from attract.settings.run import ServerSettings
from gateway_world import start_run
from servers import served_page
from zygote import start_learner

LIMIT_SECONDS = 60.0
HERE, NETWORK = "127.0.0.1", "127.0.0.2"
"""One of the names of this machine that every browser knows, and an address that is no such name."""
SHORT = {
    "collection": {"num_workers": 2, "instances_per_worker": 2},
    "ppo": {"horizon": 16, "batch_segments": 8},
    "seed": 1,
}
"""Segments that are played again in no time."""
ELSEWHERE = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Own-v1", page: "%s", observation: box({ shape: [1] }), action: discrete(["wait"]), keys: { wait: [] },
  observe: () => [0], score: () => 0, over: () => false, maxSeconds: 1,
});
"""
WAYS_OUT = """async (server) => {
  const ways = {
    connect: () => fetch(`${server}/healthz`),
    picture: () => new Promise((done, failed) =>
      Object.assign(new Image(), { onload: done, onerror: failed, src: `${server}/icon.svg` })),
    page: () => parent.parent.document.title,
    leave: () => { top.location = `${server}/elsewhere`; },
    interface: async () => { if (!(await fetch("/api/runs")).ok) throw new Error("not here"); },
  };
  const worked = [];
  for (const [name, way] of Object.entries(ways))
    await Promise.resolve().then(way).then(() => worked.push(name), () => undefined);
  return worked;
}"""


class Visit:
    """What the server knows of its only guest."""

    def __init__(self, gateway: Gateway) -> None:
        self._run: Any = gateway.service.active
        self._collection: Any = self._run.runner.collection

    @property
    def hosts(self) -> list[Any]:
        """That are listed, as the dashboard lists them."""
        return [host for host in self._run.fleet().hosts if host.tier == "invited"]

    @property
    def states(self) -> set[str]:
        """States of its workers, which stay in the list for a while after they left."""
        return {worker.state for host in self.hosts for worker in host.workers}

    @property
    def standing(self) -> Any:
        """What came of its segments that were played again; None before the first."""
        standings = self._collection.described.audit.standings
        return next((standings[host.identity] for host in self.hosts if host.identity in standings), None)

    @property
    def is_trained(self) -> bool:
        """Whether a version has learned from what it played."""
        return any(host.identity in self._collection.first_versions for host in self.hosts)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - nothing tells of these
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def visiting(link: str, profile: Path) -> AsyncGenerator[Page]:
    """A second Chromium that opened the link."""
    async with async_playwright() as playwright:
        visitor = await playwright.chromium.launch_persistent_context(
            profile, executable_path=require_chromium().path, args=launch_switches(link)
        )
        try:
            await visitor.pages[0].goto(link)
            yield visitor.pages[0]
        finally:
            await visitor.close()


@contextlib.asynccontextmanager
async def training(game: str, address: str, folder: Path) -> AsyncGenerator[Gateway]:
    """A run with a worker of the server's own, which plays again what guests say they played."""
    settings = ServerSettings(host=address, port=0, runs_dir=folder / "runs", project_dir=folder)
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        await start_run(gateway.service, game, SHORT)
        key = gateway.guard.issue("worker")
        own = await HostProcess.start(join_url(gateway.url, key, 1), lambda _event: None)
        try:
            yield gateway
        finally:
            await own.stop()


@pytest.mark.parametrize("address", [pytest.param(HERE, marks=pytest.mark.long), NETWORK])
async def test_a_second_browser_adds_pages_whose_play_is_trained(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lapsed: list[str] = []

    def lapse(state: CollectionState, lease: Lease, reason: str, now: float) -> None:
        # On a busy machine one may be played too late for the next update (rule C4), which is nobody's fault.
        if not reason.startswith("too old"):
            lapsed.append(reason)
        lapse_as_ever(state, lease, reason, now)

    lapse_as_ever = CollectionState.lapse
    monkeypatch.setattr(CollectionState, "lapse", lapse)
    async with training("meteors", address, tmp_path) as gateway:
        assert address in gateway.url
        visit = Visit(gateway)
        link = join_url(gateway.url, gateway.guard.issue("worker", tier="invited"), 1)
        async with visiting(link, tmp_path / "profile") as page:
            # Its first verified segments train before it has ten.
            await until(lambda: visit.is_trained and visit.standing.valid >= 10)
            ((host,), standing) = (visit.hosts, visit.standing)
            assert [worker.collected_steps > 0 for worker in host.workers] == [True]
            assert standing.caught is None
            assert await page.inner_text("#workers") == "1 of 1"
            game = next(frame for frame in page.frames if frame.url.endswith("/index.html"))
            assert await game.evaluate(WAYS_OUT, gateway.url) == []
            assert await game.evaluate("window.credentialless")
        await until(lambda: visit.states == {"gone"})
        assert lapsed == []


async def test_a_visitor_is_told_where_a_page_is_not_for_them(tmp_path: Path) -> None:
    with served_page("<!doctype html><title>A server of the developer's own</title>") as address:
        (tmp_path / "own.page.ts").write_text(ELSEWHERE % f"{address}/")
        settings = ServerSettings(host=NETWORK, port=0, runs_dir=tmp_path / "runs", project_dir=tmp_path)
        async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
            await start_run(gateway.service, "own.page.ts", SHORT)
            async with visiting(
                join_url(gateway.url, gateway.guard.issue("worker"), 1), tmp_path / "profile"
            ) as page:
                error = page.locator("#error")
                await expect(error).to_contain_text("can only be played on that machine", timeout=20_000)
