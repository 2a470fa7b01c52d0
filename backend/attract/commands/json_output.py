"""Answers of commands as JSON: one object on one line of stdout, also in place of an error."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from attract.errors import AttractError, ConfigurationError
from attract.processes.interrupt import Terminated
from attract.schema.base import Count, Name, Text, WireModel

MAX_ANSWER_BYTES: Final = 8_000
"""The length to which long answers are cut: what a coding agent reads at once."""
MAX_ERROR_LENGTH: Final = 2_000
KEPT_SHARE: Final = 0.75
"""Share of a list's entries that stays each time it is cut."""
Answer = TypeVar("Answer", bound=BaseModel)
OPTIONS: Final = ("--json", "--json-lines")
TRUE: Final = ("", "true", "yes", "y", "1", "on")
OTHER_ERRORS: Final[dict[type[BaseException], tuple[str, str]]] = {
    KeyboardInterrupt: ("interrupted", "run the command again"),
    Terminated: ("terminated", "run the command again"),
    OSError: ("file-system", "make room, or name files and folders that can be read and written"),
    BaseException: ("internal", "a fault of Attract: report it with what stderr says"),
}
"""Code and fix of errors that are not ours; the first that fits."""


class ErrorAnswer(WireModel):
    """In place of any other answer: the command could not do what it was asked to."""

    error: Text
    """What is wrong, at most 2,000 characters."""
    code: Name
    """Stable: see the table of codes."""
    setting: Text | None
    """The option, argument, setting or file that is wrong."""
    fix: Text
    """What to do."""
    exit_code: Count


def is_wanted(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, even where the rest of it cannot be read."""
    given = words[: words.index("--")] if "--" in words else words
    options = (word.partition("=") for word in given)
    return any(name in OPTIONS and value.lower() in TRUE for name, _, value in options)


def print_answer(answer: BaseModel) -> None:
    print(json_text(answer), flush=True)


def json_text(answer: BaseModel) -> str:
    """One line of valid JSON, ASCII alone: no terminal or job log obeys what a page or a run says.

    A whole number has no point; what is not finite is null.
    """
    text = json.dumps(plain_json(answer.model_dump(mode="json")), separators=(",", ":"))
    return text.replace("##[", "#\\u0023[")


def plain_json(value: Any) -> Any:
    """The value with whole numbers as integers, and null in place of NaN and infinities."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list):
        return [plain_json(entry) for entry in value]
    if isinstance(value, dict):
        return {name: plain_json(entry) for name, entry in value.items()}
    return value


def shortened(
    answer: Answer,
    render: Callable[[Answer], str],
    lists: Mapping[str, Sequence[str]],
    keeps_end: Sequence[str] = (),
) -> Answer:
    """The answer without the last entries of its longest lists, so that it takes `MAX_ANSWER_BYTES`.

    Args:
        answer: its field `left_out` counts what went, by the list's name.
        render: the answer as it is printed.
        lists: names of lists that may be cut, each with the path of its field.
        keeps_end: lists of which the last entry stays longest.

    Returns: as short as cutting makes it; without any entry it may still be too long.
    """
    left_out: dict[str, int] = answer.model_dump(include={"left_out"})["left_out"]
    while len(render(answer).encode()) > MAX_ANSWER_BYTES:
        found = {name: _at(answer, path) for name, path in lists.items()}
        sizes = {name: sum(map(_size, entries)) for name, entries in found.items() if entries}
        if not sizes:
            break
        longest = max(sizes, key=lambda name: sizes[name])
        entries = found[longest]
        count = int(KEPT_SHARE * len(entries))
        ends = entries[-1:] if longest in keeps_end and count > 0 else []
        left_out[longest] = left_out.get(longest, 0) + len(entries) - count
        answer = _with(answer, lists[longest], [*entries[: count - len(ends)], *ends])
        answer = answer.model_copy(update={"left_out": dict(left_out)})
    return answer


def _at(answer: Any, path: Sequence[str]) -> list[Any]:
    for name in path:
        # An optional part that is not there has no entries.
        answer = [] if answer is None else getattr(answer, name, [])
    return answer


def _with(answer: Any, path: Sequence[str], entries: list[Any]) -> Any:
    name, *inner = path
    value = _with(getattr(answer, name), inner, entries) if inner else entries
    return answer.model_copy(update={name: value})


def _size(entry: Any) -> int:
    return len(entry if isinstance(entry, str) else entry.model_dump_json())


def answer_to(error: BaseException, exit_code: int) -> ErrorAnswer:
    """The answer of a command that ended by `error`: its text without the fix, which stands beside it."""
    if not isinstance(error, AttractError):
        kinds = (kind for kind in OTHER_ERRORS if isinstance(error, kind))
        code, fix = OTHER_ERRORS[next(kinds)]
        text = str(error) or type(error).__name__
        return ErrorAnswer(error=_short(text), code=code, setting=None, fix=fix, exit_code=exit_code)
    problem = error.problem if isinstance(error, ConfigurationError) else str(error)
    setting: str | None = getattr(error, "setting", None)
    if setting is None and isinstance(error, ConfigurationError) and error.problems:
        setting = error.problems[0][0]
    return ErrorAnswer(
        error=_short(problem),
        code=error.error_code,
        setting=None if setting is None else _short(setting),
        fix=_short(getattr(error, "fix", None) or error.advice),
        exit_code=exit_code,
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_ERROR_LENGTH else f"{text[: MAX_ERROR_LENGTH - 3]}..."
