"""What tests of the run service wait for and look at."""

import asyncio
from typing import Any

from attract.run.progress import RunResult
from attract.schema import learner as ipc
from attract.schema.api import MetricsRow
from fake_learner import FakeLearner
from gateway_world import GatewayWorld
from waiting import WAIT_SECONDS


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
