"""A page that tries every way out, from every kind of document and thread."""

from pathlib import Path

from servers import Listeners

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


def write_page(folder: Path) -> None:
    """`index.html` and all that it loads but `try.js`, see `write_attempts`."""
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
        (folder / name).write_text(text)


def write_attempts(folder: Path, heard: Listeners, *, stays: bool = False) -> None:
    """`try.js`: the page tries to reach these listeners.

    Args:
        stays: whether it tries everything but to leave.
    """
    out = f'const OUT = "http://127.0.0.1:{heard.tcp}", UDP = {heard.udp}, STAYS = {str(stays).lower()};'
    (folder / "try.js").write_text(f"{{ {out} {TRY_ALL} globalThis.tryAll = tryAll; }}")
