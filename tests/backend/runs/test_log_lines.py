import asyncio
import contextvars
import json
import logging
import subprocess
import sys
from typing import Any

from attract.runs.log_lines import bind, bound_ids, create_formatter, logging_of


def line(log_format: Any, message: str, *arguments: object, **ids: Any) -> str:
    """One line, written in a context of its own that has bound `ids`."""

    def write() -> str:
        bind(**ids)
        record = logging.LogRecord("attract.a", logging.WARNING, "a.py", 1, message, arguments, None)
        record.created = 1_800_000_000.25
        return create_formatter(log_format, run="r1").format(record)

    return contextvars.copy_context().run(write)


def test_scale_13_a_line_of_text_says_which_run_connection_host_and_lease():
    text = line("text", "a block of %d", 3, connection=7, host="b" * 8, lease=12)
    assert text == (
        "2027-01-15T08:00:00Z WARNING attract.a: a block of 3 [run=r1 connection=7 host=bbbbbbbb lease=12]"
    )


def test_scale_13_a_line_of_json_has_the_ids_as_fields():
    assert json.loads(line("json", "a block of %d", 3, connection=7, host="b", lease=12)) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "warning",
        "logger": "attract.a",
        "message": "a block of 3",
        "run": "r1",
        "connection": 7,
        "host": "b",
        "lease": 12,
    }


def test_watched_nothing_a_browser_calls_itself_ends_a_line_or_adds_an_id():
    evil = "x] [run=other]\n2027-01-15T08:00:00Z INFO attract: forged\x1b[2J\u202e" + "y" * 500
    text = line("text", "hello", host=evil)
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 600
    # Quoted, so that what is inside is not taken for ids of ours.
    assert "host='x] [run=other]\\n" in text
    shown = line("json", evil, host=evil)
    assert shown.isascii()
    assert shown.isprintable()
    assert json.loads(shown)["run"] == "r1"


def test_watched_an_exception_is_one_line_of_json():
    try:
        raise ValueError("no\nsuch thing")
    except ValueError:
        record = logging.LogRecord("attract.a", logging.ERROR, "a.py", 1, "broke", (), sys.exc_info())
    shown = create_formatter("json").format(record)
    assert len(shown.splitlines()) == 1
    assert json.loads(shown)["stack"].endswith("ValueError: no\nsuch thing")


async def test_watched_ids_are_of_a_task_and_of_those_it_starts():
    async def child() -> dict[str, Any]:
        return dict(bound_ids())

    async def socket(number: int) -> dict[str, Any]:
        bind(connection=number)
        await asyncio.sleep(0)
        bind(lease=10 * number)
        return await asyncio.create_task(child())

    assert await asyncio.gather(socket(1), socket(2)) == [
        {"connection": 1, "lease": 10},
        {"connection": 2, "lease": 20},
    ]
    assert "connection" not in bound_ids()


def test_watched_a_process_shows_its_own_lines_and_those_of_libraries_in_one_form():
    code = (
        "import logging, warnings\n"
        "from attract.runs.log_lines import show_logs\n"
        "show_logs('json', 'info', run='r')\n"
        "show_logs('json', 'info', run='r')\n"
        "logging.getLogger('attract.a').info('ours')\n"
        "logging.getLogger('attract.a').debug('too much')\n"
        "logging.getLogger('uvicorn.error').warning('theirs')\n"
        "logging.getLogger('uvicorn.error').info('too much')\n"
        "warnings.warn('old')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown = [json.loads(splitline) for splitline in done.stderr.splitlines()]
    assert [line["logger"] for line in shown] == ["attract.a", "uvicorn.error", "py.warnings"]
    assert {line["run"] for line in shown} == {"r"}


def test_a_child_takes_the_form_from_variables_that_the_gateway_has_checked():
    assert logging_of({}) == ("text", "info")
    assert logging_of({"ATTRACT_LOG_FORMAT": "json", "ATTRACT_LOG_LEVEL": "debug"}) == ("json", "debug")
    assert logging_of({"ATTRACT_LOG_FORMAT": "xml", "ATTRACT_LOG_LEVEL": "loud"}) == ("text", "info")
