"""A whole gateway for tests: the real app on a real uvicorn, a fake learner, a fleet over real websockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from attract.run.progress import RunResult
from attract.run.service import RunService
from attract.schema import learner as ipc
from attract.schema.api import MetricsRow, RunView
from attract.schema.base import WireModel
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.server.serving import uvicorn_options
from attract.settings.run import ServerSettings
from fake_learner import FakeLearner
from socket_fleet import SocketFleet
from waiting import WAIT_SECONDS

SMALL: dict[str, Any] = {
    "seed": 1,
    "ppo": {"horizon": 8, "rollout_steps": 8, "minibatch_steps": 8},
    "collection": {"num_workers": 2, "instances_per_worker": 4, "warmup_steps": 64},
    "evaluation": {"episodes": 6},
}
"""Run settings under which the counting game trains in milliseconds."""


class GatewayWorld:
    """One gateway; `client` carries the admin's token."""

    def __init__(self, tmp_path: Path, learner: FakeLearner, **settings: Any) -> None:
        web = tmp_path / "web"
        (web / "games").mkdir(parents=True, exist_ok=True)
        (web / "dashboard" / "assets").mkdir(parents=True, exist_ok=True)
        (web / "games" / "counting.js").write_text("export default 1;\n")
        (web / "dashboard" / "index.html").write_text("<!doctype html><title>Attract</title>")
        (web / "dashboard" / "assets" / "index-1.js").write_text("1;")
        self.learner = learner
        self.runs_dir = tmp_path / "runs"
        self.settings = ServerSettings.from_mapping(
            {"runs_dir": self.runs_dir, "project_dir": tmp_path, "web_dir": web, **settings}
        )
        self.app = build_app(self.settings, learner.start)
        self.service: RunService = self.app.state.service
        self.guard: Guard = self.app.state.guard
        self.events: list[tuple[str, WireModel]] = []
        self.service.subscribe(lambda kind, body: self.events.append((kind, body)))
        self.port = 0
        self.client = httpx.AsyncClient()

    def fleet(self, **fields: Any) -> SocketFleet:
        """A fleet with a worker's token, not yet joined."""
        return SocketFleet(
            url=f"ws://127.0.0.1:{self.port}/ws",
            token=self.guard.issue("worker"),
            origin=f"http://127.0.0.1:{self.port}",
            **fields,
        )

    async def start(self, **settings: Any) -> RunView:
        """Start a run of the counting game with SMALL settings and these."""
        return await start_run(self.service, "counting", {**SMALL, **settings})

    async def trained(self, steps: int = 192) -> str:
        """Id of a finished run of `steps` agent steps, 64 an update."""
        async with self.fleet().joined():
            view = await self.start(total_steps=steps)
            await asyncio.wait_for(self.service.wait_finished(), WAIT_SECONDS)
        return view.run_id

    def anonymous(self, **headers: str) -> httpx.AsyncClient:
        """A client without a token."""
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers=headers)


@contextlib.asynccontextmanager
async def gateway(
    tmp_path: Path, learner: FakeLearner | None = None, **settings: Any
) -> AsyncIterator[GatewayWorld]:
    """A running gateway, closed at the end as at a server's shutdown."""
    world = GatewayWorld(tmp_path, learner or FakeLearner(), **settings)
    async with running_server(world.app, world.settings) as port:
        world.port = port
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"authorization": f"Bearer {world.guard.admin_token}"},
        ) as client:
            world.client = client
            yield world


async def start_run(
    service: RunService,
    game: str,
    given: Mapping[str, Any],
    *,
    run_id: str | None = None,
    resume: bool = False,
    **more: Any,
) -> RunView:
    """Check `given` and start the run, or go on with it; `more`: as `RunService.start_run`."""
    settings = service.settings_of(game, given, resumed=run_id if resume else None)
    return await service.start_run(game, settings, run_id=run_id, resume=resume, **more)


async def finished(world: GatewayWorld) -> RunResult:
    return await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)


def trained(learner: FakeLearner) -> list[ipc.Train]:
    """Every order to train that it heard."""
    return [message for message in learner.heard if isinstance(message, ipc.Train)]


async def until_update(world: GatewayWorld, update: int) -> None:
    """Until that update's row was announced to pages."""
    reached = asyncio.Event()

    def hear(kind: str, body: Any) -> None:
        if isinstance(body, MetricsRow) and body.update >= update:
            reached.set()

    unsubscribe = world.service.subscribe(hear)
    await asyncio.wait_for(reached.wait(), WAIT_SECONDS)
    unsubscribe()


def kinds(world: GatewayWorld, kind: str) -> list[Any]:
    return [body for name, body in world.events if name == kind]


class _Server(uvicorn.Server):
    """Leaves signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def running_server(app: Any, settings: ServerSettings | None = None) -> AsyncIterator[int]:
    """Serve `app` until the block ends; gives the port."""
    options: Any = uvicorn_options(settings or ServerSettings())
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", **options)
    server = _Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the server ended before it started")
        await asyncio.sleep(0)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task
