"""`python -m attract.browser`: a headless host as a process of its own.

The first line on stdin is the URL of the page to open: it carries a token, and command lines are public.
With the argument `--expose-heap` the threads of that page can measure their heap.
Prints one JSON object per line on stdout (`open`, `restart`, `console`, `page_error`, `status` with what the
page reports about itself, `closed`). Ends when stdin closes, so that it never outlives its parent, or on
SIGTERM; SIGINT is left to that parent.
"""

import asyncio
import json
import os
import signal
import sys
from typing import Any

from attract.browser.chromium import EXPOSE_HEAP
from attract.browser.host import HeadlessHost
from attract.errors import AttractError


def _report(kind: str, detail: dict[str, Any]) -> None:
    try:
        print(json.dumps({"event": kind, **detail}), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _main(url: str, *, exposes_heap: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 4096) else stop.set())
    try:
        await HeadlessHost(url, _report, exposes_heap=exposes_heap).run(stop)
    finally:
        loop.remove_reader(sys.stdin.fileno())
    _report("closed", {})


def main() -> int:
    """Run a host for the URL on stdin's first line; 0 after an orderly end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    url = sys.stdin.readline().strip()
    if not url:
        print("usage: echo URL | python -m attract.browser   (and keep stdin open)", file=sys.stderr)
        return 2
    try:
        asyncio.run(_main(url, exposes_heap=EXPOSE_HEAP in sys.argv[1:]))
    except AttractError as error:
        _report("failed", {"text": str(error), "code": error.exit_code})
        return error.exit_code
    except Exception as error:
        _report("failed", {"text": f"{type(error).__name__}: {error}", "code": 1})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
