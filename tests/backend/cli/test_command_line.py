"""How the command ends: exit codes, and what is told of an error."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attract import cli
from attract.cli.command_line import COMMANDS
from attract.commands import doctor
from attract.processes.exit_codes import INTERRUPTED, TERMINATED
from attract.processes.interrupt import Terminated


def test_every_command_is_listed_with_its_first_sentence(
    attract: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(COMMANDS) == {name for name in cli.app if not name.startswith("-")}
    assert attract("--help") == 0
    output = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert re.search(rf"^│ {name} +{str(command.__doc__)[:30]}", output, re.MULTILINE), name


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
