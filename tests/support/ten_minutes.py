"""The tutorial as somebody goes it who has the wheel and no clone, timed, written into docs/ten-minutes.md.

`python tests/support/ten_minutes.py` builds the wheel, which is not timed, and puts it into a new environment
whose Python packages are those of the environment that runs this. What follows is typed and timed: `TYPED`.
"""

import asyncio
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import expect

from dashboard_page import chromium, open_page
from served_page import served_folder

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ten-minutes.md"
IMAGES = ROOT / "docs" / "images"
TYPED = (
    "attract --version",
    "attract new my-game",
    "cd my-game && npm install --no-audit --no-fund",
    "cd my-game && npx tsc",
    "attract check my-game/src/game.ts",
    "attract train my-game/src/game.ts --headless --total-steps 200000",
    "attract eval latest --episodes 20",
    "attract export latest --out my-game/public/policy --format js",
    "cd my-game && npm run build",
    "attract export latest --out my-game/site --page",
)
MOST_LINES = 12
"""Of what a command printed; a training prints one for each update."""
WIDTH, HEIGHT = 520, 640
PAGE_TEXT = """# Ten minutes, as they went

[The tutorial](tutorial.md), typed from its first command to its last by `tests/support/ten_minutes.py`, which
wrote this page and made its pictures: {when}, {cores} cores, load average {load:.1f} when it began.
**{total:.0f} seconds** in all, from `attract new` to an agent that plays in the built page; its commands kept
one core busy for {cpu:.0f} seconds, which is what counts where the machine had other work.

Attract came from its wheel, into an environment of its own, and there was no clone. Not in that time:
building the wheel and installing it ({wheel:.0f} s), Chromium, and the download of the Python packages that
it needs, above all PyTorch, which depends on the line more than on anything here.

{transcript}
## In the page

`dist` as `npm run build` left it, with *Let the agent play* pressed: {in_page:.0f} seconds until it had
caught all five balls of an episode. `attract eval` says a mean of {evaluated:.2f}.

![The built page: the agent has caught five of five]({images}/ten-minutes-page.png)

The folder of `attract export --page`, which any static server shows:

![The exported page: the agent plays, and one can take over]({images}/ten-minutes-site.png)
"""


@dataclass(frozen=True)
class Typed:
    """One command, and how it went."""

    command: str
    output: str
    seconds: float
    cpu_seconds: float
    """Of its processes, as far as they were waited for: what a busy machine does not change."""


def installed(folder: Path) -> Path:
    """The commands of a new environment that has the wheel."""
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(wheel, check=True)
    venv.create(folder / "env", with_pip=True)
    commands = folder / "env" / "bin"
    (built,) = folder.glob("attract-*.whl")
    subprocess.run([commands / "python", "-m", "pip", "install", "--quiet", "--no-deps", built], check=True)
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return commands


def type_in(command: str, folder: Path, commands: Path) -> Typed:
    """Run it in a shell there. Raises: RuntimeError: it fails."""
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("ATTRACT_RUNS")}
    began, cpu_began = time.monotonic(), _cpu_seconds()
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return Typed(command, done.stdout, seconds, _cpu_seconds() - cpu_began)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shown(typed: Typed, folder: Path) -> str:
    """The command and what it printed, without addresses and folders of this machine, in the middle cut."""
    # A token is nobody's business, and a temporary folder's name says nothing.
    text = re.sub(r"(#|token=)[\w.-]{16,}", r"\1...", typed.output.replace(str(folder), "~"))
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} lines ...", *lines[-half:]]
    return "\n".join(
        [f"$ {typed.command}    # {typed.seconds:.1f} s, {typed.cpu_seconds:.1f} s of a core", *lines]
    )


async def played(folder: Path, site: Path) -> float:
    """Seconds until the agent has caught all of an episode in the built page; both pages are photographed."""
    async with chromium() as browser:
        with served_folder(folder) as address:
            began = time.monotonic()
            async with open_page(browser, address) as (page, _):
                await page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
                await page.get_by_role("button", name="Let the agent play").click()
                status = page.get_by_role("status")
                await expect(status).to_contain_text("The agent scored 5.0", timeout=90_000)
                seconds = time.monotonic() - began
                await page.screenshot(path=IMAGES / "ten-minutes-page.png")
        with served_folder(site) as address:
            async with open_page(browser, address) as (page, _):
                await page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
                await expect(page.get_by_role("list", name="Scores")).to_contain_text(
                    "The agent", timeout=90_000
                )
                await page.screenshot(path=IMAGES / "ten-minutes-site.png")
    return seconds


def main() -> None:
    """Go the way and write the page."""
    folder = Path(tempfile.mkdtemp(prefix="ten-minutes-"))
    try:
        began = time.monotonic()
        commands = installed(folder)
        wheel = time.monotonic() - began
        load, when = os.getloadavg()[0], datetime.now(UTC)
        home = folder / "home"
        home.mkdir()
        typed: list[Typed] = []
        for command in TYPED:
            typed.append(type_in(command, home, commands))
            print(f"{typed[-1].seconds:7.1f} s  {command}", flush=True)
        in_page = asyncio.run(played(home / "my-game" / "dist", home / "my-game" / "site"))
        (evaluated,) = (command for command in typed if command.command.startswith("attract eval"))
        found = re.search(r"return (-?[\d.]+)", evaluated.output)
        assert found is not None, evaluated.output
        text = PAGE_TEXT.format(
            when=f"{when:%Y-%m-%d %H:%M} UTC",
            cores=len(os.sched_getaffinity(0)),
            load=load,
            wheel=wheel,
            total=sum(command.seconds for command in typed) + in_page,
            transcript="".join(f"```text\n{shown(command, home)}\n```\n\n" for command in typed),
            cpu=sum(command.cpu_seconds for command in typed),
            in_page=in_page,
            evaluated=float(found[1]),
            images="images",
        )
        PAGE.write_text(text, encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
