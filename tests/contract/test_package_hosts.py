"""Both sides know the same servers of published packages."""

import re
from pathlib import Path

from attract.browser.chromium import PACKAGE_HOSTS
from attract.server.page_games import GAME_POLICY

CLOCK = Path(__file__).parents[2] / "web" / "page-clock" / "src" / "page-policy.gen.ts"


def test_the_clock_lets_a_page_ask_those_that_its_policy_names() -> None:
    listed = re.findall(r'^  "([^"]+)",$', CLOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(listed) == PACKAGE_HOSTS
    script = next(part for part in GAME_POLICY.split("; ") if part.startswith("script-src"))
    assert all(f" https://{host}" in script for host in PACKAGE_HOSTS)
