"""A running gateway for the tests of its parts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_world import GatewayWorld, gateway


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GatewayWorld]:
    async with gateway(tmp_path) as world:
        yield world
