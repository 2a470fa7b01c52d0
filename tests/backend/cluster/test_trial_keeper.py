"""The far half of a runner of trials: what comes back is plain data, and nothing of a trial is left."""

import asyncio
import json
import sys
from pathlib import Path

from attract.cluster.trial_keeper import TrialKeeper
from attract.tuning.runner import TrialOrder

REFUSES = 'import sys; print("error: no such game", file=sys.stderr); sys.exit(2)'
STANDS_STILL = "import time; time.sleep(60)"
ORDER = TrialOrder("t", "cartpole", {"seed": 1})


def keeper(folder: Path, code: str) -> TrialKeeper:
    folder.mkdir()
    return TrialKeeper(folder, (sys.executable, "-c", code))


async def test_a_trial_that_is_refused_comes_back_as_words(tmp_path: Path):
    report = await keeper(tmp_path / "t", REFUSES).run(ORDER)
    assert report.result is None and report.is_refused
    assert "no such game" in report.said
    json.dumps([report.log, report.said, report.is_refused])
    assert not (tmp_path / "t").exists()


async def test_a_trial_that_is_cancelled_has_gone_with_its_folder(tmp_path: Path):
    far = keeper(tmp_path / "t", STANDS_STILL)
    running = asyncio.create_task(far.run(ORDER))
    await asyncio.sleep(0.2)
    await far.cancel()
    await asyncio.wait([running], timeout=10)
    assert running.done() and not (tmp_path / "t").exists()
    assert await far.progress() == []
