"""Playwright Test as a process, in a folder of specs."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.browser.chromium import DISABLED_FEATURES, require_chromium
from attract.playtest.playwright_test import WEB

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """One test."""

    is_green: bool
    said: str
    """What the runner reports of it, as JSON."""
    seconds: float


def install_playwright(folder: Path) -> None:
    """Put what specs import into `node_modules`, as links: Playwright Test, and the SDK of games."""
    modules = folder / "node_modules"
    (modules / "@playwright" / "test").mkdir(parents=True)
    # `@playwright/test` is this and nothing else.
    (modules / "@playwright" / "test" / "package.json").write_text(
        '{ "type": "module", "exports": "./index.js" }'
    )
    (modules / "@playwright" / "test" / "index.js").write_text("export * from 'playwright/test';")
    (modules / "playwright").symlink_to(ROOT / "node_modules" / "playwright")
    (modules / "playwright-core").symlink_to(ROOT / "node_modules" / "playwright-core")
    (modules / "attract").symlink_to(WEB / "sdk")
    (folder / "package.json").write_text('{ "type": "module" }')


def run_playwright(
    folder: Path, use: dict[str, Any] | None = None, web_server: dict[str, Any] | None = None
) -> dict[str, Ran]:
    """All specs below `folder` in one worker, by the name of their file.

    Args:
        use: more options of the tests.
        web_server: as in Playwright's configuration; None: there is none.
    """
    features = f"--disable-features={','.join(DISABLED_FEATURES)}"
    launch = {"executablePath": require_chromium().path, "args": ["--no-sandbox", features]}
    options = {
        "testDir": ".",
        "workers": 1,
        "reporter": "json",
        "use": {"launchOptions": launch, **(use or {})},
        **({} if web_server is None else {"webServer": web_server}),
    }
    (folder / "playwright.config.mjs").write_text(f"export default {json.dumps(options)};")
    command = ["node", str(ROOT / "node_modules" / "playwright" / "cli.js"), "test"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    report = json.loads(ran.stdout)
    assert report["errors"] == [], report["errors"]
    return {
        Path(suite["file"]).name.removesuffix(".spec.ts"): Ran(
            spec["ok"], json.dumps(spec["tests"]), spec["tests"][0]["results"][0]["duration"] / 1000
        )
        for suite in report["suites"]
        for spec in suite["specs"]
    }
