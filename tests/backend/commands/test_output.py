"""Output of commands: a reader that leaves, answers as JSON, errors of a browser of its own."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attract.commands.json_output import MAX_ERROR_LENGTH, answer_to, is_wanted, json_text
from attract.commands.output import (
    AGENT_VARIABLES,
    CommandConsole,
    GuardedOutput,
    is_agent,
    is_watched,
    print_table,
    say_next,
)
from attract.errors import ConfigurationError, FederationError, GameError, LearnerError, QueryError
from attract.schema.answers import HealthAnswer, ImitateAnswer
from attract_command import AttractCommand
from known_runs import run_on_disk


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
    assert not is_watched({"AI_AGENT": "some-agent"})


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_an_agent_is_known_by_each_variable(name: str) -> None:
    assert is_agent({name: "1"}) and is_agent({name: "name@2"})
    assert not any(is_agent({name: unset}) for unset in ("", "0", "false"))
    # In the terminal of an editor a person types as well.
    assert not is_agent({"CURSOR_TRACE_ID": "1", "REPL_ID": "1", "TERM": "xterm"})


def in_terminal(*words: str, **variables: str) -> str:
    """What a command writes to a terminal, as it is sent."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    command = [sys.executable, "-m", "attract", *words]
    subprocess.run(command, stdout=secondary, stderr=secondary, env=environment, check=False, timeout=60)
    os.close(secondary)
    text = b""
    with contextlib.suppress(OSError):
        while part := os.read(primary, 65_536):
            text += part
    os.close(primary)
    return text.decode().replace("\r", "")


def test_an_agent_gets_plain_lines_where_a_person_gets_a_coloured_table(tmp_path: Path) -> None:
    run_on_disk(tmp_path, "first")
    words = ("runs", "--runs-dir", str(tmp_path))
    person, agent = in_terminal(*words), in_terminal(*words, CLAUDECODE="1")
    assert "\x1b[" in person and "\x1b" not in agent
    assert re.search(r"^first  \S", agent, re.MULTILINE)
    refused = in_terminal("check", "no-such-game", AI_AGENT="some-agent")
    assert refused.startswith("error: ") and "\x1b" not in refused


def test_a_table_for_an_agent_has_a_line_for_each_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEMINI_CLI", "1")
    table = Table("name", "value", title="Scores")
    table.add_row("[red]a[/]", Text("[1]"))
    table.add_row("b" * 200, "")
    print_table(CommandConsole(), table)
    say_next(CommandConsole(), "attract check [a].ts")
    lines = ["Scores", "name  value", "a  [1]", "b" * 200, "next: attract check [a].ts"]
    assert capsys.readouterr().out.splitlines() == lines


def test_a_person_is_told_no_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    say_next(CommandConsole(), "attract check a.ts")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("check snake --json", True),
        ("check --json=true snake", True),
        ("train snake --json-lines", True),
        ("check --json=false snake", False),
        ("check snake", False),
        ("check -- --json", False),
        ("check --jsonish", False),
    ],
)
def test_json_is_wanted_by_its_options_alone(words: str, wanted: bool) -> None:
    assert is_wanted(words.split()) is wanted


def test_an_answer_is_one_line_of_ascii_and_valid_json() -> None:
    text = json_text(HealthAnswer(url="\x9b31m\n\u2028", ok=False, problem=None))
    assert text.isascii() and "\n" not in text
    assert json.loads(text)["url"] == "\x9b31m\n\u2028"
    metrics = {"a": float("nan"), "b": float("-inf"), "c": 3.0, "d": 0.5, "e": 1e300}
    answer = ImitateAnswer(
        run_id="r",
        demonstrations=1,
        steps=1,
        return_mean=float("inf"),
        policy_version=0,
        wall_seconds=2.0,
        export="e",
        metrics=metrics,
    )
    assert '"c":3,"d":0.5' in json_text(answer)
    found = json.loads(json_text(answer), parse_constant=pytest.fail)
    assert found["metrics"] == {"a": None, "b": None, "c": 3, "d": 0.5, "e": 1e300}
    assert found["return_mean"] is None


def test_an_error_has_its_code_its_place_and_what_to_do() -> None:
    given = ConfigurationError("must be 1", setting="--seed", fix="--seed 1")
    answer = answer_to(given, 2)
    assert (answer.error, answer.code, answer.setting) == ("must be 1", "configuration", "--seed")
    assert (answer.fix, answer.exit_code) == ("--seed 1", 2)
    # The first of several settings; without a fix of its own, that of its kind.
    several = answer_to(ConfigurationError("a, b", problems=[("ppo.gamma", "a"), ("seed", "b")]), 2)
    assert several.setting == "ppo.gamma" and "help" in several.fix
    assert answer_to(QueryError("no field", 3), 2).error == "character 4: no field"
    assert answer_to(GameError("hang", "it never came back"), 1).code == "game-hang"
    assert answer_to(FederationError("gone"), 1).code == "federation"
    assert "attract doctor" in answer_to(LearnerError("gone"), 1).fix


def test_errors_that_are_not_ours_have_a_code_too() -> None:
    assert answer_to(KeyboardInterrupt(), 130).code == "interrupted"
    full = answer_to(OSError(28, "No space left on device", "a.json"), 1)
    assert full.code == "file-system" and "a.json" in full.error
    assert answer_to(ZeroDivisionError("by zero"), 1).code == "internal"


def test_a_long_error_is_cut() -> None:
    answer = answer_to(ConfigurationError("x" * 9_000, setting="y" * 9_000, fix="z" * 9_000), 2)
    assert [len(text or "") for text in (answer.error, answer.setting, answer.fix)] == [MAX_ERROR_LENGTH] * 3
    assert answer.error.endswith("...")


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /bin/true")


def test_a_browser_that_ends_at_once_ends_every_command_in_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no libnss3.so' >&2\nexit 127\n")
    broken.chmod(0o755)
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<script>let n = 0;</script>")
    lines = [
        ("/bin/true", ["train", "cartpole", "--headless"], "/bin/true ended at once (exit code 0)"),
        (str(broken), ["check", "cartpole"], "broken ended at once (exit code 127): no libnss3.so"),
        (str(broken), ["look", str(tmp_path / "page")], "(exit code 127): no libnss3.so"),
        (str(broken), ["probe", str(tmp_path / "page")], "(exit code 127): no libnss3.so"),
    ]
    commands = [
        AttractCommand(*words, runs_dir=tmp_path / str(number), environment={"ATTRACT_CHROMIUM": program})
        for number, (program, words, _) in enumerate(lines)
    ]
    for command, (_, words, said) in zip(commands, lines, strict=True):
        outcome = command.wait(60)
        text = outcome.stdout + outcome.stderr
        assert (outcome.code, text.count("ATTRACT_CHROMIUM: ")) == (2, 1), (words, text)
        assert said in text and "--disable" not in text and "Traceback" not in text
