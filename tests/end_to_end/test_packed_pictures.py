"""A page game of pixels in a real browser: its stacks travel as single pictures, and arrive as stacks.

`pytest -s` prints how many bytes a step takes, for docs/notebook/page-games.md.
"""

import asyncio
import math
import shutil
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.schema.frames import encode
from attract.schema.messages import Block
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from gateway_world import start_run
from proxy import FrameProxy, Message
from zygote import start_learner

pytestmark = pytest.mark.usefixtures("one_browser")

LIMIT_SECONDS = 120.0
SEGMENTS = 8
"""That are looked at: those of the first version, and of the next."""
MANY = 16
"""By which a worker has measured two, and goes on."""
SLOW = 400_000.0
"""Bytes a second: a segment of one slot takes more than a second, and is played in a quarter of that."""
METEORS = Path(__file__).parents[2] / "web/page-games/meteors"
ADAPTER = """
import { definePageGame, discrete } from "attract/page";
const game = definePageGame({
  id: "MeteorsPixels-v1", page: "index.html", size: [480, 400], maxSeconds: 3, pixels: {},
  action: discrete(["left", "stay", "right"]),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  loaded(w) { w.look = w.eval("() => ({ state, survived })"); },
  ready: (w) => w.look().state === "title",
  restart: (w) => w.newGame(),
  score: (w) => w.look().survived,
  over: (w) => w.look().state !== "playing",
});
%s
export default game;
"""
"""That of docs/page-games.md; episodes of 45 steps, so that each segment has the end of one."""
UNPACKED = "delete game.pictureStacks;"
CONFIG = {
    "preset": "pixels",
    "collection": {"num_workers": 1, "instances_per_worker": 2, "schedule": "sync"},
    "ppo": {"batch_segments": 4, "n_epochs": 1, "num_minibatches": 2},
    "seed": 3,
}


@dataclass
class Played:
    """What came of one run: its blocks as they were sent, and its rows as they were written."""

    blocks: list[Block] = field(default_factory=list[Block])
    rows: list[dict[str, NDArray[Any]]] = field(default_factory=list[dict[str, NDArray[Any]]])
    deflates: bool = False
    """Whether the fleet shows that its worker does, at the end."""

    def bytes_per_step(self) -> float:
        """Bytes of whole frames per step."""
        steps = sum(math.prod(block.valid.shape) for block in self.blocks)
        return sum(len(encode(block)) for block in self.blocks) / steps


async def played(
    folder: Path, extra: str = "", *, segments: int = SEGMENTS, bytes_per_second: float | None = None
) -> Played:
    """Train until so much was written; with `bytes_per_second` over a connection as slow as that."""
    shutil.copytree(METEORS, folder, ignore=shutil.ignore_patterns("trained", "game.page.ts"))
    (folder / "meteors.page.ts").write_text(ADAPTER % extra)
    settings = ServerSettings(port=0, runs_dir=folder / "runs", project_dir=folder)
    found = Played()
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        await start_run(gateway.service, "meteors.page.ts", CONFIG)
        run: Any = gateway.service.active

        async def slowly(message: Message) -> bytes:
            if message.to_gateway and bytes_per_second is not None:
                await asyncio.sleep(len(message.raw) / bytes_per_second)
            return message.raw

        proxy = FrameProxy(int(gateway.url.rpartition(":")[2]), slowly)
        url = f"http://127.0.0.1:{await proxy.start()}"
        host = await HostProcess.start(join_url(url, gateway.guard.issue("worker"), 1), lambda _event: None)
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                browsers = run.browsers
                while browsers.unpacker is None:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.01)
                follow(browsers, found, segments)
                while len(found.rows) < segments:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.05)
            found.deflates = any(worker.deflates for host in run.fleet().hosts for worker in host.workers)
        finally:
            await host.stop()
            await proxy.cut()
    return found


def follow(browsers: Any, found: Played, segments: int) -> None:
    """Note what is unpacked, and copy what is written."""
    unpack, write, store = browsers.unpacker.unpack, browsers.store.write_block, browsers.store

    def unpacking(block: Block) -> Block:
        if len(found.rows) < segments:
            found.blocks.append(block)
        return unpack(block)

    def writing(rows: NDArray[Any], arrays: Any) -> None:
        write(rows, arrays)
        for row in rows.tolist():
            copied = {name: store[name][:, row].copy() for name in ("obs.obs", "action", "truncated")}
            copied |= {
                name: store[name][row].copy() for name in ("bootstrap_obs.obs", "slot_id", "first_step")
            }
            count = int(store["final_count"][row])
            copied["final_obs.obs"] = store["final_obs.obs"][:count, row].copy()
            found.rows.append(copied)

    browsers.unpacker.unpack, browsers.store.write_block = unpacking, writing


def deflated_bytes(blocks: list[Block]) -> float:
    """A step, if all pictures were deflated as workers do."""
    saved = steps = 0
    for block in blocks:
        steps += math.prod(block.valid.shape)
        tensors = [block.observation["obs"], block.bootstrap_observation["obs"]]
        if block.final_observations is not None:
            tensors.append(block.final_observations.observation["obs"])
        if "obs" in block.packed and (stacks := block.packed["obs"].stacks) is not None:
            tensors.append(stacks.older)
        for tensor in tensors:
            squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            saved += len(tensor.data) - len(squeezer.compress(tensor.data) + squeezer.flush())
    return (sum(len(encode(block)) for block in blocks) - saved) / steps


def assert_same_rows(mine: Played, other: Played) -> None:
    both = zip(mine.rows, other.rows, strict=False)  # either may have played a block more
    for row, wanted in both:
        for name, values in row.items():
            assert np.array_equal(values, wanted[name]), name


# `make test` has the same of both languages' packing in contract/test_packed_blocks.py.
@pytest.mark.long
async def test_rows_are_the_same_bytes_as_without_packing(tmp_path: Path) -> None:
    packed = await played(tmp_path / "packed")
    plain = await played(tmp_path / "plain", UNPACKED)
    assert all(block.packed["obs"].stacks is not None for block in packed.blocks)
    assert all(block.packed == {} for block in plain.blocks)
    assert_same_rows(packed, plain)
    seen = np.stack([row["obs.obs"] for row in packed.rows])
    # Pictures that differ, stacks that are not one picture: else all of this would hold of nothing.
    assert seen.shape[2:] == (84, 84, 4)
    assert len(np.unique(seen)) > 20
    assert (seen[..., 3] != seen[..., 2]).any(axis=(2, 3)).mean() > 0.5
    assert sum(len(row["final_obs.obs"]) for row in packed.rows) > SEGMENTS / 2
    for name, run in (("as they are", plain), ("single pictures", packed)):
        print(f"{name}: {run.bytes_per_step():.0f} bytes a step, deflated {deflated_bytes(run.blocks):.0f}")
    assert packed.bytes_per_step() < 0.3 * plain.bytes_per_step()


@pytest.mark.alone
@pytest.mark.long
async def test_a_worker_deflates_where_the_connection_is_slow_and_only_there(tmp_path: Path) -> None:
    quick = await played(tmp_path / "quick", segments=MANY)
    slow = await played(tmp_path / "slow", segments=MANY, bytes_per_second=SLOW)
    assert not quick.deflates
    assert not any(block.packed["obs"].deflated for block in quick.blocks)
    # What it measured it by is sent as it is.
    deflated = [block.packed["obs"].deflated for block in slow.blocks]
    assert not any(deflated[:2])
    assert all(deflated[-2:])
    assert slow.deflates
    assert_same_rows(slow, quick)
