"""How the command ends: exit codes, and what is told of an error."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attract import cli
from attract.cli import COMMANDS
from attract.commands import doctor
from attract.commands.json_output import ErrorAnswer
from attract.processes.exit_codes import INTERRUPTED, TERMINATED
from attract.processes.interrupt import Terminated
from attract.runs.directory import RunDirectory
from attract.schema.answers import DoctorAnswer, NewAnswer, ReportAnswer, RunMetrics
from attract.schema.run_list import RunList


def test_every_command_is_listed_with_its_first_sentence(
    attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(COMMANDS) == {name for name in cli.app if not name.startswith("-")}
    assert attract("--help") == 0
    output = capsys.readouterr().out
    for name, path in COMMANDS.items():
        module, _, function = path.partition(":")
        docstring = inspect.getdoc(getattr(importlib.import_module(module), function))
        assert cli.app[name].help == docstring
        assert re.search(rf"^│ {name} +{str(docstring)[:30]}", output, re.MULTILINE), name


WITHOUT = {
    "--help": ("attract.settings", "attract.commands.train", "pydantic", "playwright", "torch", "fastapi"),
    "train --help": ("attract.run", "attract.server", "playwright", "torch", "fastapi", "numpy"),
    "imitate --help": ("attract.learner", "attract.server", "playwright", "torch"),
    "eval --help": ("fastapi", "torch"),
    "train cartpole --no-such-flag": ("attract.run", "playwright", "torch", "fastapi"),
}
"""Modules that these do without, since each takes a tenth of a second or more to import."""


@pytest.mark.parametrize("words", WITHOUT)
def test_help_and_wrong_usage_import_nothing_that_takes_long(words: str) -> None:
    script = "import sys; from attract.cli import main\ntry: main()\nfinally: print('\\n', *sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", script, *words.split()], capture_output=True, text=True, check=False
    )
    imported = set(ended.stdout.splitlines()[-1].split())
    assert "attract.commands.help" in imported
    assert imported.isdisjoint(WITHOUT[words])


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), INTERRUPTED), (Terminated(), TERMINATED)],
)
def test_a_signal_has_its_exit_code(
    error: BaseException, code: int, attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine() -> None:
        raise error

    monkeypatch.setattr(doctor, "examine", examine)
    assert attract("doctor") == code


WRONG = [
    ("train", "GAME is missing; attract train --help shows all"),
    ("train --resume", "which run?"),
    ("train --resume --run-id gone", "there is no run gone in "),
    ("train cartpole --seed -1", "--seed: must be a whole number, at least 0 (got -1)"),
    ("train cartpole --ppo.gamma 1.5", "--ppo.gamma: must be a number from 0 to 1 (got 1.5)"),
    ("train cartpole --ppo 3", "--ppo: has settings of its own: "),
    ("train cartpole --preset nonsense", "--preset: must be default, "),
    ("train cartpole --until-return abc", "--until-return: must be a number, or none (got 'abc')"),
    ("train cartpole --resume --run-id gone", "there is no run gone in "),
    ("train nothere.ts", "there is no file "),
    ("eval gone", "there is no run gone in "),
    ("eval latest", "there is no latest run: "),
    ("export gone --out x", "there is no run gone in "),
    ("serve --port 99999", "--port: must be a whole number from 0 to 65535 (got 99999)"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_what_cannot_be_is_told_in_our_words_and_exits_2(
    attract: Callable[..., object],
    words: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTRACT_RUNS_DIR", str(tmp_path / "runs"))
    assert attract(*words.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ") and expected in output.err
    assert "pydantic" not in output.err and "Traceback" not in output.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("new", "file/mine"),
        ("bench", "--out", "file/b.json"),
        ("results", "--out", "file/results.md"),
        ("report", "first", "--out", "file/r.zip"),
        ("export", "first", "--out", "file/out"),
        ("tune", "cartpole", "--out", "file/best.yaml"),
        ("train", "cartpole", "--runs-dir", "file"),
    ],
    ids=lambda words: words[0],
)
def test_what_cannot_be_written_where_it_was_asked_for_is_a_sentence(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    (tmp_path / "file").touch()
    directory = RunDirectory.create(tmp_path / "runs", "first")
    directory.write_config("cartpole", {})
    directory.close()
    monkeypatch.chdir(tmp_path)
    assert attract(*words) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and "file" in said
    assert "Not a directory" in said or "File exists" in said


# `make test` fills a disk under a run in tests/faults/test_disk_full.py.
@pytest.mark.long
def test_a_full_disk_under_the_output_is_a_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        for command in (["bench", "--list"], ["--help"]):
            ended = subprocess.run(
                [sys.executable, "-m", "attract", *command],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            assert (ended.returncode, ended.stderr) == (1, "error: No space left on device\n")


WITHOUT_JSON = {
    "serve": "it serves until Ctrl-C",
    "join": "it works until the run ends",
    "skill": "it prints a text",
    "cluster": "its processes share the output",
    "results": "it writes files of JSON",
}
"""Commands that have no `--json`, and why."""
WRONG_WITH_JSON = {
    "new": ("full", "already exists"),
    "init": ("nothere.ts", "there is no file "),
    "check": ("nothere.ts", "there is no file "),
    "ci": ("nothere.ts", "there is no file "),
    "difficulty": ("nothere.ts --over size=1,2", "there is no file "),
    "verify": ("nothere.ts x", "there is no file "),
    "look": ("nothere.ts", "there is no "),
    "probe": ("nothere", "nothere"),
    "doctor": ("there", "there"),
    "train": ("nothere.ts", "there is no file "),
    "tune": ("nothere.ts", "there is no file "),
    "imitate": ("nothere.ts", "there is no file "),
    "runs": ("nothing:x", "nothing"),
    "metrics": ("gone", "there is no run gone"),
    "eval": ("gone", "there is no run gone"),
    "match": ("gone random", "there is no run gone"),
    "replay": ("gone --worst", "there is no run gone"),
    "export": ("gone --out x", "there is no run gone"),
    "bench": ("--only nothing", "nothing"),
    "health": ("nothing://here", "nothing"),
    "report": ("gone", "there is no run gone"),
    "rollback": ("gone --to-version 1", "there is no run gone"),
}


def test_each_command_has_json_or_a_reason() -> None:
    with_json = {
        name
        for name in COMMANDS
        if any("--json" in argument.names for argument in cli.app[name].assemble_argument_collection())
    }
    assert with_json == set(WRONG_WITH_JSON)
    assert set(COMMANDS) - with_json == set(WITHOUT_JSON)


@pytest.mark.parametrize("name", WRONG_WITH_JSON)
def test_wrong_input_with_json_is_one_object_with_a_code_and_a_fix(
    name: str,
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTRACT_RUNS_DIR", str(tmp_path / "runs"))
    words, expected = WRONG_WITH_JSON[name]
    for given in (words.split(), ["--no-such-option"], ["--json-lines=maybe"]):
        code = attract(name, *given, "--json")
        printed = capsys.readouterr()
        assert printed.out.count("\n") == 1, printed.out
        answer = json.loads(printed.out)
        if name == "health" and given[0].startswith("nothing"):
            assert (code, answer["ok"]) == (1, False)
            continue
        assert "Traceback" not in printed.err
        assert code == answer["exit_code"] == 2, printed.err
        assert answer.keys() == set(ErrorAnswer.model_fields)
        assert answer["error"] and answer["code"] and answer["fix"]
        if given == words.split():
            assert expected in f"{answer['setting']}: {answer['error']}"
        else:
            assert answer["code"] == "usage"


def test_commands_that_need_no_browser_answer_in_their_schema(
    attract: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    directory = RunDirectory.create(tmp_path / "runs", "first")
    directory.write_config("cartpole", {})
    directory.close()
    answers = {
        "doctor": DoctorAnswer,
        "new mine": NewAnswer,
        "runs is:all": RunList,
        "metrics first": RunMetrics,
        "report first": ReportAnswer,
    }
    for words, model in answers.items():
        attract(*words.split(), "--json")
        printed = capsys.readouterr()
        assert printed.out.count("\n") == 1, printed
        model.model_validate_json(printed.out)


def test_a_fault_of_ours_is_an_object_too(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def examine() -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(doctor, "examine", examine)
    monkeypatch.setattr("sys.argv", ["attract", "doctor", "--json"])
    with pytest.raises(ZeroDivisionError):
        cli.main()
    assert json.loads(capsys.readouterr().out)["code"] == "internal"
