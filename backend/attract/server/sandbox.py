"""The policy of the frame that games run in: it has nothing of this server's, and no way out."""

import base64
import hashlib
import re
from typing import Final

SANDBOX_PAGE: Final = "sandbox.html"
"""Below the pages' folder; its own few lines are a script within it."""
SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def script_hashes(scripts: list[str]) -> str:
    """These scripts and no others, as sources of a Content-Security-Policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def sandbox_policy(page: str) -> str:
    """The Content-Security-Policy of `page`, which the threads that it starts inherit.

    An opaque origin has no cookies and no storage, and shares nothing with any other. Code comes from the
    page's own scripts, named by their hashes, and from `blob:` addresses, which only the frame and its thread
    can make; nothing is fetched, from this server as little as from any other.
    """
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            f"script-src {script_hashes(SCRIPT.findall(page))} blob: 'wasm-unsafe-eval'",
            "worker-src blob:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    )
