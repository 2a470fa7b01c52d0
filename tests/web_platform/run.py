"""Plays Web Platform Tests in plain Chromium and under the clock: `make wpt WPT=/path/to/a/clone`.

Copies what it needs of the clone to `test-results/wpt`, which also keeps the results: it goes on where it was
cut off. Prints per directory what passes in Chromium, and how much of that under it; `--lost`: what fails.
"""

import argparse
import asyncio
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright

from attract.browser.chromium import launch_switches, require_chromium
from attract.games.page_files import PageFolder
from attract.server.app_server import serving_app
from attract.server.page_games import PROBE_PAGE, PageGameMiddleware, nothing_else

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORK = ROOT / "test-results" / "wpt"
TESTS = WORK / "tests"
SETS = ("first", "second")
KEY = "0" * 32
# What tests load from elsewhere than their own folder and those above it.
SHARED = (
    "resources common images fonts interfaces media html/resources html/canvas/resources css/support "
    "css/css-transitions/support css/css-animations/support xhr/resources FileAPI/support workers/support"
)
# Ticks of a file, and seconds; those of a test that says it takes long.
TICKS, SECONDS = (750, 40), (3700, 80)
PASSED = 0
Results = dict[str, Any]

HEAD = (
    "<!doctype html><meta charset=utf-8>{meta}<script src=/resources/testharness.js></script>"
    "<script src=/resources/testharnessreport.js></script>{scripts}<div id=log></div>"
)
WINDOW = "<script>self.GLOBAL={isWindow:()=>true,isWorker:()=>false,isShadowRealm:()=>false}</script>"
WORKER = WINDOW.replace("isWindow:()=>true,isWorker:()=>false", "isWindow:()=>false,isWorker:()=>true")[8:-9]
REPORT = """(() => {
  const result = (window.__wpt = { tests: [], done: false });
  const isHeld = window !== window.top && "attractClock" in (window.frameElement?.dataset ?? {});
  setup({ output: false, timeout_multiplier: isHeld ? 1 : 3 });
  const of = ({ name, status }) => ({ name, status });
  add_result_callback((test) => result.tests.push(of(test)));
  add_completion_callback((tests) => Object.assign(result, { tests: tests.map(of), done: true }));
})();"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the laid-out tests without a clock."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class OneGame:
    """All tests are the pages of one game."""

    def __init__(self, files: PageFolder) -> None:
        self.files = files

    def page_files(self, key: str) -> PageFolder | None:
        return self.files if key == KEY else None


def read_files(name: str) -> list[str]:
    return (HERE / f"{name}.txt").read_text().split()


def lay_out(wpt: Path) -> None:
    """Copies folders of the clone, and writes the pages that its own server would make of scripts."""
    if not (wpt / "resources" / "testharness.js").exists():
        raise SystemExit(
            f"{wpt} holds no resources/testharness.js: give WPT=/path/to/a/clone of web-platform-tests"
        )
    depth = {"html": 3, "css": 2}
    parts = [Path(file).parts for name in SETS for file in read_files(name)]
    folders = {"/".join(path[: min(depth.get(path[0], 1), len(path) - 1)]) for path in parts}
    for folder in sorted({*folders, *SHARED.split()}):
        if (wpt / folder).is_dir() and not (TESTS / folder / ".whole").exists():
            shutil.copytree(wpt / folder, TESTS / folder, dirs_exist_ok=True)
            (TESTS / folder / ".whole").touch()
    for script in [*TESTS.rglob("*.any.js"), *TESTS.rglob("*.window.js")]:
        write_pages(script)
    (TESTS / "resources" / "testharnessreport.js").write_text(REPORT)
    shutil.copy(HERE / "testdriver-vendor.js", TESTS / "resources")


def write_pages(script: Path) -> None:
    meta = re.findall(r"^// META: (\w+)=(.*)$", script.read_text(errors="replace"), re.M)
    needed = [value.strip() for name, value in meta if name == "script"]
    long = '<meta name="timeout" content="long">' if ("timeout", "long") in meta else ""
    kinds = dict(meta).get("global", "window,dedicatedworker")
    scripts = "".join(f'<script src="{script_path}"></script>' for script_path in needed)
    page = script.with_suffix(".html")
    if script.name.endswith(".window.js") or "window" in kinds:
        is_any = script.name.endswith(".any.js")
        head = HEAD.format(meta=long, scripts=(WINDOW if is_any else "") + scripts)
        page.write_text(f'{head}<script src="{script.name}"></script>')
    if script.name.endswith(".any.js") and "worker" in kinds:
        lines = [
            WORKER,
            *(
                f"importScripts({needed_script!r});"
                for needed_script in ["/resources/testharness.js", *needed]
            ),
        ]
        lines += [f"importScripts('/{script.relative_to(TESTS)}');", "done();"]
        script.with_suffix(".worker.js").write_text("\n".join(lines))
        worker = f"<script>fetch_tests_from_worker(new Worker('{script.stem}.worker.js'));</script>"
        page.with_suffix("").with_suffix(".any.worker.html").write_text(
            HEAD.format(meta=long, scripts="") + worker
        )


def is_long(path: str) -> bool:
    text = (TESTS / path.split("?")[0]).read_text(errors="replace")
    return re.search(r"name=[\"']?timeout[\"']?\s+content=[\"']?long", text) is not None


async def act(page: Page, text: str) -> None:
    """Does what a test asked of its driver, as a person would."""
    for command in json.loads(text):
        match command:
            case {"t": "move", "x": x, "y": y}:
                await page.mouse.move(x, y)
            case {"t": "down" | "up" as kind, "b": button}:
                name = ("left", "middle", "right")[button]
                await (page.mouse.down(button=name) if kind == "down" else page.mouse.up(button=name))
            case {"t": "keydown" | "keyup" as kind, "code": code}:
                await (page.keyboard.down(code) if kind == "keydown" else page.keyboard.up(code))
            case {"t": "pause", "ms": milliseconds}:
                await asyncio.sleep(milliseconds / 1000)
            case _:
                raise ValueError(f"unknown command {command}")


async def play_plain(page: Page, base: str, path: str) -> Results | None:
    await page.expose_binding("__td", lambda source, text: act(page, text))
    page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.dismiss()))
    await page.goto(f"{base}/{path}", wait_until="commit")
    end = time.monotonic() + (75 if is_long(path) else 25)
    result: Results | None = None
    while time.monotonic() < end and not (result and result["done"]):
        await asyncio.sleep(0.1)
        result = await page.evaluate("window.__wpt ?? null")
    return result


async def play_held(page: Page, url: str, path: str) -> Results | None:
    await page.goto(url)
    await page.evaluate((WORK / "driver.js").read_text())
    ticks, seconds = SECONDS if is_long(path) else TICKS
    asked = page.evaluate("(given) => attractPlay(...given)", [f"/{path}", ticks, seconds * 1000])
    return await asyncio.wait_for(asked, seconds + 30)


async def play_all(mode: str, url: str, paths: list[str], results: Results) -> None:
    """Each in a page of its own, and a browser that is still well."""
    play = play_plain if mode == "plain" else play_held
    async with async_playwright() as playwright:
        for i in range(0, len(paths), 25):
            switches = launch_switches(url)
            browser = await playwright.chromium.launch(executable_path=require_chromium().path, args=switches)
            for path in paths[i : i + 25]:
                context = await browser.new_context(viewport={"width": 800, "height": 600})
                try:
                    results[path] = await play(await context.new_page(), url, path)
                # Whatever a page does, the next one is played.
                except Exception as error:
                    results[path] = {"tests": [], "done": False, "error": str(error)[:300]}
                passed = sum(test["status"] == PASSED for test in (results[path] or {"tests": []})["tests"])
                print(mode, path, passed, flush=True)
                (WORK / f"{mode}.json").write_text(json.dumps(results))
                await context.close()
            await browser.close()


async def run(mode: str) -> Results:
    kept = WORK / f"{mode}.json"
    results: Results = json.loads(kept.read_text()) if kept.exists() else {}
    every = [path for name in SETS for path in read_files(name)]
    paths = [path for path in every if path not in results and (TESTS / path.split("?")[0]).exists()]
    if mode == "plain":
        handler = functools.partial(Handler, directory=str(TESTS))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        await play_all(mode, f"http://localhost:{server.server_port}", paths, results)
        server.shutdown()
        return results
    games = OneGame(PageFolder(TESTS, WORK / "runs"))
    app = PageGameMiddleware(nothing_else, games=games, web_dir=ROOT / "backend" / "attract" / "web")
    async with serving_app(app) as port:
        await play_all(mode, f"http://g1-{KEY}.localhost:{port}{PROBE_PAGE}", paths, results)
    return results


def report(plain: Results, held: Results, shows_lost: bool) -> None:
    def passed(result: Results | None) -> set[str]:
        return {test["name"] for test in (result or {"tests": []})["tests"] if test["status"] == PASSED}

    rows: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 2 * len(SETS))
    for at, name in enumerate(SETS):
        for path in read_files(name):
            own, given = passed(plain.get(path)), passed(held.get(path))
            tests = (held.get(path) or {"tests": []})["tests"]
            # Names may hold what differs, such as a text of an error: then they are counted.
            is_whole = len(tests) == len((plain.get(path) or {"tests": []})["tests"]) == len(given)
            lost = set() if is_whole else own - given
            for row in (
                rows["/".join(path.split("/")[: 2 if path[:4] in ("html", "css/") else 1])],
                rows["all"],
            ):
                row[2 * at] += len(own)
                row[2 * at + 1] += len(own) - len(lost)
            for test in sorted(lost) if shows_lost else ():
                print(path, test, sep=": ")
    print("| Directory | " + " | ".join(SETS) + " |\n|---|---|---|")
    for row, counts in [*sorted((row, rows[row]) for row in rows if row != "all"), ("all", rows["all"])]:
        cells = [f"{b} of {a} ({100 * b / a:.1f} %)" if a else "" for a, b in (counts[:2], counts[2:])]
        print(f"| {row} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wpt", type=Path, help="a clone of web-platform-tests")
    parser.add_argument("--lost", action="store_true", help="print what passes in Chromium alone")
    arguments = parser.parse_args()
    lay_out(arguments.wpt)
    build = [
        "npx",
        "esbuild",
        str(HERE / "driver.ts"),
        "--bundle",
        "--format=iife",
        f"--outfile={WORK / 'driver.js'}",
    ]
    subprocess.run([*build, "--log-level=error"], cwd=ROOT, check=True)
    report(asyncio.run(run("plain")), asyncio.run(run("held")), arguments.lost)


if __name__ == "__main__":
    main()
