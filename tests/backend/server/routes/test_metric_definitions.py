"""What metrics mean is served to who may look."""

from attract.runs.metric_table import DEFINITIONS
from attract.schema.metrics import MetricDefinitions
from gateway_world import GatewayWorld


async def test_definitions_are_served(world: GatewayWorld):
    answer = await world.client.get("/api/metrics")
    assert MetricDefinitions.model_validate(answer.json()) == DEFINITIONS


async def test_who_has_no_token_gets_none(world: GatewayWorld):
    answer = await world.client.get("/api/metrics", headers={"authorization": "Bearer nonsense"})
    assert answer.status_code == 401
