"""Trials elsewhere: pruned, refused, lost and cancelled as they are here."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from attract.cluster.trials import MAX_LOSSES, ClusterRunner, TrialKeeper, TrialReport, parallel_on
from attract.errors import ClusterError, TrialError
from attract.settings.run import RunSettings
from attract.tuning.process_runner import TrialOrder, TrialProgress, TrialResult
from waiting import WAIT_SECONDS


def order_of(game: str, **settings: object) -> TrialOrder:
    collection = {"num_workers": 1, "instances_per_worker": 4}
    whole = RunSettings.from_mapping({"total_steps": 1_000_000, "collection": collection, **settings})
    return TrialOrder("t", game, whole.model_dump(mode="json"))


class Here:
    """A keeper in this process, in the place of one elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.keeper = TrialKeeper(folder)
        self.is_killed = False

    async def call(self, method: str, *arguments: Any) -> Any:
        return await getattr(self.keeper, method)(*arguments)

    def kill(self) -> None:
        self.is_killed = True


class Nodes:
    """Starts keepers, and notes what was asked for."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "node"
        self.asked: list[dict[str, int]] = []
        self.trials: list[Here] = []

    def start(self, kind: type, **options: int) -> Here:
        assert kind is TrialKeeper
        self.asked.append(options)
        self.trials.append(self.here())
        return self.trials[-1]

    def here(self) -> Here:
        return Here(self.folder / str(len(self.asked)))


@pytest.mark.long
async def test_a_trial_is_pruned_after_an_update_and_its_log_comes_home(tmp_path: Path):
    nodes = Nodes(tmp_path)
    seen: list[TrialProgress] = []

    def goes_on(progress: TrialProgress) -> bool:
        seen.append(progress)
        return len(seen) < 3

    result = await ClusterRunner(tmp_path, nodes).run(order_of("cartpole"), goes_on)
    assert result.ended_early and len(seen) == 3
    assert result.agent_steps >= seen[2].agent_steps > seen[0].agent_steps > 0
    assert nodes.asked == [{"restarts": MAX_LOSSES - 1, "num_cpus": 2}]
    assert nodes.trials[0].is_killed
    assert "update" in (tmp_path / "logs" / "t.log").read_text()
    assert list((tmp_path / "node").iterdir()) == []


# `make test` has the reasons in backend/tuning.
@pytest.mark.long
async def test_a_trial_that_is_refused_says_why(tmp_path: Path):
    with pytest.raises(TrialError, match="no-such-game") as failed:
        await ClusterRunner(tmp_path, Nodes(tmp_path)).run(order_of("no-such-game"), lambda _: True)
    assert failed.value.refused
    assert "no-such-game" in (tmp_path / "logs" / "t.log").read_text()


async def test_a_trial_that_is_cancelled_has_gone_with_all_its_processes(tmp_path: Path):
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    begun = asyncio.Event()
    runner = ClusterRunner(tmp_path, Nodes(tmp_path))
    task = asyncio.ensure_future(runner.run(order_of("cartpole"), lambda _progress: begun.set() or True))
    await asyncio.wait_for(begun.wait(), 120)
    family = [child for child in psutil.Process(os.getpid()).children(recursive=True) if child not in before]
    assert len(family) > 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert psutil.wait_procs(family, timeout=WAIT_SECONDS)[1] == []


async def test_a_trial_that_ray_has_lost_too_often_fails_and_is_not_refused(tmp_path: Path):
    class Lost(Here):
        async def call(self, method: str, *arguments: Any) -> Any:
            if method == "run":
                await asyncio.Event().wait()
            raise ClusterError("the node is gone")

    class Losing(Nodes):
        def here(self) -> Here:
            return Lost(self.folder)

    nodes = Losing(tmp_path)
    with pytest.raises(TrialError, match="the node is gone") as failed:
        await ClusterRunner(tmp_path, nodes).run(order_of("cartpole"), lambda _: True)
    assert not failed.value.refused
    assert nodes.trials[0].is_killed


async def test_a_trial_that_began_anew_is_told_again_that_it_is_to_end(tmp_path: Path):
    told: list[str] = []
    news = [TrialProgress(1, 1.0, None), TrialProgress(2, 2.0, None)]

    class Forgetful(Here):
        async def call(self, method: str, *arguments: Any) -> Any:
            told.append(method)
            if method == "run":
                await ended.wait()
                return TrialReport("", TrialResult(1.0, 2.0, 2, ended_early=True))
            if method == "end" and told.count("end") == 2:
                ended.set()
            await asyncio.sleep(0)
            return [news.pop(0)] if method == "progress" and news else []

    class Restarting(Nodes):
        def here(self) -> Here:
            return Forgetful(self.folder)

    ended = asyncio.Event()
    asked: list[TrialProgress] = []
    runner = ClusterRunner(tmp_path, Restarting(tmp_path))
    assert (await runner.run(order_of("cartpole"), lambda step: bool(asked.append(step)))).ended_early
    assert told.count("end") == 2 and len(asked) == 1


async def test_a_trial_that_waits_for_a_node_is_cancelled_at_once(tmp_path: Path):
    called: list[str] = []
    asked = asyncio.Event()

    class Waiting(Here):
        async def call(self, method: str, *arguments: Any) -> Any:
            called.append(method)
            if method == "progress":
                asked.set()
            await asyncio.Event().wait()

    class Full(Nodes):
        def here(self) -> Here:
            return Waiting(self.folder)

    task = asyncio.ensure_future(
        ClusterRunner(tmp_path, Full(tmp_path)).run(order_of("cartpole"), lambda _: True)
    )
    await asyncio.wait_for(asked.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert "cancel" not in called


REFUSES = 'import sys; print("error: no such game", file=sys.stderr); sys.exit(2)'
STANDS_STILL = "import time; time.sleep(60)"


def keeper(folder: Path, code: str) -> TrialKeeper:
    folder.mkdir()
    return TrialKeeper(folder, (sys.executable, "-c", code))


async def test_a_trial_that_is_refused_comes_back_as_words(tmp_path: Path):
    report = await keeper(tmp_path / "t", REFUSES).run(TrialOrder("t", "cartpole", {"seed": 1}))
    assert report.result is None and report.is_refused
    assert "no such game" in report.said
    json.dumps([report.log, report.said, report.is_refused])
    assert not (tmp_path / "t").exists()


async def test_a_trial_that_is_cancelled_has_gone_with_its_folder(tmp_path: Path):
    far = keeper(tmp_path / "t", STANDS_STILL)
    running = asyncio.create_task(far.run(TrialOrder("t", "cartpole", {"seed": 1})))
    await asyncio.sleep(0.2)
    await far.cancel()
    await asyncio.wait([running], timeout=10)
    assert running.done() and not (tmp_path / "t").exists()
    assert await far.progress() == []


def test_as_many_trials_at_once_as_nodes_have_room_for_each_whole():
    assert parallel_on([4, 3, 1], 1) == 3
    assert parallel_on([4, 3, 1], 2) == 2
    assert parallel_on([1], 4) == 1
