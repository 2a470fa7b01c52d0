"""Processes of the benchmarks: their command lines, machines and trainings."""

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from attract.errors import AttractError, ConfigurationError
from attract.learner.process.machine import default_threads
from attract.processes.cores import usable_cores
from attract.settings.run import RunSettings
from attract_benchmarks.harness import command_line, machine
from attract_benchmarks.harness.child import running
from attract_benchmarks.harness.command_line import attract, json_of
from attract_benchmarks.harness.common_work import (
    BATCH_STEPS,
    GAMES,
    QUICK_UPDATES,
    SKIPPED_UPDATES,
    UPDATES,
    baseline_settings,
    cartpole_settings,
    updates_of,
)
from attract_benchmarks.harness.in_subprocess import run_apart
from attract_benchmarks.harness.measure import BenchOptions, Measure, choose
from attract_benchmarks.harness.training import Training, Update, steady_rate

PROGRAM = """
import asyncio, os
from pydantic import BaseModel
from attract_benchmarks.harness.child import questions, say

class Number(BaseModel):
    number: int

async def main():
    async for line in questions():
        asked = Number.model_validate_json(line).number
        if asked < 0:
            os._exit(7)
        say(Number(number=asked * 2))
    open("ended", "w").close()

asyncio.run(main())
"""


class Number(BaseModel):
    number: int


async def test_a_child_answers_in_turn_and_ends_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "doubling_child.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    async with running("doubling_child") as child:
        assert child.pid > 0
        answers = [(await child.ask(Number(number=number), Number)).number for number in (1, 20)]
        assert answers == [2, 40]
    assert (tmp_path / "ended").exists()
    async with running("doubling_child") as child:
        with pytest.raises(RuntimeError, match="expected an answer of doubling_child, it has ended"):
            await child.ask(Number(number=-1), Number)


def program(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_the_last_line_is_read_and_what_is_given_is_on_stdin():
    code = "import sys; print('noise'); print(sys.stdin.read()); print()"
    assert json_of(program(code), '{"a": 1}') == {"a": 1}


def test_a_failure_is_told_with_its_exit_code_and_what_it_said_last():
    code = "import sys; print('{}'); print('no games', file=sys.stderr); sys.exit(3)"
    with pytest.raises(AttractError, match=r"ended with 3:\nno games"):
        json_of(program(code))
    assert json_of(program(code), accepted=(0, 3)) == {}


def test_what_takes_too_long_has_failed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command_line, "RUN_SECONDS", 0.05)
    with pytest.raises(AttractError, match="still ran after"):
        json_of(program("import time; time.sleep(60)"))


def test_attract_is_run_by_this_python_in_that_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []

    def answer(command: list[str], **_more: object) -> dict[str, object]:
        asked.append(command)
        return {}

    monkeypatch.setattr(command_line, "json_of", answer)
    attract("eval", "latest", "--json", runs_dir=tmp_path)
    assert asked == [
        [sys.executable, "-m", "attract", "eval", "latest", "--json", "--runs-dir", str(tmp_path)]
    ]


@pytest.mark.parametrize("environments", [16, 512])
def test_a_baselines_rollout_is_our_batch_however_many_games_share_it(environments: int):
    assert baseline_settings(environments)["n_steps"] * environments == BATCH_STEPS


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_ours_has_the_same_batch_minibatch_and_epochs_and_as_many_games(workers: int):
    given = cartpole_settings(50, num_workers=workers, shared_trunk=True)
    settings = RunSettings.from_mapping({name: value for name, value in given.items() if name != "preset"})
    theirs = baseline_settings()
    assert settings.ppo.batch_segments is not None
    assert settings.ppo.batch_segments * settings.ppo.horizon == BATCH_STEPS
    assert settings.ppo.minibatch_steps == theirs["batch_size"]
    for name in ("n_epochs", "learning_rate", "gamma", "gae_lambda", "clip_range"):
        assert getattr(settings.ppo, name) == theirs[name]
    assert settings.total_steps == 50 * BATCH_STEPS
    assert settings.collection.instances_per_worker is not None
    assert settings.collection.instances_per_worker * workers == GAMES


def test_a_quick_round_still_outlasts_what_is_left_out():
    assert updates_of(BenchOptions()) == UPDATES
    assert updates_of(BenchOptions(quick=True)) == QUICK_UPDATES > SKIPPED_UPDATES + 1


def test_a_function_runs_in_another_process_with_the_learners_threads() -> None:
    both = "__import__('os').getpid(), __import__('torch').get_num_threads()"
    process, threads = run_apart(eval, both)
    assert process != os.getpid()
    assert threads == default_threads()


# `make test` runs a function in another process above.
@pytest.mark.long
def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run_apart(divmod, 1, 0)


def test_a_machine_is_its_cores_and_the_versions_that_decide_the_speed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "PACKAGES", ("numpy", "no_such_package"))
    words = machine.describe_machine().split(", ")
    assert words[0] == f"{usable_cores()} cores"
    assert f"Python {platform.python_version()}" in words
    assert words[-1].startswith("numpy ")


def test_the_code_is_named_by_its_commit_and_without_one_by_its_version(monkeypatch: pytest.MonkeyPatch):
    assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?|version \S+", machine.describe_code())
    monkeypatch.setenv("PATH", "")
    assert machine.describe_code() == f"version {metadata.version('attract-rl')}"


def measure(*names: str, **changes: Any) -> Measure:
    return Measure(names, "about", lambda _options: {}, **changes)


PUBLISH = measure("publish/p50_ms", "publish/p99_ms")
PEER = measure("end_to_end/vs_sb3", needs=("stable_baselines3",), by_default=False)
SCALING = measure("scaling/workers_1", by_default=False)
ALL = (PUBLISH, PEER, SCALING)


def test_what_is_not_asked_for_runs_by_default_and_peers_when_they_are():
    assert choose(ALL, only=(), peers=False) == [PUBLISH]
    assert choose(ALL, only=(), peers=True) == [PUBLISH, PEER]


def test_figures_are_asked_for_by_name_or_by_their_first_part():
    assert choose(ALL, only=("publish/p99_ms",), peers=False) == [PUBLISH]
    assert choose(ALL, only=("scaling", "end_to_end"), peers=False) == [PEER, SCALING]


def test_a_name_that_no_measure_gives_is_refused_with_the_nearest():
    with pytest.raises(ConfigurationError, match="no figure is called 'publsh'") as refused:
        choose(ALL, only=("publsh",), peers=False)
    assert "did you mean 'publish'?" in str(refused.value)


def test_the_first_updates_do_not_count() -> None:
    marks = [(10.0, 100), (11.0, 300), (12.0, 500)]
    assert steady_rate(marks, 0) == 200
    assert steady_rate(marks, 1) == 200
    assert steady_rate([(0.0, 0), *marks], 0) == 500 / 12
    with pytest.raises(RuntimeError, match="expected at least 4 updates, got 3"):
        steady_rate(marks, 2)


def test_a_metric_that_is_missing_in_some_updates_is_averaged_over_the_others() -> None:
    updates = [Update(1.0, 10, {"a": 9.0}), Update(2.0, 20, {"a": 1.0}), Update(3.0, 30, {}),
               Update(4.0, 40, {"a": 3.0})]  # fmt: skip
    training = Training({}, updates)
    assert training.mean("a", 1) == 2.0
    assert training.mean("b", 0) == 0.0
    assert training.steady_rate(1) == 10.0
