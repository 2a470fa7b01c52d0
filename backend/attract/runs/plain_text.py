"""Makes untrusted text fit for one line of a log or a terminal."""

import re
import unicodedata
from typing import Final

HIDDEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co")
"""Categories of characters that move the cursor, reorder what is shown, end a line or show nothing."""

WORKFLOW_COMMAND: Final = re.compile(r"##\[|^\s*::", re.MULTILINE)
"""GitHub's runner obeys a line of its log that begins with the second, and the first anywhere in a line."""

MAX_SHOWN: Final = 1_000
"""Maximum length of an error in an answer: it may quote a request of any size."""


def plain(text: str, limit: int | None = None) -> str:
    r"""`text` in one line: what is not to be seen is written as in Python's `repr`, as `\x1b`.

    Args:
        text: anything.
        limit: characters of `text` that are kept; what is longer ends with `...`.
    """
    kept = text if limit is None or len(text) <= limit else text[:limit]
    # Nearly all text is harmless, and this is asked of each line of a log.
    if not kept.isprintable():
        kept = "".join(character if _is_seen(character) else repr(character)[1:-1] for character in kept)
    kept = without_commands(kept)
    return kept if limit is None or len(text) <= limit else f"{kept}..."


def without_commands(text: str) -> str:
    """`text` with what a CI service's log would obey taken apart by a backslash."""
    return WORKFLOW_COMMAND.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", text)


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """The first `limit` characters, with `...` where there are more."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in HIDDEN
