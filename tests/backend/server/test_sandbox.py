"""The policy of the frame that games run in."""

import base64
import hashlib

from attract.server.page_games import sandbox_policy


def directives(page: str) -> dict[str, list[str]]:
    return {name: values for name, *values in (part.split() for part in sandbox_policy(page).split("; "))}


def test_hostile_01_nothing_is_fetched_and_only_the_pages_own_script_runs() -> None:
    script = "\n  start();\n"
    found = directives(f"<html><script>{script}</script></html>")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert found["script-src"] == [f"'sha256-{digest}'", "blob:", "'wasm-unsafe-eval'"]
    assert found["default-src"] == found["connect-src"] == ["'none'"]
    assert found["sandbox"] == ["allow-scripts"], "with allow-same-origin it would have our cookies"
    assert found["worker-src"] == ["blob:"]
    assert found["frame-ancestors"] == ["'self'"]


def test_hostile_01_a_page_without_a_script_allows_none_of_its_own() -> None:
    assert directives("<html></html>")["script-src"] == ["blob:", "'wasm-unsafe-eval'"]
