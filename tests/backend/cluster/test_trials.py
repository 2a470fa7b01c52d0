"""Trials elsewhere: pruned, refused, lost and cancelled as they are here."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from attract.cluster.trial_keeper import TrialKeeper
from attract.cluster.trials import MAX_LOSSES, ClusterRunner, parallel_on
from attract.errors import AwayError, ClusterError, TrialError
from attract.settings.run import RunSettings
from attract.tuning.runner import Progress, TrialOrder
from waiting import WAIT_SECONDS


def order_of(game: str, **settings: object) -> TrialOrder:
    collection = {"num_workers": 1, "instances_per_worker": 4}
    whole = RunSettings.from_mapping({"total_steps": 1_000_000, "collection": collection, **settings})
    return TrialOrder("t", game, whole.model_dump(mode="json"))


class Here:
    """A keeper in this process, in the place of one elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.keeper = TrialKeeper(folder)

    async def call(self, method: str, *arguments: Any) -> Any:
        return await getattr(self.keeper, method)(*arguments)


class Nodes:
    """Gives keepers, and counts the CPUs that were asked for."""

    def __init__(self, tmp_path: Path) -> None:
        self._folder = tmp_path / "node"
        self.asked: list[int] = []

    @asynccontextmanager
    async def keeper(self, num_cpus: int) -> AsyncGenerator[Here]:
        self.asked.append(num_cpus)
        yield Here(self._folder / str(len(self.asked)))


@pytest.mark.long
async def test_a_trial_is_pruned_after_an_update_and_its_log_comes_home(tmp_path: Path):
    nodes = Nodes(tmp_path)
    seen: list[Progress] = []

    def goes_on(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) < 3

    result = await ClusterRunner(tmp_path, nodes.keeper).run(order_of("cartpole"), goes_on)
    assert result.ended_early and len(seen) == 3
    assert result.agent_steps >= seen[2].agent_steps > seen[0].agent_steps > 0
    assert nodes.asked == [2]
    assert "update" in (tmp_path / "logs" / "t.log").read_text()
    assert list((tmp_path / "node").iterdir()) == []


# `make test` has the reasons in backend/tuning.
@pytest.mark.long
async def test_a_trial_that_is_refused_says_why(tmp_path: Path):
    with pytest.raises(TrialError, match="no-such-game") as failed:
        await ClusterRunner(tmp_path, Nodes(tmp_path).keeper).run(order_of("no-such-game"), lambda _: True)
    assert failed.value.refused
    assert "no-such-game" in (tmp_path / "logs" / "t.log").read_text()


async def test_a_trial_that_is_cancelled_has_gone_with_all_its_processes(tmp_path: Path):
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    begun = asyncio.Event()
    runner = ClusterRunner(tmp_path, Nodes(tmp_path).keeper)
    task = asyncio.ensure_future(runner.run(order_of("cartpole"), lambda _progress: begun.set() or True))
    await asyncio.wait_for(begun.wait(), 120)
    family = [child for child in psutil.Process(os.getpid()).children(recursive=True) if child not in before]
    assert len(family) > 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert psutil.wait_procs(family, timeout=WAIT_SECONDS)[1] == []


class Lost:
    """A node that is lost while a trial runs there."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def call(self, method: str, *_arguments: Any) -> Any:
        if method == "run":
            await asyncio.Event().wait()
        raise self._error


@pytest.mark.parametrize("error", [AwayError("away"), ClusterError("the node is gone")])
async def test_a_lost_trial_is_begun_anew_and_fails_when_that_goes_on(tmp_path: Path, error: Exception):
    asked: list[int] = []

    @asynccontextmanager
    async def keeper(num_cpus: int) -> AsyncGenerator[Lost]:
        asked.append(num_cpus)
        yield Lost(error)

    with pytest.raises(TrialError, match=str(error)) as failed:
        await ClusterRunner(tmp_path, keeper).run(order_of("cartpole"), lambda _: True)
    assert len(asked) == MAX_LOSSES and not failed.value.refused


async def test_a_trial_that_waits_for_a_node_is_cancelled_at_once(tmp_path: Path):
    called: list[str] = []
    asked = asyncio.Event()

    class Full:
        async def call(self, method: str, *_arguments: Any) -> Any:
            called.append(method)
            if method == "progress":
                asked.set()
            await asyncio.Event().wait()

    @asynccontextmanager
    async def keeper(_num_cpus: int) -> AsyncGenerator[Full]:
        yield Full()

    task = asyncio.ensure_future(ClusterRunner(tmp_path, keeper).run(order_of("cartpole"), lambda _: True))
    await asyncio.wait_for(asked.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert "cancel" not in called


def test_as_many_trials_at_once_as_nodes_have_room_for_each_whole():
    assert parallel_on([4, 3, 1], 1) == 3
    assert parallel_on([4, 3, 1], 2) == 2
    assert parallel_on([1], 4) == 1
