"""A gateway in a process of its own, with its learner or a publisher, and what passed its websockets.

`python -m attract_benchmarks.harness.served` reads its request as a line of JSON, says where it is, answers
each further line with a `Report`, and ends when there are no more.
"""

import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import ormsgpack
from pydantic import BaseModel, ConfigDict

from attract.collection.effects import Effect, Send
from attract.processes.children import LearnerLink, spawn_learner
from attract.run.active import ActiveRun
from attract.run.effects import Kind
from attract.schema.api import MetricsRow
from attract.schema.base import WireModel
from attract.schema.messages import BlockAck
from attract.server.app_server import run_async
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from attract_benchmarks.harness.child import Child, questions, running, say
from attract_benchmarks.harness.publication import DURABLE, ENDED, VERSION, Acknowledged, Ready, Sent
from attract_benchmarks.harness.stamps import Passed, StampedApp

PUBLISHER = (sys.executable, "-m", "attract_benchmarks.harness.publisher")
MAX_SOCKETS = 1024


class ServerRequest(BaseModel):
    """Request: serve a run of a bundled game to browsers with this token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    game: str
    settings: dict[str, Any]
    """Settings of the run."""
    runs_dir: Path
    token: str
    trains: bool = False
    """Whether its versions come of training, or of a publisher as fast as can be."""


class Place(BaseModel):
    """Address of the gateway."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    run_id: str


class Report(BaseModel):
    """The gateway's work since the last report, or since it began."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu_seconds: float
    """CPU seconds of the whole process since it began."""
    num_bytes: int
    """Bytes of block frames received."""
    blocks: list[tuple[int, float]]
    """(bytes, seconds from `receive()` returning to its row being committed) of each block."""
    ready: list[Ready]
    sent: list[Sent]
    acknowledged: list[Acknowledged]
    max_encodings: int
    """Most frames that were made of one version; 0 when none was sent."""


class Look(BaseModel):
    """Asks for a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Served:
    """The parent's end of the process; used on one event loop."""

    def __init__(self, child: Child, place: Place) -> None:
        """Use `serving`."""
        self._child = child
        self.url = place.url
        self.run_id = place.run_id

    async def report(self) -> Report:
        """Events since the last call. Raises: RuntimeError: when the process or run has ended."""
        return await self._child.ask(Look(), Report)


@contextlib.asynccontextmanager
async def serving(order: ServerRequest) -> AsyncGenerator[Served]:
    """The gateway runs while the block does. Raises: RuntimeError: when it does not start."""
    async with running("attract_benchmarks.harness.served") as child:
        yield Served(child, await child.ask(order, Place))


# --- the process ---


async def _serve() -> None:
    lines = questions()
    order = ServerRequest.model_validate_json(await anext(lines))
    settings = ServerSettings(
        port=0,
        runs_dir=order.runs_dir,
        worker_token=order.token,
        worker_tier="local",
        sockets_per_address=MAX_SOCKETS,
        sockets_per_token=MAX_SOCKETS,
    )
    stamped: list[StampedApp] = []
    ready: list[Ready] = []

    def around(app: Any) -> StampedApp:
        stamped.append(StampedApp(app))
        return stamped[0]

    async def start() -> LearnerLink:
        return await spawn_learner(command=[*PUBLISHER, *(["--trains"] if order.trains else [])])

    def heard(_kind: Kind, body: WireModel) -> None:
        if isinstance(body, MetricsRow) and VERSION in body.values:
            values = body.values
            ready.append(Ready(int(values[VERSION]), values[ENDED], values[DURABLE]))

    async with running_gateway(settings, port_is_fixed=False, start_learner=start, around=around) as gateway:
        chosen = gateway.service.settings_of(order.game, order.settings)
        view = await gateway.service.start_run(order.game, chosen)
        gateway.service.subscribe(heard)
        if gateway.service.active is not None:
            _stamp_commits(gateway.service.active, stamped[0])
        say(Place(url=gateway.url, run_id=view.run_id))
        async for _ in lines:
            if gateway.service.active is None:
                raise RuntimeError(f"the run has ended: {gateway.service.view(view.run_id).error}")
            say(_report(stamped[0].take(), ready))
            ready.clear()
        await gateway.service.abort()


def _stamp_commits(run: ActiveRun, app: StampedApp) -> None:
    """Have the app know of each block whose row is committed: the run is then asked to acknowledge it."""
    take = run.runner.take

    def stamped(emitted: list[Effect], now: float) -> None:
        sent = [effect.message for effect in emitted if isinstance(effect, Send)]
        if any(isinstance(message, BlockAck) and message.accepted for message in sent):
            app.committed()
        take(emitted, now)

    run.runner.take = stamped


def _report(passed: Passed, ready: list[Ready]) -> Report:
    sent: list[Sent] = []
    frames: dict[int, set[int]] = {}
    for socket, when, frame in passed.policies:
        version = int(_message(frame)["policy_version"])
        sent.append(Sent(socket, when, version))
        frames.setdefault(version, set()).add(id(frame))
    acknowledged: list[Acknowledged] = []
    for socket, when, frame in passed.acks:
        message = _message(frame)
        version, create_ms = int(message["policy_version"]), float(message["create_ms"])
        acknowledged.append(Acknowledged(socket, when, version, create_ms))
    return Report(
        cpu_seconds=time.process_time(),
        num_bytes=passed.num_bytes,
        blocks=passed.blocks,
        ready=list(ready),
        sent=sent,
        acknowledged=acknowledged,
        max_encodings=max((len(encodings) for encodings in frames.values()), default=0),
    )


def _message(frame: bytes) -> Mapping[str, Any]:
    return ormsgpack.unpackb(frame)


if __name__ == "__main__":
    run_async(_serve())
