"""A page game that tries every way out, from every kind of document and thread; listeners hear nothing."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import async_playwright
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attract.browser.chromium import launch_switches, require_chromium
from attract.games.library import GameLibrary
from attract.games.project import PACKAGE_DIR
from attract.server.app_server import serving_app
from attract.server.page_games import PageGameMiddleware
from servers import Listeners

NUM_QUIET_LOOKS = 20
"""So many looks in a row at which nothing new has come mean that nothing more will."""
LOOK_SECONDS = 0.1
OWNER = b"<!doctype html><title>Holds the game</title>"
TRY_ALL = """
// Every way that there is in `scope`, a window or a worker's global; each asks for a path of its own.
async function tryAll(kind, scope) {
  const at = (way) => `${OUT}/${kind}-${way}`;
  const attempt = (way, go) => { try { Promise.resolve(go(at(way), scope)).catch(() => 0); } catch {} };
  attempt("fetch", (url) => scope.fetch(url));
  attempt("post", (url) => scope.fetch(url, { mode: "no-cors", method: "POST", body: "x" }));
  attempt("xhr", (url) => { const r = new scope.XMLHttpRequest(); r.open("GET", url); r.send(); });
  attempt("socket", (url) => new scope.WebSocket(url.replace("http", "ws")));
  attempt("events", (url) => new scope.EventSource(url));
  attempt("import", (url) => scope.eval(`import("${url}")`));
  if (scope.importScripts) attempt("scripts", (url) => scope.importScripts(url));
  if (!scope.document) return;
  const { document } = scope;
  const XHTML = "http://www.w3.org/1999/xhtml";
  const add = (name, set) => {
    const element = Object.assign(document.createElementNS(XHTML, name), set);
    (document.body ?? document.documentElement).append(element);
    return element;
  };
  attempt("beacon", (url) => scope.navigator.sendBeacon(url, "x"));
  attempt("image", (url) => { new scope.Image().src = url; });
  attempt("script", (src) => add("script", { src }));
  attempt("frame", (src) => add("iframe", { src }));
  attempt("object", (data) => add("object", { data }));
  attempt("video", (src) => add("video", { src }).load());
  attempt("style", (url) => add("style", { textContent: `* { background: url(${url}) }` }));
  for (const rel of ["prefetch", "preload", "modulepreload", "stylesheet", "manifest"])
    attempt(rel, (href) => add("link", { rel, href, as: rel === "preload" ? "fetch" : "" }));
  attempt("ping", (ping) => add("a", { ping, href: "#x" }).click());
  attempt("stun", () => {
    const peer = new scope.RTCPeerConnection({ iceServers: [{ urls: `stun:127.0.0.1:${UDP}` }] });
    peer.createDataChannel("x");
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  });
  if (STAYS) return;
  attempt("open", (url) => scope.open(url));
  const { submit } = scope.HTMLFormElement.prototype;
  // One that is refused leaves its frame as an error's page: the others still have to try.
  const send = (action, target) => submit.call(add("form", { action, method: "post", target }));
  add("iframe", { name: "sink" });
  attempt("form", (action) => send(action, "sink"));
  attempt("top", (url) => { scope.top.location = url; });
  if (kind !== "page") scope.setTimeout(() => {
    attempt("location", (url) => { scope.location = url; });
    attempt("own-form", (action) => send(action, ""));
  }, 1500);
}
"""
PAGE = """<!doctype html><body><script src="try.js"></script><script>
  const frame = (src) => document.body.append(Object.assign(document.createElement("iframe"), { src }));
  const scripts = (kind) =>
    `<script src="${location.origin}/try.js"><\\/script><script>tryAll("${kind}", self)<\\/script>`;
  const thread = (kind) => `importScripts("${location.origin}/try.js"); tryAll("${kind}", self);`;
  const blob = (text, type) => URL.createObjectURL(new Blob([text], { type }));
  const attempt = (go) => { try { Promise.resolve(go()).catch(() => 0); } catch {} };
  tryAll("page", window);
  const add = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
  for (const file of ["nested.html", "large.html", "drawn.svg", "page.xhtml", "page.xml"]) frame(file);
  attempt(() => add("embed", { src: "drawn.svg?embed" }));
  attempt(() => add("object", { data: "drawn.svg?object" }));
  frame(blob(scripts("blob"), "text/html"));
  frame("data:text/html," + encodeURIComponent(scripts("data")));
  frame("javascript:" + encodeURIComponent("'" + scripts("javascript").replaceAll("'", "\\\\'") + "'"));
  document.body.append(Object.assign(document.createElement("iframe"), { srcdoc: scripts("srcdoc") }));
  const blank = document.createElement("iframe");
  document.body.append(blank);
  tryAll("blank", blank.contentWindow);
  attempt(() => new Worker("worker.js"));
  attempt(() => new Worker("module.js", { type: "module" }));
  attempt(() => new Worker(blob(thread("blobworker"), "text/javascript")));
  attempt(() => new Worker("data:text/javascript," + encodeURIComponent(thread("dataworker"))));
</script>"""
SERVICE = """
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (!event.request.url.endsWith("/made.html")) return;
  const page = `<script src="/try.js"><` + `/script><script>tryAll("made", self)<` + `/script>`;
  event.respondWith(new Response(page, { headers: { "content-type": "text/html" } }));
});
importScripts("try.js");
tryAll("service", self);
"""
SVG = """<svg xmlns="http://www.w3.org/2000/svg"><script href="/try.js"/>
<script>tryAll("svg", self)</script></svg>"""
XHTML = """<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="/try.js"></script>
<script>tryAll("KIND", self)</script></head><body/></html>"""
NESTED = """<!doctype html><body><script src="/try.js"></script><script>tryAll("KIND", self)</script>"""
# A document without the clock, which takes these away.
LARGE = """<script>
  try { new SharedWorker("/shared.js"); } catch {}
  const made = (service) => {
    if (service.active?.state !== "activated") return setTimeout(made, 50, service);
    document.body.append(Object.assign(document.createElement("iframe"), { src: "/made.html" }));
  };
  navigator.serviceWorker.register("/service.js").then(made).catch(() => 0);
