"""Pages that load an engine from where packages are published, as most tutorials do."""

import asyncio
import http.server
import re
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from attract.browser.chromium import launch_switches, require_chromium
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.server.app_server import serving_app
from attract.server.page_games import PageGameMiddleware, nothing_else
from attract_command import run_attract

CERTIFICATE = Path(__file__).parents[1] / "data" / "self-signed.pem"
"""Key and certificate of no real server, for servers that a test's browser is made to trust."""
ENGINE = "globalThis.counter = { count: 0, press: () => { counter.count += 1; } };"
MODULE = "export const step = 10;"
STYLE = "#ship { width: 70px; }"
PAGE = """<!doctype html><title>Counter</title>
<script src="https://cdn.jsdelivr.net/npm/counter@1/counter.js"></script>
<link rel="stylesheet" href="https://unpkg.com/looks@1/looks.css"><div id="ship"></div>
<script type="importmap">{"imports": {"steps": "https://unpkg.com/steps@1/steps.mjs"}}</script>
<script type="module">
  import { step } from "steps";
  window.step = step;
  addEventListener("keydown", () => counter.press());
</script>
"""
ADAPTER = """import { box, definePageGame, discrete } from "attract/page";

export default definePageGame({
  id: "Counter-v1",
  page: "index.html",
  maxSeconds: 5,
  observation: box({ low: 0, high: 1e6, shape: [2] }),
  action: discrete(["wait", "press"]),
  keys: { wait: [], press: ["Space"] },
  ready: (w) => w.step !== undefined,
  restart: (w) => { w.counter.count = 0; },
  observe: (w) => [w.counter.count * w.step, w.document.getElementById("ship").offsetWidth],
  score: (w) => w.counter.count,
  over: () => false,
});
"""


class Packages(http.server.BaseHTTPRequestHandler):
    """A package's files."""

    def do_GET(self) -> None:
        kind = self.path.rsplit(".", 1)[1]
        body = {"mjs": MODULE, "css": STYLE, "js": ENGINE}[kind].encode()
        self.send_response(200)
        self.send_header("content-type", "text/css" if kind == "css" else "text/javascript")
        self.send_header("access-control-allow-origin", "*")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a server of packages on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Packages)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "counter.page.ts").write_text(ADAPTER)
    return tmp_path


async def seen_in_page(folder: Path, packages: int) -> list[object]:
    """What the page has of its packages, under the policy and with the browser that pages of games get.

    `packages`: port of the server that stands for those of packages.
    """
    library = GameLibrary(folder)
    module = await library.resolve(str(folder / "counter.page.ts"))
    app = PageGameMiddleware(nothing_else, games=library, web_dir=PACKAGE_DIR / "web")
    async with serving_app(app) as server, async_playwright() as playwright:
        url = f"http://g1-{module.reference.sha256[:32]}.localhost:{server}/index.html"
        # The rules stay as they are, but for where those two names lead.
        switches = [
            re.sub(r"(cdn\.jsdelivr\.net|unpkg\.com):443 \1", rf"\1:443 127.0.0.1:{packages}", switch)
            for switch in launch_switches(url)
        ]
        browser = await playwright.chromium.launch(
            executable_path=require_chromium().path, args=[*switches, "--ignore-certificate-errors"]
        )
        page = await browser.new_page()
        await page.goto(url)
        seen = await page.evaluate("[typeof counter, window.step ?? null, ship.offsetWidth]")
        await browser.close()
    return seen


def test_a_page_gets_scripts_modules_and_styles_of_published_packages(folder: Path, port: int) -> None:
    # Not by the trials of page games, whose tab takes no policy.
    assert asyncio.run(seen_in_page(folder, port)) == ["object", 10, 70]


def test_without_them_the_check_names_the_script_and_what_to_do(folder: Path) -> None:
    page = PAGE.replace("npm/counter@1/counter.js", "npm/@attract-no-such/nothing@0/nothing.js")
    (folder / "index.html").write_text(page)
    outcome = run_attract("check", "counter.page.ts", runs_dir=folder / "runs", folder=folder)
    assert outcome.code == 1
    said = outcome.stdout + outcome.stderr
    assert "https://cdn.jsdelivr.net/npm/@attract-no-such/nothing@0/nothing.js" in said
    assert "save it beside the page" in said
