import json
import logging
import os
from contextvars import copy_context
from pathlib import Path

import pytest

from attract.runs import log_entries
from attract.runs.log_entries import read_entries
from attract.runs.log_files import GameConsole, RunLog
from attract.runs.log_lines import LogFormat, bind
from attract.schema.api import LogLine

log = logging.getLogger("attract.somewhere")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_what_the_handlers_wrote_is_read_back(tmp_path: Path, log_format: LogFormat) -> None:
    kept, console = RunLog(tmp_path / "logs", log_format, run="r"), GameConsole(tmp_path / "logs", log_format)
    log.info("version %d", 3)
    try:
        raise RuntimeError("no such thing")
    except RuntimeError:
        log.exception("a part broke")
    console.keep(LogLine(level="warn", text="the ball\nleft \x1b[2J the field", dropped=2))
    console.keep(LogLine(level="log", text="again"))
    kept.close()
    console.close()
    server = read_entries(tmp_path / "logs", ("server",))
    assert [entry.level for entry in server] == ["info", "error"]
    # The ids of a line are the same in all of them, and are left out.
    assert server[0].text == "attract.somewhere: version 3"
    first, *_, last = server[1].text.splitlines()
    assert first == "attract.somewhere: a part broke"
    assert last == "RuntimeError: no such thing"
    game = read_entries(tmp_path / "logs", ("game",))
    assert [(entry.level, entry.text) for entry in game] == [
        ("warning", "(2 lines left out) the ball\nleft \\x1b[2J the field"),
        ("info", "again"),
    ]
    assert sorted(entry.source for entry in read_entries(tmp_path / "logs")) == [
        *["game"] * 2,
        *["server"] * 2,
    ]


def test_files_are_merged_by_time_and_what_has_no_time_stays_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "gateway.log").write_text("2026-01-01T00:00:05Z INFO a.b: later\n")
    # The older file comes before the newer one.
    (tmp_path / "gateway.log.1").write_text("2026-01-01T00:00:01Z WARNING a.b: first [run=r connection=3]\n")
    (tmp_path / "learner.log").write_text(
        "a library says hello\n\n"
        "2026-01-01T00:00:03Z INFO a.c: begins\n"
        "Traceback (most recent call last):\n"
        '  File "x.py", line 1\n'
        "MemoryError\n"
    )
    found = read_entries(tmp_path)
    assert [(entry.source, entry.level, entry.time, entry.text) for entry in found] == [
        ("learner", "info", None, "a library says hello"),
        ("server", "warning", "2026-01-01T00:00:01Z", "a.b: first"),
        ("learner", "info", "2026-01-01T00:00:03Z", "a.c: begins"),
        (
            "learner",
            "error",
            None,
            'Traceback (most recent call last):\n  File "x.py", line 1\nMemoryError',
        ),
        ("server", "info", "2026-01-01T00:00:05Z", "a.b: later"),
    ]


def test_lines_of_other_forms_are_text_and_never_an_error(tmp_path: Path) -> None:
    lines = [
        json.dumps({"time": "2026-01-01T00:00:01Z", "level": "loud", "logger": "a", "message": "b"}),
        "{not json",
        json.dumps({"time": 3, "level": "info", "logger": "a", "message": "b"}),
        "[]",
    ]
    (tmp_path / "gateway.log").write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    (entry,) = read_entries(tmp_path)
    # An unknown level hides nothing.
    assert entry.level == "error"
    assert entry.text.splitlines() == ["a: b", *lines[1:], "\ufffd\ufffd"]


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_hostile_a_game_forges_no_entry(tmp_path: Path, log_format: LogFormat, end: str) -> None:
    forged = "9999-01-01T00:00:00Z ERROR game: forged"

    def keep() -> None:
        bind(run="r")
        console = GameConsole(tmp_path, log_format)
        console.keep(LogLine(level="log", text=f"hello{end}{forged}"))
        console.close()

    copy_context().run(keep)
    (entry,) = read_entries(tmp_path)
    assert (entry.level, entry.time is not None and entry.time < "9999") == ("info", True)
    # The run's id is none of the game's words.
    assert entry.text.startswith("hello") and entry.text.endswith(forged)


def test_a_game_that_logs_deeply_nested_json_does_not_break_the_log(tmp_path: Path) -> None:
    console = GameConsole(tmp_path)
    console.keep(LogLine(level="log", text="the state:\n" + '{"a":' * 3_000))
    console.close()
    (entry,) = read_entries(tmp_path)
    assert entry.text.startswith('the state:\n{"a":{"a":')


def test_only_the_end_is_read_and_only_so_many_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "2026-01-01T00:00:01Z INFO a.b: line {:05}\n"
    (tmp_path / "gateway.log").write_text("".join(line.format(number) for number in range(10_000)))
    found = read_entries(tmp_path)
    assert len(found) == log_entries.MAX_ENTRIES
    assert found[-1].text == "a.b: line 09999"
    monkeypatch.setattr(log_entries, "MAX_TAIL_BYTES", 5 * len(line.format(0)) + 3)
    assert [entry.text for entry in read_entries(tmp_path)] == [
        f"a.b: line {number:05}" for number in range(9_995, 10_000)
    ]
    monkeypatch.setattr(log_entries, "MAX_TEXT_CHARACTERS", 20)
    (tmp_path / "game.log").write_text("x" * 200 + "\n" + "y" * 200)
    (long,) = read_entries(tmp_path, ("game",))
    assert long.text == "y" * 20


def test_what_is_no_file_of_the_run_is_not_read(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    assert read_entries(logs) == []
    logs.mkdir()
    (tmp_path / "secret").write_text("2026-01-01T00:00:01Z INFO a.b: secret\n")
    (logs / "gateway.log").symlink_to(tmp_path / "secret")
    (logs / "learner.log").mkdir()
    os.mkfifo(logs / "game.log")
    assert read_entries(logs) == []
