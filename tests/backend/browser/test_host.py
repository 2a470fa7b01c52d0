"""A headless host: its address; that it lives on when its page dies is `tests/end_to_end`'s to show."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from attract.browser.host import HeadlessHost, join_url
from attract.errors import ConfigurationError


def test_token_and_workers_travel_in_the_fragment():
    url = join_url("http://host:8000/prefix/", "a b&c", 3)
    assert url == "http://host:8000/prefix/join.html#token=a+b%26c&workers=3"


async def test_a_chromium_that_is_not_there_ends_the_host_by_name(tmp_path: Path):
    reported: list[tuple[str, dict[str, Any]]] = []
    host = HeadlessHost(
        "http://127.0.0.1:1/",
        lambda kind, detail: reported.append((kind, detail)),
        chromium_path=str(tmp_path / "no-chromium"),
    )
    with pytest.raises(ConfigurationError, match="no-chromium"):
        await host.run(asyncio.Event())
    assert reported == []
