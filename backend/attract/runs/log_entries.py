"""Reads a run's log files back: the newest lines of all of them, in the order of their time."""

import json
import re
from pathlib import Path
from typing import Final, cast, get_args

from attract.errors import FileError
from attract.files import read_tail
from attract.runs.log_files import GAME_LOG, GATEWAY_LOG, LEARNER_LOG
from attract.runs.log_lines import INDENT
from attract.runs.plain_text import plain
from attract.schema.api import LogEntry, LogSource
from attract.settings.base import LogLevel

MAX_TAIL_BYTES: Final = 128 << 10
"""What is read of each file."""
MAX_ENTRIES: Final = 1_000
MAX_TEXT_CHARACTERS: Final = 8_000
"""Limit of an entry: a stack with a long message fits."""
FILES: Final[dict[LogSource, str]] = {"server": GATEWAY_LOG, "learner": LEARNER_LOG, "game": GAME_LOG}
_LEVELS: Final[dict[str, LogLevel]] = {level: level for level in get_args(LogLevel)}
_TEXT: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z (DEBUG|INFO|WARNING|ERROR|CRITICAL) (\S+): (.*)", re.DOTALL
)
_IDS: Final = re.compile(r" \[\w+=\S*(?: \w+=\S*)*\]$")
_CRASH: Final = re.compile(r"Traceback \(most recent call last\):|Fatal Python error|Segmentation fault")


def read_entries(folder: Path, sources: tuple[LogSource, ...] = get_args(LogSource)) -> list[LogEntry]:
    """The newest entries of a run's log files, oldest first, at most `MAX_ENTRIES`.

    A file that is missing, or cannot be read, has none.

    Args:
        folder: `logs` of the run's folder.
        sources: whose files are read.
    """
    found = [entry for source in sources for entry in _entries_of(folder, source)]
    # An entry without a time, such as what the learner printed, stands after the one before it in its file.
    found.sort(key=lambda entry: entry[0])
    return [entry for _, entry in found[-MAX_ENTRIES:]]


def _entries_of(folder: Path, source: LogSource) -> list[tuple[str, LogEntry]]:
    texts: list[str] = []
    left = MAX_TAIL_BYTES
    for name in (FILES[source], f"{FILES[source]}.1"):
        try:
            text = read_tail(folder / name, left, folder) if left > 0 else None
        except FileError:
            text = None
        if text is not None:
            texts.insert(0, text)
            left -= len(text)
    entries: list[tuple[str, LogEntry]] = []
    for text in "\n".join(texts).splitlines():
        entry = _parse(text, source)
        last = entries[-1] if entries else None
        if entry is not None:
            entries.append((entry.time or "", entry))
        elif text.strip() and (last is None or _begins_crash(text, last[1])):
            level = "error" if _CRASH.match(text) else "info"
            time = "" if last is None else last[0]
            entries.append((time, LogEntry(source=source, level=level, time=None, text=_shown(text))))
        elif text.strip() and last is not None:
            own = text.removeprefix(INDENT) if source == "game" else text
            more = f"{last[1].text}\n{_shown(own)}"[:MAX_TEXT_CHARACTERS]
            entries[-1] = last[0], last[1].model_copy(update={"text": more})
    return entries


def _begins_crash(text: str, last: LogEntry) -> bool:
    """Whether a line that no logger wrote begins an entry, and is no stack of an error before it."""
    return _CRASH.match(text) is not None and last.level != "error"


def _parse(text: str, source: LogSource) -> LogEntry | None:
    """A line that a logger wrote, as text or JSON; None: any other line."""
    if found := _TEXT.fullmatch(text):
        time, level, logger, message = found.groups()
        return _entry(source, f"{time}Z", level.lower(), logger, _IDS.sub("", message))
    if not text.startswith("{"):
        return None
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        # A game may write anything to its console.
        return None
    if not isinstance(line, dict):
        return None
    fields = cast("dict[str, object]", line)
    time, level, logger, message = (fields.get(name) for name in ("time", "level", "logger", "message"))
    if not (
        isinstance(time, str)
        and isinstance(level, str)
        and isinstance(logger, str)
        and isinstance(message, str)
    ):
        return None
    stack = fields.get("stack")
    return _entry(source, time, level, logger, f"{message}\n{stack}" if isinstance(stack, str) else message)


def _entry(source: LogSource, time: str, level: str, logger: str, message: str) -> LogEntry:
    # An unknown level hides nothing.
    known = _LEVELS.get(level, "error")
    text = message if source == "game" else f"{logger}: {message}"
    return LogEntry(source=source, level=known, time=plain(time, 40), text=_shown(text))


def _shown(text: str) -> str:
    return "\n".join(plain(line) for line in text.split("\n"))[:MAX_TEXT_CHARACTERS]
