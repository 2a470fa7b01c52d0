"""A script put into a third-party page."""

import re
from typing import Final

HEAD: Final = re.compile(rb"<head(?:\s[^>]*)?>", re.IGNORECASE)
DOCTYPE: Final = re.compile(rb"^\s*<!doctype[^>]*>", re.IGNORECASE)


def with_first_script(page: bytes, tag: bytes) -> bytes:
    """The page with `tag` before its own first script: in its head, or else after its doctype."""
    for place in (HEAD, DOCTYPE):
        match = place.search(page)
        if match is not None:
            return page[: match.end()] + tag + page[match.end() :]
    return tag + page
