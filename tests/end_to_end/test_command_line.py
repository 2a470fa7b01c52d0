"""The command as a shell sees it: exit codes of real ends, and that nothing is left behind."""

from pathlib import Path

import psutil
import pytest

from attract_command import AttractCommand, run_attract
from waiting import WAIT_SECONDS

TRAIN = ("train", "cartpole", "--workers", "1")


@pytest.mark.long
def test_a_reader_that_leaves_ends_the_run_in_order(tmp_path: Path) -> None:
    command = AttractCommand(*TRAIN, "--run-id", "piped", runs_dir=tmp_path, is_forked=False)
    stdout, stderr = command.process.stdout, command.process.stderr
    assert stdout is not None and stderr is not None
    try:
        assert stdout.readline().startswith("dashboard: ")
        for line in stdout:
            if line.startswith("update "):
                break
        family = command.family()
        stdout.close()
        assert command.process.wait(120) == 141
        assert stderr.read() == ""
        stderr.close()
        _gone, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
        assert alive == []
        # As after Ctrl-C.
        assert (tmp_path / "piped" / "export" / "policy.onnx").is_file()
    finally:
        command.kill()


def test_parameters_that_the_game_does_not_have_are_wrong_use_and_leave_no_run(tmp_path: Path) -> None:
    outcome = run_attract("train", "snake", "--parameters", '{"sise": 9}', "--json", runs_dir=tmp_path)
    assert outcome.code == 2, outcome.stderr
    assert "error: parameters.sise: " in outcome.stderr and "did you mean 'size'?" in outcome.stderr
    assert (outcome.json["state"], outcome.json["export"]) == ("failed", None)
    assert "sise" in outcome.json["error"]
    # Who asked for it is on record.
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


# `make test` names a run by its folder in backend/run/test_record.py and test_index.py.
@pytest.mark.long
def test_a_renamed_run_is_the_run_of_its_new_name(trained_cartpole: Path, tmp_path: Path) -> None:
    runs = trained_cartpole
    (runs / "p").rename(runs / "best-one")
    played = run_attract("eval", "latest", "--episodes", "1", "--json", runs_dir=runs)
    assert (played.code, played.json["run_id"]) == (0, "best-one"), played.stderr
    wrote = run_attract("export", "best-one", "--out", str(tmp_path / "out"), runs_dir=runs)
    assert (wrote.code, "run best-one, version" in wrote.stdout) == (0, True), wrote.stderr
    short = (*TRAIN, "--no-check", "--total-steps", "2000")
    on = run_attract(*short, "--initialize-from", "best-one", "--json", runs_dir=runs)
    assert on.code == 0, on.stderr


# `make test` refuses it in backend/run/test_start_checks.py.
@pytest.mark.long
def test_a_refused_device_starts_nothing(tmp_path: Path) -> None:
    outcome = run_attract(
        *TRAIN, "--device", "cuda", runs_dir=tmp_path / "runs", environment={"CUDA_VISIBLE_DEVICES": ""}
    )
    assert (outcome.code, outcome.stdout) == (2, "")
    assert "no CUDA device" in outcome.stderr and "Traceback" not in outcome.stderr
    assert not (tmp_path / "runs").exists()


def test_a_terminated_server_says_so(tmp_path: Path) -> None:
    command = AttractCommand("serve", "--port", "0", runs_dir=tmp_path)
    assert command.process.stderr is not None
    assert command.process.stderr.readline().startswith("dashboard: ")
    assert command.process.stderr.readline().startswith("Ctrl-C")
    command.process.terminate()
    outcome = command.wait(60)
    assert outcome.code == 143, outcome.stderr
