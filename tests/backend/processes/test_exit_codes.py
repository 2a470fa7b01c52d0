"""The table of exit codes: what the page says is what the code has."""

import re
import signal
from pathlib import Path

import pytest

from attract.processes import exit_codes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"


def test_the_page_has_every_code_once() -> None:
    table = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)]
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert sorted(table) == sorted(codes) == [0, 1, 2, 3, 4, 130, 141, 143]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, exit_codes.INTERRUPTED),
        (signal.SIGTERM, exit_codes.TERMINATED),
        (signal.SIGPIPE, exit_codes.OUTPUT_GONE),
    ],
)
def test_a_signal_s_code_is_the_shell_s(number: int, code: int) -> None:
    assert exit_codes.of_signal(number) == code
