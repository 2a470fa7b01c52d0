"""A whole gateway for tests: the real app on a real uvicorn, a fake learner, a fleet over real websockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from attract.run.service import RunService
from attract.schema.api import RunView
from attract.schema.base import WireModel
from attract.server.app import build_app
from attract.server.guard import Guard
from attract.settings.run import ServerSettings
from fake_learner import FakeLearner
from running_server import running_server
from socket_fleet import SocketFleet
from started_run import start_run
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