</script>"""
WORKER = """importScripts("try.js"); tryAll("worker", self); try { new Worker("nested.js"); } catch {}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "esc.page.ts").write_text("export default definePageGame({})")
    files = {
        "index.html": PAGE,
        "nested.html": NESTED.replace("KIND", "nested"),
        # Too large to be read and given the clock.
        "large.html": NESTED.replace("KIND", "large") + LARGE + " " * (8 * 2**20),
        "drawn.svg": SVG,
        "page.xhtml": XHTML.replace("KIND", "xhtml"),
        "page.xml": XHTML.replace("KIND", "xml"),
        "worker.js": WORKER,
        "nested.js": 'importScripts("try.js"); tryAll("nestedworker", self);',
        "module.js": 'import "./try.js"; globalThis.tryAll("module", self);',
        "shared.js": 'importScripts("try.js"); tryAll("shared", self);',
        "service.js": SERVICE,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


async def owner(scope: Scope, receive: Receive, send: Send) -> None:
    """The page that holds the thread's frame: nothing more is asked of it."""
    if scope["type"] == "http":
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]}
        )
        await send({"type": "http.response.body", "body": OWNER})


def without_policies(app: ASGIApp) -> ASGIApp:
    """The same responses, but for their policies."""

    async def bare(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_bare(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [header for header in message["headers"] if header[0] != b"content-security-policy"]
                message = {**message, "headers": kept}
            await send(message)

        scope["headers"] = [header for header in scope["headers"] if header[0] != b"service-worker"]
        await app(scope, receive, send_bare)

    return bare


async def what_comes(folder: Path, *, is_own: bool, has_policies: bool = True) -> Listeners:
    """What listeners hear while the page tries.

    Args:
        folder: of the page.
        is_own: whether the browser is started as those of training are; else as a visitor's.
        has_policies: False: the page is served without any, to see what it tries beside leaving.
    """
    library = GameLibrary(folder)
    key = library.keep("esc.page.ts", (folder / "esc.page.ts").read_bytes(), None).reference.sha256[:32]
    app: ASGIApp = PageGameMiddleware(owner, games=library, web_dir=PACKAGE_DIR / "web")
    app = app if has_policies else without_policies(app)
    with Listeners() as heard:
        stays = "false" if has_policies else "true"
        out = f'const OUT = "http://127.0.0.1:{heard.tcp}", UDP = {heard.udp}, STAYS = {stays};'
        (folder / "try.js").write_text(f"{{ {out} {TRY_ALL} globalThis.tryAll = tryAll; }}")
        async with serving_app(app) as port, async_playwright() as playwright:
            here = f"http://127.0.0.1:{port}/"
            switches = launch_switches(here)
            if not is_own:
                confining = ("--webrtc-ip-handling-policy", "--host-resolver-rules")
                switches = [switch for switch in switches if not switch.startswith(confining)]
            path = require_chromium().path
            browser = await playwright.chromium.launch(executable_path=path, args=switches)
            page = await browser.new_page()
            await page.goto(here)
            thread = f"http://g1-{key}.localhost:{port}/.attract/page-thread.html"
            add = "(src) => document.body.append(Object.assign(document.createElement('iframe'), { src }))"
            await page.evaluate(add, thread)
            frame = await page.wait_for_selector("iframe")
            held = await frame.content_frame() if frame is not None else None
            assert held is not None
            await held.wait_for_load_state()
            await held.evaluate(add, "/index.html")
            quiet, before = 0, (-1, False)
            while quiet < NUM_QUIET_LOOKS:
                await asyncio.sleep(LOOK_SECONDS)
                # WebRTC repeats an unanswered datagram for ten seconds: only the first is news.
                now = (len(heard.requests), heard.datagrams > 0)
                quiet, before = (quiet + 1 if now == before else 0), now
            await browser.close()
    return heard


async def test_a_page_gets_out_by_no_way_from_no_kind_of_document(folder: Path) -> None:
    heard = await what_comes(folder, is_own=True)
    assert (heard.requests, heard.connections, heard.datagrams) == (set(), 0, 0)


async def test_a_visitors_browser_lets_out_what_no_policy_covers_alone(folder: Path) -> None:
    heard = await what_comes(folder, is_own=False)
    assert heard.requests == set()
    assert heard.datagrams > 0, "WebRTC can be kept in by a policy now: say so in docs/SECURITY.md"


# `make test` has that none gets out; that they would, without what holds them, is for `make long`.
@pytest.mark.long
async def test_without_the_policies_each_kind_of_document_gets_out(folder: Path) -> None:
    heard = await what_comes(folder, is_own=False, has_policies=False)
    kinds = {request.partition("-")[0] for request in heard.requests}
    ways = {request.partition("-")[2] for request in heard.requests}
    assert kinds >= {"page", "nested", "large", "svg", "xhtml", "xml", "blob", "data", "srcdoc", "blank"}
    assert kinds >= {"worker", "nestedworker", "module", "blobworker", "dataworker"}
    assert ways >= {"fetch", "post", "xhr", "socket", "events", "import", "scripts", "beacon", "image"}
    assert ways >= {"script", "frame", "object", "video", "style", "stylesheet", "ping"}
    assert ways >= {"prefetch", "preload", "modulepreload"}
