"""A run's folder from elsewhere: whatever file of it is damaged, each command names that file."""

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attract.commands.evaluate import EvaluateOptions
from attract.commands.evaluating import evaluate_run
from attract.commands.export import ExportOptions, export_run
from attract.commands.report import pack_report
from attract.commands.training import finished_code, game_of
from attract.errors import AttractError
from attract.learner.checkpoints.checkpoint import load_checkpoint
from attract.runs.archive import RunArchive
from attract.runs.checkpoint_document import sealed
from attract.runs.index import RunIndex
from attract.server.app import build_app
from attract.settings.run import ServerSettings
from attract_command import run_attract
from gateway_world import start_run
from zygote import start_learner

SECONDS = 30.0
"""Longer than any refusal takes on a busy machine: it is to be seen that nothing hangs."""
RUN = "damaged"

Damage = Callable[[Path], object]


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:30])


DAMAGES: dict[str, Damage] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": _cut,
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "nested": lambda path: path.write_bytes(b"[" * 200_000),
    "wrong type": lambda path: path.write_bytes(b"[1, 2]"),
    "wrong fields": lambda path: path.write_bytes(
        b'{"game": 3, "settings": [], "reference": 4, "files": 7, "policy_version": "x", "version": "y"}'
    ),
    "pipe": _pipe,
    "link": _elsewhere,
}
READ_BY_ALL = ("config.yaml", "game.json", "metrics.db")
SHORT = ("garbage", "wrong fields", "link")
EACH_DAMAGE = pytest.mark.parametrize(
    "damage", [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.long]) for name in DAMAGES]
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that a real learner has finished, with its newest checkpoint alone."""
    runs_dir = tmp_path_factory.mktemp("trained")
    given = ("--headless", "--total-steps", "600", "--no-check", "--workers", "1", "--run-id", RUN)
    done = run_attract("train", "cartpole", *given, "--port", "0", runs_dir=runs_dir)
    assert done.code == 0, done.stderr
    folder = runs_dir / RUN
    newest = (folder / "latest").readlink()
    for checkpoint in (folder / "checkpoints").iterdir():
        if checkpoint.name != newest.name:
            shutil.rmtree(checkpoint)
    (folder / "best").unlink(missing_ok=True)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(finished, tmp_path / "runs" / RUN, symlinks=True)


def server(run: Path) -> ServerSettings:
    return ServerSettings(runs_dir=run.parent, project_dir=run.parent.parent, port=0)


def checkpoint(run: Path) -> Path:
    return run / "checkpoints" / (run / "latest").readlink().name


async def resumed(run: Path) -> Any:
    service = build_app(server(run), start_learner).state.service
    try:
        return await start_run(service, "", {"total_steps": 2000}, run_id=RUN, resume=True)
    finally:
        await service.close()


async def evaluated(run: Path) -> int:
    return await evaluate_run(RUN, EvaluateOptions(episodes=1, json_output=True), server(run))


COMMANDS: dict[str, Callable[[Path], Any]] = {
    "view": lambda run: RunArchive(run.parent).view(RUN),
    "resume": lambda run: asyncio.run(asyncio.wait_for(resumed(run), SECONDS)),
    "export": lambda run: asyncio.run(
        asyncio.wait_for(export_run(RUN, ExportOptions(out=run.parent.parent / "out"), server(run)), SECONDS)
    ),
    "eval": lambda run: asyncio.run(asyncio.wait_for(evaluated(run), SECONDS)),
}


def refusal(command: Callable[[], Any]) -> AttractError:
    with pytest.raises(AttractError) as refused:
        command()
    return refused.value


def check_sentence(error: AttractError, name: str) -> None:
    text = str(error)
    assert name in text, text
    assert error.exit_code in (1, 2)
    assert "Error:" not in text and "Traceback" not in text, text
    assert len(text) < 1000, text


@EACH_DAMAGE
@pytest.mark.parametrize("name", READ_BY_ALL)
def test_damaged_is_a_sentence_with_the_file_s_name_in_every_command(run: Path, name: str, damage: str):
    DAMAGES[damage](run / name)
    # An empty file is an empty database: nothing was kept of the run, and what was learned can be played.
    is_empty = (name, damage) == ("metrics.db", "emptied")
    said = RUN if is_empty else name
    for command in [COMMANDS["view"]] if is_empty else COMMANDS.values():
        check_sentence(refusal(lambda command=command: command(run)), said)
    if name == "config.yaml":
        check_sentence(refusal(lambda: game_of(run.parent, RUN)), name)
    listed = [row.summary for row in RunIndex(RunArchive(run.parent)).runs().runs]
    if said == "metrics.db":
        assert [row.state for row in listed] == ["damaged"] and said in str(listed[0].error)
    packed, _ = pack_report(RUN, run.parent, run.parent / "report.zip", {})
    assert packed.is_file()


@EACH_DAMAGE
@pytest.mark.parametrize("name", ["checkpoint.json", "policy.safetensors", "optimizer.safetensors"])
def test_a_damaged_checkpoint_is_named_with_its_file(run: Path, name: str, damage: str):
    folder = checkpoint(run)
    DAMAGES[damage](folder / name)
    check_sentence(refusal(lambda: load_checkpoint(folder)), name)
    if name == "checkpoint.json":
        check_sentence(refusal(lambda: finished_code(run.parent, RUN, {"total_steps": 600})), name)


SEALED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "files": lambda document: document.pop("files"),
    "files are a number": lambda document: document.update(files=7),
    "a file is a number": lambda document: document.update(files={"policy.safetensors": 7}),
    "a file is too large": lambda document: document["files"]["policy.safetensors"].update(bytes=10**13),
    "policy_version": lambda document: document.update(policy_version="1" * 5000),
    "counters": lambda document: document.update(counters="x"),
    "policies": lambda document: document.update(policies={"a": 1}),
    "metrics": lambda document: document.update(metrics=[]),
}


def forge(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = checkpoint(run) / "checkpoint.json"
    document = json.loads(path.read_text())
    change(document)
    document.pop("sha256")
    version = document.pop("policy_version")
    whole = sealed(0, {**document, "policy_version": version})
    path.write_text(json.dumps(whole))


@pytest.mark.parametrize("change", SEALED)
def test_a_checkpoint_that_a_stranger_sealed_is_checked_in_its_parts(run: Path, change: str):
    forge(run, SEALED[change])
    check_sentence(refusal(lambda: load_checkpoint(checkpoint(run))), "checkpoint.json")


@pytest.mark.parametrize("change", ["files", "counters"])
def test_export_ends_at_the_first_failure_of_a_checkpoint(run: Path, change: str):
    forge(run, SEALED[change])
    error = refusal(lambda: COMMANDS["export"](run))
    assert "checkpoint.json" in str(error) and "3 times in a row" not in str(error), error


@pytest.mark.parametrize("damage", ["garbage", "cut", "pipe", "link", "emptied"])
def test_a_damaged_game_is_named(run: Path, damage: str):
    DAMAGES[damage](run / "game.js")
    check_sentence(refusal(lambda: COMMANDS["export"](run)), "game.js")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_policy_document_is_named(run: Path, damage: str):
    DAMAGES[damage](run / "export" / "policy.json")
    check_sentence(refusal(lambda: COMMANDS["view"](run)), "policy.json")


def test_a_view_that_computes_for_ever_is_no_table(run: Path):
    with sqlite3.connect(run / "metrics.db") as database:
        database.execute("DROP TABLE facts")
        database.execute(
            "CREATE VIEW facts AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT 'view' AS key, max(i) AS data FROM n"
        )
    database.close()
    check_sentence(refusal(lambda: COMMANDS["view"](run)), "metrics.db")


@pytest.mark.parametrize("kept", ["", "[" * 200_000, "[]", '{"run_id": 3}', "{", "9" * 5000])
def test_what_the_database_keeps_is_checked(run: Path, kept: str):
    with sqlite3.connect(run / "metrics.db") as database:
        database.execute("UPDATE facts SET data = ?", (kept,))
    database.close()
    check_sentence(refusal(lambda: COMMANDS["view"](run)), "metrics.db")
    (row,) = (row.summary for row in RunIndex(RunArchive(run.parent)).runs().runs)
    assert row.state == "damaged" and row.error is not None and "metrics.db" in row.error


def test_pipes_and_links_among_logs_and_locks_hold_nothing_up(run: Path):
    os.mkfifo(run / ".lock.fifo")
    (run / ".lock").unlink(missing_ok=True)
    (run / ".lock.fifo").rename(run / ".lock")
    shutil.rmtree(run / "logs")
    (run / "logs").symlink_to("/var/log")
    assert RunIndex(RunArchive(run.parent)).runs().runs[0].summary.state == "finished"
    packed, _ = pack_report(RUN, run.parent, run.parent / "report.zip", {})
    assert packed.is_file()
    check_sentence(refusal(lambda: COMMANDS["resume"](run)), "logs")
    (run / "logs").unlink()
    check_sentence(refusal(lambda: COMMANDS["resume"](run)), ".lock")


def test_the_command_line_says_it_in_one_line(run: Path):
    (run / "config.yaml").write_bytes(b"")
    done = run_attract("train", "--resume", "--run-id", RUN, "--headless", runs_dir=run.parent)
    assert done.code == 1
    assert "config.yaml: is empty" in done.stderr and "Traceback" not in done.stderr
