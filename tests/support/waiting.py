"""Waits for what happens on the same event loop, and says how fast the machine is."""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from attract.browser.chromium import require_chromium

WAIT_SECONDS = 120.0
"""Limit of a wait for what takes a moment on a quiet machine. Only a failure takes as long."""
EMPTY_PAGE = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1])
    browser.new_page().goto("about:blank")
    browser.close()
"""


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Return once `condition` holds. Raises: TimeoutError: when it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.01)


def slowness() -> float:
    """How many seconds a program takes here at present that opens an empty page by Playwright; at least 1.

    Bounds in seconds are written for a machine on which it takes one: memory may be slow, too.
    """
    return max(1.0, statistics.median(_empty_page_seconds() for _ in range(3)))


def _empty_page_seconds() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", EMPTY_PAGE, require_chromium().path], check=True)
    return time.monotonic() - began
