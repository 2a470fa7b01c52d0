import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from attract.collection import message_handlers
from attract.run import active as active_run
from attract.run import progress as run_progress
from attract.schema.api import MetricsRow, RunView
from attract.schema.frames import encode
from attract.schema.messages import GameFailed
from gateway_world import GatewayWorld, gateway
from waiting import WAIT_SECONDS


async def test_hostile_02_a_fault_in_dealing_with_a_browsers_words_closes_its_socket_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        view = await world.start()
        heard: list[str] = []

        def hear(kind: str, body: Any) -> None:
            heard.append(kind)
            raise SystemExit(1)

        world.service.subscribe(hear)

        def broken(*_: Any) -> None:
            raise KeyError("a fault of our own")

        failed = GameFailed(
            run_id=view.run_id, kind="throw", name="Error", text="x", stack=None, worker_index=0
        )
        monkeypatch.setattr(message_handlers, "report_of", broken)
        fleet.block_error = encode(failed)
        async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
            await fleet.changed.wait_for(lambda: fleet.refused and fleet.accepted)
            before = len(fleet.accepted)
            await fleet.changed.wait_for(lambda: len(fleet.accepted) > before + 8)
        (refused,) = fleet.refused
        assert (refused.code, refused.close_code) == ("internal", 1011)
        assert refused.reason == "the server could not handle game_failed: KeyError"
        assert world.service.active is not None
        assert world.service.active.browsers.faults == 1
        assert world.service.active.view().state == "running"
        assert len(heard) == 1, "who cannot be told is told nothing more"
        await world.service.abort()


async def test_threads_see_the_run_as_it_stands_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path) as world:
        view = await world.start()
        active = world.service.active
        assert active is not None
        threads: list[int] = []
        whole = active._notifications.view

        def noted() -> RunView:
            threads.append(threading.get_ident())
            return whole()

        monkeypatch.setattr(active._notifications, "view", noted)
        seen = await asyncio.to_thread(world.service.view, view.run_id)
        listed = await asyncio.to_thread(world.service.catalogue.list)
        assert [run.run_id for run in listed.runs] == [seen.run_id] == [view.run_id]
        assert len(threads) >= 2 and {*threads} == {threading.get_ident()}
        await world.service.abort()


async def test_a_fault_of_the_servers_own_ends_the_run_and_says_so_to_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        view = await world.start()
        trained = asyncio.Event()

        def hear(kind: str, body: Any) -> None:
            if isinstance(body, MetricsRow):
                trained.set()

        def begin(train: Any) -> Any:
            raise RuntimeError("an update that cannot be begun")

        world.service.subscribe(hear)
        await asyncio.wait_for(trained.wait(), WAIT_SECONDS)
        assert world.service.active is not None
        monkeypatch.setattr(world.service.active._core.updates, "begin", begin)
        result = await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        assert (result.state, result.error) == ("failed", "RuntimeError: an update that cannot be begun")
        assert world.service.active is None
        async with asyncio.timeout(WAIT_SECONDS):
            await fleet.idle.wait()
            # Workers have sockets of their own, and read theirs when it is their turn.
            async with fleet.changed:
                await fleet.changed.wait_for(lambda: len(fleet.workers_ended) == 2)
        assert fleet.runs_ended == [view.run_id]
        assert sorted(fleet.workers_ended) == [0, 1]
        assert fleet.refused == [], "no browser is to blame"
        kept = await world.client.get(f"/api/runs/{view.run_id}")
        assert (kept.json()["state"], kept.json()["error"]) == ("failed", result.error)


async def test_workers_that_wait_for_anothers_session_begin_in_the_end_though_nobody_says_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_run, "TICK_SECONDS", 1000.0)
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        fleet.never_ready = 1
        await world.start()
        async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
            await fleet.changed.wait_for(lambda: any(lease.purpose == "train" for lease in fleet.leases))
        await world.service.abort()


async def waiting_seconds(world: GatewayWorld, run_id: str) -> float | None:
    return (await world.client.get(f"/api/runs/{run_id}")).json()["waiting_seconds"]


async def test_scale_03_a_run_whose_workers_left_says_that_it_waits_for_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_progress, "WAITING_SECONDS", 0.2)
    monkeypatch.setattr(active_run, "FLEET_EVENT_SECONDS", 0.0)
    async with gateway(tmp_path) as world:
        waits = asyncio.Event()

        def hear(kind: str, body: Any) -> None:
            if kind == "status" and isinstance(body, RunView) and body.waiting_seconds is not None:
                waits.set()

        async with world.fleet().joined() as fleet:
            view = await world.start()
            async with asyncio.timeout(WAIT_SECONDS), fleet.changed:
                await fleet.changed.wait_for(lambda: any(lease.purpose == "train" for lease in fleet.leases))
            world.service.subscribe(hear)
        await asyncio.wait_for(waits.wait(), WAIT_SECONDS)
        fleet_now = (await world.client.get(f"/api/runs/{view.run_id}/fleet")).json()
        assert fleet_now["last_left_seconds"] > 0
        # On a busy machine it may have waited, and played on, before they left.
        seconds = None
        for _ in range(round(WAIT_SECONDS / 0.05)):
            seconds = await waiting_seconds(world, view.run_id)
            if seconds is not None:
                break
            await asyncio.sleep(0.05)
        assert seconds is not None and seconds >= 0.2
        await world.service.stop(view.run_id)
        result = await world.service.wait_finished()
        assert result.waited_seconds >= 0.2
