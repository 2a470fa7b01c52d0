"""Makes untrusted text fit for one line of a log or a terminal."""

import unicodedata
from typing import Final

HIDDEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co")
"""Categories of characters that move the cursor, reorder what is shown, end a line or show nothing."""

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
    return kept if limit is None or len(text) <= limit else f"{kept}..."


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """The first `limit` characters, with `...` where there are more."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in HIDDEN
