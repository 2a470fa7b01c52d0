"""`attract join` in real Chromium: turned away with the reason, through a killed trainer, home in the end."""

import json
import secrets
import time
from pathlib import Path

import pytest

from attract.learner.checkpoints.checkpoint import versions_in
from attract_command import AttractCommand, Heard
from servers import free_port

TOKEN = secrets.token_hex(32)


def _trainer(port: int, runs_dir: Path, *more: str) -> AttractCommand:
    words = ("train", "cartpole", "--no-headless", "--no-check", "--port", str(port), "--workers", "1")
    environment = {"ATTRACT_WORKER_TOKEN": TOKEN}
    return AttractCommand(*words, "--run-id", "night", *more, runs_dir=runs_dir, environment=environment)


def _updates(runs_dir: Path) -> int:
    return max(versions_in(runs_dir / "night" / "checkpoints"), default=0)


def _agent_steps(runs_dir: Path, version: int) -> int:
    checkpoint = runs_dir / "night" / "checkpoints" / str(version) / "checkpoint.json"
    return json.loads(checkpoint.read_text())["counters"]["agent_steps"]


def _wait_for_updates(runs_dir: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while _updates(runs_dir) < count:
        assert time.monotonic() < deadline, f"not {count} updates within 120 s"
        time.sleep(0.05)


@pytest.mark.long
def test_scale_01_a_fleet_outlives_its_killed_trainer_and_goes_home_by_its_good_bye(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    trainer = _trainer(port, tmp_path, "--resume=auto")
    fleet = AttractCommand(
        *("join", url, "--workers", "1", "--until-gone", "200"),
        runs_dir=tmp_path,
        environment={"ATTRACT_WORKER_TOKEN": TOKEN},
    )
    heard = Heard(fleet)
    try:
        _wait_for_updates(tmp_path, 1)
        stranger = AttractCommand("join", url, "--token", secrets.token_hex(32), runs_dir=tmp_path)
        _wait_for_updates(tmp_path, 2)
        # Defect 2: turned away by the trainer, it ends and says why.
        wrong = stranger.wait()
        assert wrong.code == 2, wrong.stderr
        assert "the token is missing, wrong or expired" in wrong.stderr
        trainer.kill()
        before = _updates(tmp_path)
        assert "refused" in heard.wait_for("trainer away, waiting")
        total = str(_agent_steps(tmp_path, before) + 20_000)
        trainer = _trainer(port, tmp_path, "--resume=auto", "--total-steps", total)
        heard.wait_for("back after")
        outcome = trainer.wait(240)
        assert outcome.code == 0, outcome.stdout + outcome.stderr
        assert _updates(tmp_path) > before
        assert fleet.process.wait(60) == 0, heard.lines
        assert "leaving: the training is done" in heard.wait_for("leaving", 5)
        # Started once more, as a container may be, there is nothing left to do.
        again = _trainer(port, tmp_path, "--resume=auto", "--total-steps", total).wait(60)
        assert (again.code, again.stderr) == (0, "run night has reached its end already\n")
    finally:
        trainer.kill()
        if fleet.process.poll() is None:
            fleet.process.terminate()
            fleet.process.wait(30)
        heard.close()
