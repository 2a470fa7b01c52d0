import asyncio
import errno
import io
from pathlib import Path
from typing import Any

import httpx

from attract.schema.api import ReadyView
from attract.server.readiness import PROBE_SECONDS, Readiness, try_write
from fake_learner import FakeLearner
from gateway_world import SMALL, GatewayWorld, gateway, start_run
from waiting import WAIT_SECONDS


async def ready(world: GatewayWorld) -> tuple[int, dict[str, str]]:
    """Status and problems by part, as anybody without a token sees them."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as client:
        answer = await client.get("/readyz")
    view = ReadyView.model_validate(answer.json())
    assert view.ready == (answer.status_code == 200)
    return answer.status_code, {name: part.problem for name, part in view.parts.items() if part.problem}


async def until(world: GatewayWorld, status: int) -> dict[str, str]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            now, problems = await ready(world)
            if now == status:
                return problems
            await asyncio.sleep(0.01)


async def test_watched_a_server_without_a_run_is_ready(tmp_path: Path):
    async with gateway(tmp_path) as world:
        assert await ready(world) == (200, {})


async def test_watched_a_run_that_waits_for_its_first_browser_is_ready_to_be_joined(tmp_path: Path):
    async with gateway(tmp_path) as world:
        await world.start()
        assert await ready(world) == (200, {})


async def test_scale_13_readyz_says_that_the_game_is_being_bundled(tmp_path: Path, monkeypatch: Any):
    async with gateway(tmp_path) as world:
        bundled = asyncio.Event()
        resolve = world.service.games.resolve

        async def slowly(game: str, device: Any = None) -> Any:
            await bundled.wait()
            return await resolve(game, device)

        monkeypatch.setattr(world.service.games, "resolve", slowly)
        starting = asyncio.create_task(world.start())
        problems = await until(world, 503)
        assert list(problems) == ["game"]
        assert (await world.client.get("/healthz")).status_code == 200
        bundled.set()
        await starting
        assert await ready(world) == (200, {})


async def test_scale_13_readyz_says_that_the_learner_died(tmp_path: Path):
    class Mortal(FakeLearner):
        def __init__(self) -> None:
            super().__init__()
            self.may_start = asyncio.Event()
            self.may_start.set()

        async def start(self) -> Any:
            await self.may_start.wait()
            return await super().start()

    learner = Mortal()
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        await world.start()
        await until(world, 200)
        learner.may_start.clear()
        await learner.die()
        assert list(await until(world, 503)) == ["learner"]
        learner.may_start.set()
        assert await until(world, 200) == {}


async def test_scale_13_readyz_says_that_the_run_failed_and_not_why(tmp_path: Path):
    learner = FakeLearner()
    learner.fail_begin = learner.failure_is_final = True
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        view = await world.start()
        await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        status, problems = await ready(world)
        assert (status, list(problems)) == (503, ["run"])
        # Anybody may read it: neither the error nor which run.
        assert "ValueError" not in str(problems)
        assert view.run_id not in str(problems)
        learner.fail_begin = False
        await start_run(world.service, "counting", SMALL)
        assert await until(world, 200) == {}


async def test_scale_13_readyz_says_that_the_disk_refuses(tmp_path: Path):
    learner = FakeLearner()
    learner.hold.clear()
    learner.stall = "version 1 cannot be saved: No space left on device"
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        await world.start()
        await asyncio.wait_for(learner.holding.wait(), WAIT_SECONDS)
        assert list(await until(world, 503)) == ["disk"]
        learner.hold.set()
        assert await until(world, 200) == {}


def test_a_write_is_tried_where_runs_are_kept(tmp_path: Path):
    assert try_write(tmp_path) is None
    # Not there yet: the first run makes it.
    assert try_write(tmp_path / "runs" / "deeper") is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_refuses_the_write(tmp_path: Path, monkeypatch: Any):
    class Full(io.BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(errno.ENOSPC, "as a full disk says")

    monkeypatch.setattr("attract.server.readiness.tempfile.TemporaryFile", lambda **_: Full())
    assert try_write(tmp_path) == "as a full disk says"


async def test_the_disk_is_asked_once_in_five_seconds_however_many_ask(tmp_path: Path, monkeypatch: Any):
    asked: list[Path] = []
    monkeypatch.setattr("attract.server.readiness.try_write", asked.append)
    now = 100.0
    readiness = Readiness(tmp_path, lambda: None, lambda: False, lambda: now)
    await asyncio.gather(*(readiness.view() for _ in range(20)))
    now += PROBE_SECONDS / 2
    await readiness.view()
    assert len(asked) == 1
    now += PROBE_SECONDS
    assert (await readiness.view()).ready
    assert len(asked) == 2
