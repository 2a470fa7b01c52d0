"""Ctrl-C: the first ends in order with a policy and no process left; a stopped run goes on as `latest`."""

import json
import time
from pathlib import Path

import psutil
import pytest

from attract_command import AttractCommand, Heard, run_attract
from waiting import WAIT_SECONDS

ARGUMENTS = ("train", "cartpole", "--headless", "--workers", "2", "--run-id", "stopped", "--json")


def _wait_for_updates(runs_dir: Path, count: int) -> None:
    deadline = time.monotonic() + 90
    checkpoints = runs_dir / "stopped" / "checkpoints"
    while len(list(checkpoints.glob("*/checkpoint.json"))) <= count:
        assert time.monotonic() < deadline, "no updates within 90 s"
        time.sleep(0.05)


def test_ctrl_c_saves_exports_exits_130_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    command = AttractCommand(*ARGUMENTS, runs_dir=tmp_path, is_forked=False)
    _wait_for_updates(tmp_path, 3)
    family = command.family()
    assert any("chrom" in process.name() for process in family)
    command.interrupt()
    outcome = command.wait(60)
    assert outcome.code == 130, outcome.stderr
    assert outcome.json["state"] == "stopped"
    assert outcome.json["updates"] >= 3
    assert (Path(outcome.json["export"]) / "policy.onnx").is_file()
    assert_all_end(family)

    total = outcome.json["agent_steps"] + 2_000
    goes_on = ("train", "cartpole", "--run-id", "latest", "--resume", "--json", "--total-steps")
    again = run_attract(*goes_on, str(total), runs_dir=tmp_path)
    assert again.code == 0, again.stderr
    assert again.json["run_id"] == "stopped"
    assert again.json["agent_steps"] >= total
    assert again.json["updates"] > outcome.json["updates"]
    newest = json.loads(
        (tmp_path / "stopped" / "checkpoints" / str(again.json["updates"]) / "checkpoint.json").read_text()
    )
    assert newest["counters"]["agent_steps"] == again.json["agent_steps"]


def assert_all_end(family: list[psutil.Process]) -> None:
    _gone, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
    assert alive == []


# `make test` interrupts a training below, and another kind of work in backend/processes/test_link.py.
@pytest.mark.long
def test_ctrl_c_ends_an_evaluation_with_the_answer_over_the_episodes_so_far(tmp_path: Path) -> None:
    trained = run_attract(*ARGUMENTS, "--total-steps", "5000", runs_dir=tmp_path)
    assert trained.code == 0, trained.stderr
    words = ("eval", "stopped", "--episodes", "100000", "--json")
    command = AttractCommand(*words, runs_dir=tmp_path, has_own_browser=True)
    heard = Heard(command)
    # On a slow machine no episode is over when it first says how far it is.
    assert "of 100000 episodes after" in heard.wait_for(" s left")
    family = command.family()
    command.interrupt()
    assert command.process.stdout is not None
    answer = json.loads(command.process.stdout.read())
    assert command.process.wait(60) == 130
    heard.close()
    assert 0 < answer["episodes"] < 100_000
    assert answer["return"] == answer["return_mean"] > 5
    assert answer["policy_version"] == trained.json["policy_version"]
    assert answer["learned"] in (True, False)
    assert_all_end(family)


# `make test` interrupts one that has episodes, above.
@pytest.mark.long
def test_ctrl_c_before_an_episode_has_ended_is_an_error_with_a_fix(tmp_path: Path) -> None:
    trained = run_attract(*ARGUMENTS, "--total-steps", "3000", runs_dir=tmp_path)
    assert trained.code == 0, trained.stderr
    command = AttractCommand("eval", "stopped", "--json", runs_dir=tmp_path, has_own_browser=True)
    deadline = time.monotonic() + 90
    while not any("chrom" in process.name() for process in command.family()):
        assert time.monotonic() < deadline, "no browser within 90 s"
        time.sleep(0.02)
    command.interrupt()
    outcome = command.wait(60)
    assert outcome.code == 130, outcome.stderr
    assert outcome.json["code"] == "interrupted"
    assert outcome.json["exit_code"] == 130
    assert outcome.json["fix"]


@pytest.mark.long
def test_the_second_ctrl_c_ends_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    command = AttractCommand(*ARGUMENTS, runs_dir=tmp_path, is_forked=False)
    _wait_for_updates(tmp_path, 1)
    family = command.family()
    deadline = time.monotonic() + 30
    while command.process.poll() is None and time.monotonic() < deadline:
        # Those that arrive together are one.
        command.interrupt()
        time.sleep(0.2)
    outcome = command.wait(30)
    assert outcome.code == 130, outcome.stderr
    assert_all_end(family)


@pytest.mark.long
def test_D3_an_existing_run_is_never_overwritten_without_force(tmp_path: Path) -> None:
    first = run_attract(*ARGUMENTS, "--total-steps", "5000", runs_dir=tmp_path)
    assert first.code == 0, first.stderr
    export = Path(first.json["export"]) / "policy.onnx"
    before = export.read_bytes()
    second = run_attract(*ARGUMENTS, "--total-steps", "5000", runs_dir=tmp_path)
    assert second.code == 2
    assert "--force" in second.stderr
    assert export.read_bytes() == before
