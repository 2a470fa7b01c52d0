"""Commands and the JSON that they print."""

import sys
from pathlib import Path

import pytest

from attract.errors import AttractError
from attract_benchmarks.harness import command_line
from attract_benchmarks.harness.command_line import attract, json_of


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
