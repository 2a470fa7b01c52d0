"""Trials as processes: what they are given, what is read of them, and that none stays."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from attract.errors import TrialError
from attract.runs.archive import RunArchive
from attract.runs.catalogue import RunCatalogue
from attract.settings.given import Layer, join_layers
from attract.settings.run import RunSettings
from attract.tuning.process_runner import ProcessRunner, TrialOrder, TrialProgress, environment_of_trials
from waiting import WAIT_SECONDS


def order_of(game: str, **settings: object) -> TrialOrder:
    whole = RunSettings.from_mapping(
        {"total_steps": 1_000_000, "collection": {"num_workers": 1, "instances_per_worker": 4}, **settings}
    )
    return TrialOrder("t", game, whole.model_dump(mode="json"))


def test_a_trial_has_its_settings_from_its_file_alone_and_serves_no_users():
    given = {
        "PATH": "p",
        "ATTRACT_PPO_GAMMA": "0.5",
        "ATTRACT_LAN": "1",
        "ATTRACT_ADMIN_TOKEN": "secret",
        "ATTRACT_CHROMIUM": "c",
    }
    assert environment_of_trials(given) == {"PATH": "p", "ATTRACT_CHROMIUM": "c"}


async def test_what_is_refused_is_told_with_what_was_said(tmp_path: Path):
    with pytest.raises(TrialError, match="no-such-game") as failed:
        await ProcessRunner(tmp_path).run(order_of("no-such-game"), lambda _progress: True)
    assert failed.value.refused


async def test_a_trial_ends_early_when_it_is_told_and_is_a_run_among_the_others(tmp_path: Path):
    seen: list[TrialProgress] = []

    def goes_on(progress: TrialProgress) -> bool:
        seen.append(progress)
        return len(seen) < 3

    study = tmp_path / "tuning" / "s"
    result = await ProcessRunner(study, kept_in=tmp_path).run(order_of("cartpole"), goes_on)
    assert result.ended_early
    assert result.agent_steps >= seen[2].agent_steps > seen[0].agent_steps > 0
    assert result.score is not None
    assert list((study / "runs").glob("*/config.yaml")) == []
    catalogue = RunCatalogue(RunArchive(tmp_path), lambda _game: join_layers(Layer({})))
    (run,) = catalogue.list("is:all tag:s").runs
    assert (run.name, run.agent_steps, run.archived) == ("t", result.agent_steps, True)
    assert catalogue.list().runs == []
    assert not (tmp_path / run.run_id / "checkpoints").exists()


@pytest.mark.long
async def test_a_trial_that_is_cancelled_has_gone_with_all_its_processes(tmp_path: Path):
    begun = asyncio.Event()
    # These are of other tests of this process, and stay.
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    task = asyncio.ensure_future(
        ProcessRunner(tmp_path).run(order_of("cartpole"), lambda _progress: begun.set() or True)
    )
    await asyncio.wait_for(begun.wait(), 120)
    family = [child for child in psutil.Process(os.getpid()).children(recursive=True) if child not in before]
    assert len(family) > 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
    assert alive == []
