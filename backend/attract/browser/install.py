"""`python -m attract.browser.install`: makes sure a Chromium is there, installing one if it must."""

import os
import shutil
import subprocess
import sys

from attract.browser.chromium import INSTALL_COMMANDS, SETTING, find_chromium
from attract.errors import AttractError

DOWNLOAD_SECONDS = 300


def main() -> int:
    """0 once a Chromium can be started; else 1, with the commands that would install one."""
    try:
        if find_chromium() is not None:
            return 0
    except AttractError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for title, commands in (
        ("Playwright's Chromium", [[sys.executable, "-m", "playwright", "install", "chromium"]]),
        ("Debian's chromium", _apt_commands()),
    ):
        if not commands:
            continue
        print(f"No Chromium found; trying to install {title} ...", flush=True)
        if all(_run(command) for command in commands) and find_chromium() is not None:
            return 0
    print("No Chromium could be installed. Install one by hand:", file=sys.stderr)
    for command in INSTALL_COMMANDS:
        print(f"    {command}", file=sys.stderr)
    print(f"or set {SETTING}=/path/to/chromium", file=sys.stderr)
    return 1


def _apt_commands() -> list[list[str]]:
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not as_root or shutil.which("apt-get") is None:
        return []
    return [
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-liberation"],
    ]


def _run(command: list[str]) -> bool:
    """Whether the command succeeded in time; its last words are shown when it did not."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        print(f"  {' '.join(command)}: no answer within {DOWNLOAD_SECONDS} s", file=sys.stderr)
        return False
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        print(
            f"  {' '.join(command)}: {last[0] if last else f'exit code {done.returncode}'}", file=sys.stderr
        )
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
