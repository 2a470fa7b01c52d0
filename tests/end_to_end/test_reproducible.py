"""C8: the same seed gives the same weights after every update, however the frames were delayed."""

import asyncio
import json
import secrets
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract_command import AttractCommand
from gateway_world import SMALL, gateway
from killed_trainer import rows_of
from proxy import FrameProxy, delaying
from servers import free_port
from zygote import start_learner

pytestmark = pytest.mark.usefixtures("one_browser")

UPDATES = 20
STEPS_PER_UPDATE = 2 * 32 * 32
"""2 workers x 32 instances x 32 steps."""
LESSONS = """
curriculum:
  every_episodes: 20
  lessons:
    - name: small
      parameters: {size: {uniform: [6, 8]}}
      until: {metric: game/food, at_least: 0.01, times: 2}
      min_episodes: 300
    - {name: large, parameters: {size: {multi_range: [[9, 11], [13, 20]]}}}
"""
"""Any snake eats once in 100 games; an update brings 100 to 150 of them."""


@pytest.mark.long
async def test_C8_equal_seeds_give_equal_weights_after_every_update(tmp_path: Path) -> None:
    first = await _weights(tmp_path, "first", seed=7, delay_seed=1)
    second = await _weights(tmp_path, "second", seed=7, delay_seed=2)
    other = await _weights(tmp_path, "other", seed=8, delay_seed=1)
    assert sorted(first) == list(range(1, UPDATES + 1))
    assert len(set(first.values())) == UPDATES
    assert first == second
    assert all(first[version] != other[version] for version in first)


@pytest.mark.soak
async def test_C8_central_inference_gives_equal_weights_too(tmp_path: Path) -> None:
    server = ("--collection.inference", "server")
    first = await _weights(tmp_path, "first", *server, seed=7, delay_seed=1, updates=4)
    second = await _weights(tmp_path, "second", *server, seed=7, delay_seed=2, updates=4)
    assert sorted(first) == [1, 2, 3, 4]
    assert first == second


@pytest.mark.long
async def test_C8_C6_lessons_change_at_the_same_version_and_leave_the_weights_equal(tmp_path: Path) -> None:
    lessons = tmp_path / "lessons.yaml"
    lessons.write_text(LESSONS)
    first, second = [
        await _checkpoints(
            tmp_path, run_id, "--config", str(lessons), game="snake", seed=7, delay_seed=delay_seed, updates=6
        )
        for run_id, delay_seed in (("first", 1), ("second", 2))
    ]
    assert _hashes(first) == _hashes(second)
    assert len(set(_hashes(first).values())) == len(first) == 6
    # Window, counts and all: the course is at the same point after every update.
    courses = {version: document["curriculum"] for version, document in first.items()}
    assert courses == {version: document["curriculum"] for version, document in second.items()}
    names = [courses[version]["lesson"]["name"] for version in sorted(courses)]
    assert set(names) == {"small", "large"}, "the lesson changes on the way"


async def _weights(
    runs_dir: Path, run_id: str, *arguments: str, seed: int, delay_seed: int, updates: int = UPDATES
) -> dict[int, str]:
    """Hash of the weights by policy version, after a run on CartPole."""
    return _hashes(
        await _checkpoints(runs_dir, run_id, *arguments, seed=seed, delay_seed=delay_seed, updates=updates)
    )


def _hashes(checkpoints: dict[int, dict[str, Any]]) -> dict[int, str]:
    return {version: document["weights_sha256"] for version, document in checkpoints.items()}


async def _checkpoints(
    runs_dir: Path,
    run_id: str,
    *arguments: str,
    seed: int,
    delay_seed: int,
    updates: int,
    game: str = "cartpole",
) -> dict[int, dict[str, Any]]:
    """The checkpoint of every version but 0, after a run whose frames were delayed by `delay_seed`."""
    port = free_port()
    token = secrets.token_hex(32)
    command = AttractCommand(
        "train", game, "--no-headless", "--port", str(port), "--run-id", run_id, "--seed", str(seed),
        "--workers", "2", "--instances", "32", "--total-steps", str(updates * STEPS_PER_UPDATE),
        "--collection.schedule", "sync", "--collection.desync-steps", "200", "--ppo.horizon", "32",
        *arguments, runs_dir=runs_dir,
        environment={"ATTRACT_WORKER_TOKEN": token, "ATTRACT_WORKER_TIER": "local"},
    )  # fmt: skip
    proxy = FrameProxy(port, delaying(delay_seed, 0.02))
    proxy_port = await proxy.start()
    host = await HostProcess.start(join_url(f"http://127.0.0.1:{proxy_port}", token, 2), lambda _event: None)
    try:
        outcome = await asyncio.to_thread(command.wait, 240)
    finally:
        await host.stop()
        await proxy.cut()
    assert outcome.code == 0, outcome.stderr
    found: dict[int, dict[str, Any]] = {}
    for path in (runs_dir / run_id / "checkpoints").glob("*/checkpoint.json"):
        checkpoint = json.loads(path.read_text())
        if checkpoint["policy_version"] > 0:
            found[checkpoint["policy_version"]] = checkpoint
    return found


async def test_C8_D2_a_sync_run_that_was_paused_twice_ends_bit_identical_to_one_that_was_not(
    tmp_path: Path,
) -> None:
    whole = await _paused_at(tmp_path / "whole", [])
    paused = await _paused_at(tmp_path / "paused", [3, 7])
    assert len(whole) == 13 and len(set(whole)) == 13
    assert paused == whole


async def _paused_at(folder: Path, updates: list[int]) -> list[str]:
    """Hash of the weights of each of 12 updates of a run that is paused after these."""
    async with (
        gateway(folder, SimpleNamespace(start=start_learner)) as world,
        world.fleet(plays=True).joined(),
    ):  # type: ignore[arg-type]
        collection = {**SMALL["collection"], "schedule": "sync"}
        view = await world.start(total_steps=12 * 64, collection=collection)
        for update in updates:
            while world.service.view(view.run_id).updates < update:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            paused = await world.service.pause(view.run_id)
            assert paused.state == "paused"
            # Whatever is still under way may come in meanwhile.
            await asyncio.sleep(0.3)
            await world.service.resume(view.run_id)
        await asyncio.wait_for(world.service.wait_finished(), 240)
    return [row["weights_sha256"] for row in rows_of(world.runs_dir / view.run_id / "metrics.db")]
