"""A game is a stranger: no browser of ours gives it a way out; one that eats memory is ended and named."""

import contextlib
import http.server
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from attract.browser.chromium import require_chromium
from attract_command import run_attract
from dashboard_page import open_page, open_part, serve

GAME = Path(__file__).with_name("hostile-game.js")
SUMMARY = re.compile(r"hostile: (\d+) ways tried, (\d+) worked, (\d+) things overheard")
WAY = re.compile(r"<([^=<>]+) = ([^<>]*)>")
HOARDER = """
import { box, defineGame, discrete } from "attract";
const hoard = [];
class Hoarder {
  start() { this.ticks = 0; return [0]; }
  update() {
    this.ticks += 1;
    for (let i = 0; i < 10; i++) hoard.push(new Array(1_000_000).fill(i + 0.5));
    return { observation: [0], reward: 1, terminated: this.ticks === 100 };
  }
}
export default defineGame({
  id: "Hoarder-v1", tickSeconds: 0.1, observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(2), create: () => new Hoarder(),
});
"""


@contextlib.contextmanager
def foreign_server() -> Iterator[tuple[str, list[str]]]:
    """An origin that gives everybody everything; and the requests that reached it."""
    heard: list[str] = []

    class Anything(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write(b"export default 1")

        def do_POST(self) -> None:
            self.do_GET()

        def do_OPTIONS(self) -> None:
            self.do_GET()

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Anything)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_game(folder: Path, foreign: str) -> Path:
    folder.mkdir(exist_ok=True)
    game = folder / "innocent.js"
    game.write_text(GAME.read_text().replace("FOREIGN_ORIGIN", foreign))
    return game


def check_outcomes(output: str) -> None:
    ways = dict(WAY.findall(output))
    worked = {name: outcome for name, outcome in ways.items() if outcome.startswith("WORKED")}
    assert not worked, worked
    summary = SUMMARY.search(output)
    assert summary is not None, output
    assert int(summary[1]) == len(ways) >= 40, "a line of the report is missing"
    assert int(summary[2]) == 0
    assert int(summary[3]) > 10, "the game heard nothing at all, so what it did not hear says nothing"


def test_hostile_01_in_a_headless_host_no_way_out_works_and_training_goes_on(tmp_path: Path) -> None:
    with foreign_server() as (foreign, heard):
        game = write_game(tmp_path / "project", foreign)
        outcome = run_attract(
            "train", str(game), "--headless", "--no-check", "--workers", "1",
            "--until-return", "80",
            runs_dir=tmp_path / "runs",
            has_own_browser=True,
        )  # fmt: skip
        output = outcome.stdout + outcome.stderr
        assert outcome.code == 0, output
        assert "goal of 80 reached" in output
        check_outcomes(output)
    assert heard == []


async def test_hostile_01_nor_in_the_dashboards_tab_where_the_admins_cookie_is(
    tmp_path: Path, browser: Browser
) -> None:
    with foreign_server() as (foreign, heard):
        project = tmp_path / "project"
        write_game(project, foreign)
        with serve(tmp_path / "runs", "--project-dir", str(project)) as address:
            async with open_page(browser, address, moves=True) as (page, complaints):
                # The browser says of each try that it was refused.
                complaints.expected.append("")
                await page.evaluate(
                    """() => {
                      globalThis.heard = [];
                      const channel = new BroadcastChannel("hostile");
                      channel.onmessage = (event) => { heard.push(event.data); channel.postMessage("here"); };
                      addEventListener("message", (event) => heard.push(event.data));
                    }"""
                )
                await page.get_by_role("radio", name=re.compile("^Innocent")).click()
                form = page.get_by_role("form", name="Train Innocent")
                await form.get_by_label("Workers", exact=True).fill("1")
                await form.get_by_role("button", name="Start training").click()
                await open_part(page, "Log")
                console = page.get_by_role("region", name="Log").get_by_role("list")
                await expect(console).to_contain_text("ways tried", timeout=60_000)
                check_outcomes(await console.inner_text())
                await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text(
                    "Training"
                )
                # The frames say that they are there; nobody says anything else.
                assert set(await page.evaluate("globalThis.heard")) == {"ready"}
                assert await page.evaluate("indexedDB.databases()") == []
                assert await page.evaluate("caches.keys()") == []
    assert heard == []


@pytest.mark.long
def test_hostile_01_a_game_that_eats_memory_is_ended_and_named(tmp_path: Path) -> None:
    game = tmp_path / "hoarder.js"
    game.write_text(HOARDER)
    # A browser with little room, so that the machine's need not be filled.
    small = tmp_path / "small-chromium"
    small.write_text(f'#!/bin/sh\nexec {require_chromium().path} "$@" --js-flags=--max-old-space-size=200\n')
    small.chmod(small.stat().st_mode | stat.S_IXUSR)
    outcome = run_attract(
        "train", str(game), "--headless", "--no-check", "--workers", "1",
        "--total-steps", "10000000",
        runs_dir=tmp_path / "runs",
        environment={"ATTRACT_CHROMIUM": str(small)},
    )  # fmt: skip
    output = outcome.stdout + outcome.stderr
    assert outcome.code == 1, output
    assert "used up the memory" in output
