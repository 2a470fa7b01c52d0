"""Cells as they are launched: `torchrun` around `attract train`, and one of them killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from attract_command import AttractCommand
from servers import free_port


def weights(runs_dir: Path, run_id: str) -> dict[int, str]:
    """Hash of the weights of each version that is kept; not of those that were set aside."""
    documents = (runs_dir / run_id / "checkpoints").glob("*/checkpoint.json")
    return {
        int(path.parent.name): json.loads(path.read_text())["weights_sha256"]
        for path in documents
        if path.parent.name.isdigit()
    }


@pytest.mark.long
def test_torchrun_trains_in_two_cells_as_one_run(tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    place = ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    train = ["train", "cartpole", "--headless", "--workers", "1", "--run-id", "both"]
    train += ["--instances", "16", "--total-steps", "8192"]
    done = subprocess.run(
        [*launcher, *place, "-m", "attract", *train, "--json"],
        env={**os.environ, "ATTRACT_RUNS_DIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # One of them speaks.
    (line,) = done.stdout.strip().splitlines()
    result = json.loads(line)
    assert result["run_id"] == "both" and result["agent_steps"] >= 8192
    first, second = weights(tmp_path, "both"), weights(tmp_path, "both.cell-1")
    assert first == second and len(first) >= 2
    # Steps of both: 16 games of 32 steps each.
    assert result["agent_steps"] / result["updates"] == 2 * 16 * 32


@pytest.mark.soak
@pytest.mark.parametrize("killed", [0, 1])
def test_D1_a_learner_that_is_killed_is_replaced_and_the_cells_go_on_by_themselves(
    killed: int, tmp_path: Path
) -> None:
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    cells = [
        AttractCommand(
            *("train", "cartpole", "--workers", "1", "--run-id", "both", "--total-steps", "40000"),
            *(() if rank else ("--json", "--json-lines")),
            runs_dir=tmp_path,
            environment={**place, "RANK": str(rank)},
        )
        for rank in range(2)
    ]
    announced: list[int] = []
    said: dict[str, Any] = {}
    stdout = cells[0].process.stdout
    assert stdout is not None
    try:
        for line in stdout:
            said = json.loads(line)
            if "update" not in said:
                break
            announced.append(said["update"])
            if len(announced) == 10:
                learner(cells[killed]).send_signal(signal.SIGKILL)
        codes = [cell.process.wait(60) for cell in cells]
    finally:
        outcomes = [cell.kill() for cell in cells]
    assert codes == [0, 0], outcomes
    first, second = weights(tmp_path, "both"), weights(tmp_path, "both.cell-1")
    assert first == second
    # Nothing that was announced is lost: each update is told of once, in order.
    assert announced == list(range(1, len(announced) + 1)) and said["agent_steps"] >= 40_000


def learner(cell: AttractCommand) -> psutil.Process:
    """The learner's process of a cell."""
    (found,) = [process for process in cell.family() if "attract.learner" in process.cmdline()]
    return found
