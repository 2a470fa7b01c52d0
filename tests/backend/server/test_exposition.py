import asyncio
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from attract.run.health import RunHealth
from attract.schema.api import MetricsRow
from attract.server.exposition import Exposition, ServerNumbers
from fake_learner import FakeLearner
from gateway_world import GatewayWorld, gateway
from waiting import WAIT_SECONDS, until

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scraped(world: GatewayWorld) -> Samples:
    answer = await world.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return parsed(answer.text)


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


async def test_scale_13_metrics_say_how_a_run_and_its_fleet_stand(tmp_path: Path):
    learner = FakeLearner()
    learner.metrics = {"time/update_seconds": 0.02, "time/idle_seconds": 0.2}
    async with gateway(tmp_path, learner) as world, world.fleet().joined():
        run = (await world.start(total_steps=640)).run_id
        await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)
        samples = await scraped(world)
        view = world.service.view(run)
        # 640 steps in updates of 2 workers x 4 games x 8 steps = 64, or more where a worker was faster (S1).
        assert view.agent_steps >= 640 and 1 < view.updates <= 10
        assert value(samples, "attract_agent_steps_total", run=run) == view.agent_steps
        assert value(samples, "attract_updates_total", run=run) == view.updates
        assert value(samples, "attract_policy_version", run=run) == view.policy_version
        assert value(samples, "attract_workers_expected", run=run) == 2
        assert value(samples, "attract_run_state", run=run, state="finished") == 1
        assert value(samples, "attract_run_state", run=run, state="running") == 0
        assert value(samples, "attract_blocks_total", run=run, verdict="accepted") > 0
        assert value(samples, "attract_update_seconds_count") == view.updates
        assert value(samples, "attract_update_seconds_bucket", le="0.025") == view.updates
        assert value(samples, "attract_update_seconds_bucket", le="0.01") == 0
        idle_seconds = value(samples, "attract_learner_idle_seconds_sum")
        assert round(idle_seconds, 6) == round(0.2 * view.updates, 6)
        assert value(samples, "attract_received_bytes_total") > 1000
        assert value(samples, "attract_run_info", run=run, game="counting") == 1


async def test_watched_the_fleet_is_counted_by_tier_and_state(tmp_path: Path):
    learner = FakeLearner()
    learner.hold.clear()
    async with gateway(tmp_path, learner) as world:
        run = (await world.start()).run_id
        before = await scraped(world)
        assert ("attract_workers", (("run", run), ("state", "playing"), ("tier", "local"))) not in before
        async with world.fleet().joined():
            await asyncio.wait_for(learner.holding.wait(), WAIT_SECONDS)
            samples = await scraped(world)
            assert value(samples, "attract_hosts", run=run, tier="local") == 1
            workers = {key: count for key, count in samples.items() if key[0] == "attract_workers"}
            assert sum(workers.values()) == 2
            assert value(samples, "attract_sockets") == 3
            rows = [count for (name, _), count in samples.items() if name == "attract_store_rows"]
            assert len(rows) == 3
            assert value(samples, "attract_store_rows", run=run, state="taken") >= 8
        learner.hold.set()


async def test_watched_refusals_are_counted_by_their_code(tmp_path: Path):
    async with gateway(tmp_path) as world:
        fleet = world.fleet()
        fleet.token = "x" * 40
        async with fleet.joined():
            await until(lambda: bool(fleet.refused), WAIT_SECONDS)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as stranger:
            assert (await stranger.get("/metrics")).status_code == 401
            assert (await stranger.get("/api/runs", headers={"host": "evil.example"})).status_code == 421
        samples = await scraped(world)
        assert value(samples, "attract_sockets_refused_total", code="token") == 1
        assert value(samples, "attract_http_refused_total", status="401") == 1
        assert value(samples, "attract_http_refused_total", status="421") == 1


async def test_watched_a_viewer_may_scrape_and_a_worker_may_not(tmp_path: Path):
    async with gateway(tmp_path) as world:
        for granted, status in (("viewer", 200), ("worker", 403)):
            token = world.guard.issue(granted)  # type: ignore[arg-type]
            answer = await world.client.get("/metrics", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == status


def numbers(**changed: Any) -> ServerNumbers:
    known: dict[str, Any] = {
        "sockets": 0,
        "received_bytes": 0,
        "sockets_refused": {},
        "http_refused": {},
        "loop_lag_seconds": 0.0,
        "host_restarts": 0,
    }
    return ServerNumbers(**{**known, **changed})


def test_a_games_name_cannot_forge_a_line(tmp_path: Path):
    from attract.collection.standing import Standing
    from attract.schema.learner import Counters

    health = RunHealth(
        run_id="run",
        game='a"} 1\nattract_forged 7\n{b="\\',
        state="running",
        num_workers=1,
        counters=Counters(),
        policy_version=0,
        episode_return_mean=None,
        updates_dropped=0,
        is_described=True,
        learner_is_alive=True,
        learner_is_ready=True,
        learner_restarts=0,
        disk_refuses=False,
        collection=Standing({}, {}, 0, 0, 0, 0, {}, 0),
    )
    samples = parsed(Exposition(numbers, lambda: health).text().decode())
    assert value(samples, "attract_run_info", run="run", game=health.game) == 1
    assert not [name for name, _ in samples if name == "attract_forged"]


def test_two_servers_of_one_process_share_nothing():
    one, other = Exposition(numbers, lambda: None), Exposition(lambda: numbers(sockets=3), lambda: None)
    row = MetricsRow(update=1, agent_steps=1, seconds=1.0, values={"time/update_seconds": 1.0})
    one.observe("metrics", row)
    assert value(parsed(one.text().decode()), "attract_update_seconds_count") == 1
    assert value(parsed(other.text().decode()), "attract_update_seconds_count") == 0
    assert value(parsed(other.text().decode()), "attract_sockets") == 3
