"""Output whose reader goes away: one call, and nothing more is said or raised."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from attract.commands.output import GuardedOutput, Unread, is_watched


@pytest.fixture
def pipe() -> tuple[int, IO[str]]:
    reading, writing = os.pipe()
    return reading, os.fdopen(writing, "w", buffering=1)


def test_a_reader_s_leaving_is_told_once_and_the_rest_is_let_go(pipe: tuple[int, IO[str]]) -> None:
    reading, stream = pipe
    output, left = GuardedOutput(stream), list[str]()
    output.when_gone(lambda: left.append("gone"))
    console = Console(file=output, width=40)  # type: ignore[arg-type]
    console.print("first")
    assert os.read(reading, 100) == b"first\n"
    assert left == [] and not output.is_gone
    os.close(reading)
    for _ in range(3):
        console.print("more")
    assert left == ["gone"] and output.is_gone
    # What is left in the buffers goes nowhere, without a word.
    stream.close()


def test_a_reader_that_has_left_already_is_told_at_once(pipe: tuple[int, IO[str]]) -> None:
    reading, stream = pipe
    output, left = GuardedOutput(stream), list[str]()
    os.close(reading)
    output.write("a\n")
    output.flush()
    output.when_gone(lambda: left.append("gone"))
    assert left == ["gone"]
    stream.close()


def test_it_is_a_terminal_where_the_stream_is_one() -> None:
    with Path(os.devnull).open("w") as stream:
        assert GuardedOutput(stream).isatty() is False


@pytest.mark.parametrize("words", ["bench --list", "train --help"])
def test_a_command_whose_answer_nobody_reads_ends_without_a_traceback(words: str) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "attract", *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    errors = command.stderr.read().decode()
    command.stderr.close()
    assert (command.wait(60), errors) == (141, "")


def test_what_nobody_reads_is_not_kept() -> None:
    stream = Unread()
    assert stream.write("words") == 5 and stream.getvalue() == ""


@pytest.mark.parametrize(
    ("is_terminal", "ci", "expected"),
    [
        (True, None, True),
        (True, "false", True),
        (True, "true", False),
        (True, "1", False),
        (False, None, False),
    ],
)
def test_a_person_watches_a_terminal_that_is_no_ci_service_s(
    is_terminal: bool, ci: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    assert is_watched({} if ci is None else {"CI": ci}) is expected
