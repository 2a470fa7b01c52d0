import { expect, test } from "vitest";
import { heldPage, servedPage } from "./held-page.ts";

const DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
/** An empty module. */
const WASM = "new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])";

test.each([
  ["an image", `image = new Image(); image.src = "${DOT}"`],
  ["an image by its attribute", `image = new Image(); image.setAttribute("src", "${DOT}")`],
  [
    "a script",
    `script = document.createElement("script"); script.src = "data:text/javascript,loaded = 1"; document.body.append(script)`,
  ],
  [
    "a frame",
    `frame = document.createElement("iframe"); frame.src = "about:blank"; document.body.append(frame)`,
  ],
  ["a request", `request = new XMLHttpRequest(); request.open("GET", "data:text/plain,x"); request.send()`],
  ["a fetch", `fetch("data:text/plain,x")`],
  ["a bitmap", `createImageBitmap(new ImageData(1, 1))`],
  ["a font", `new FontFace("none", "url(data:font/woff2;base64,AAAA)").load().catch(() => undefined)`],
  ["a decoded image", `decoded = new Image(); decoded.decode().catch(() => undefined)`],
  ["compiled code", `WebAssembly.compile(${WASM})`],
  ["instantiated code", `WebAssembly.instantiate(${WASM})`],
  [
    "compiled code of a stream",
    `WebAssembly.compileStreaming(new Response(${WASM}, { headers: { "Content-Type": "application/wasm" } }))`,
  ],
  [
    "code of a stream",
    `WebAssembly.instantiateStreaming(new Response(${WASM}, { headers: { "Content-Type": "application/wasm" } }))`,
  ],
])("T5: %s is waited for until it is there", async (_, code) => {
  const { run, clock } = heldPage();
  expect(clock.numLoading).toBe(0);
  run(code);
  expect(clock.numLoading).toBe(1);
  await expect.poll(() => clock.numLoading).toBe(0);
});

test("T5: a request that asks for the next file when one is there is waited for until the last is", async () => {
  const { run, clock, page } = await servedPage();
  Object.assign(page, { numLoading: () => clock.numLoading });
  run(`counts = []; left = ["b", "c"]; request = new XMLHttpRequest();
    const ask = (text) => {
      request.open("GET", location.origin + "/no/" + text);
      request.send();
      // The end of a request is told once the next is sent, also to who listens for the end of that.
      request.addEventListener("loadend", async () => {
        for (let turn = 0; turn < 20; turn++) await null;
        counts.push(numLoading());
      }, { once: true });
    };
    request.onload = () => { if (left.length > 0) ask(left.shift()); };
    ask("a");`);
  await expect.poll(() => run("counts")).toEqual([1, 1, 1]);
  await expect.poll(() => clock.numLoading).toBe(0);
});

test.each([
  ["is opened again", "request.open('GET', 'data:text/plain,y')"],
  ["is aborted", "request.abort()"],
])("T5: a request that %s is waited for no more", async (_, end) => {
  const { run, clock } = heldPage();
  run(`request = new XMLHttpRequest(); request.open("GET", "data:text/plain,x"); request.send()`);
  expect(clock.numLoading).toBe(1);
  run(end);
  await expect.poll(() => clock.numLoading, { timeout: 500 }).toBe(0);
});

test("T5: a request that cannot be sent is not waited for", () => {
  const { run, clock } = heldPage();
  expect(() => run(`new XMLHttpRequest().send()`)).toThrow();
  expect(clock.numLoading).toBe(0);
});

test("what is under way has its path as a name", async () => {
  const { run, clock } = await servedPage();
  run(`fetch(location.origin + "/no/level.json?t=1").catch(() => undefined);
    request = new XMLHttpRequest(); request.open("GET", location.origin + "/no/music.ogg"); request.send();
    road = new Image(); road.src = location.origin + "/no/road.png";
    createImageBitmap(new ImageData(1, 1));`);
  expect(clock.pending).toEqual(["/no/level.json", "/no/music.ogg", "/no/road.png", "createImageBitmap()"]);
  await expect.poll(() => clock.pending).toEqual([]);
});

test("T5: what a page asks its own server for in vain is said, with its path", async () => {
  const { run, clock } = await servedPage();
  run(`fetch(location.origin + "/no/level.json").catch(() => undefined);
    request = new XMLHttpRequest(); request.open("GET", location.origin + "/no/sprites.bin"); request.send();
    script = document.createElement("script"); script.src = location.origin + "/no/game.min.js";
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet"; sheet.href = location.origin + "/no/styles.css";
    document.body.append(script, sheet);
    road = new Image(); road.src = location.origin + "/no/road.png";
    const logo = document.createElement("div");
    logo.innerHTML = "<img src='" + location.origin + "/no/logo.png'>";
    document.body.append(logo);
    // It is there, and no image, and not the style sheet that is asked for: one that imports what is refused fails, too.
    other = new Image(); other.src = location.href;
    const style = document.createElement("link");
    style.rel = "stylesheet"; style.href = location.href; style.integrity = "sha256-" + "A".repeat(43) + "="; style.onerror = () => { failed = true; };
    document.body.append(style);`);
  await expect.poll(() => run("self.failed")).toBe(true);
  await expect.poll(() => clock.numLoading).toBe(0);
  await expect
    .poll(() => [...clock.unheld].sort())
    .toEqual([
      "asks for /no/game.min.js, which is not there",
      "asks for /no/level.json, which is not there",
      "asks for /no/logo.png, which is not there",
      "asks for /no/road.png, which is not there",
      "asks for /no/sprites.bin, which is not there",
      "asks for /no/styles.css, which is not there",
    ]);
});

test("T5: what a page sends to a server in vain is no file that it lacks", async () => {
  const { run, clock } = await servedPage();
  run(`fetch(location.origin + "/no/score", { method: "post" }).catch(() => 0);
    fetch(new Request(location.origin + "/no/load", { method: "PUT" })).catch(() => 0);
    const request = new XMLHttpRequest();
    request.open("POST", location.origin + "/no/hits");
    request.send();
    fetch(location.origin + "/no/level.json", { method: "get" }).catch(() => 0);`);
  await expect.poll(() => clock.numLoading).toBe(0);
  await expect
    .poll(() => [...clock.unheld.of("file")])
    .toEqual(["asks for /no/level.json, which is not there"]);
  expect(clock.unheld.of("other").sort()).toEqual([
    "sends data to /no/hits, which does not answer here",
    "sends data to /no/load, which does not answer here",
    "sends data to /no/score, which does not answer here",
  ]);
});

test("T5: a page that asks again and again is named for a few paths, each once", async () => {
  const { run, clock } = await servedPage();
  run(`for (let i = 0; i < 20; i++) {
    fetch(location.origin + "/no/score?t=" + i).catch(() => undefined);
    fetch(location.origin + "/no/" + i).catch(() => undefined);
  }`);
  await expect.poll(() => clock.numLoading).toBe(0);
  const named = [...clock.unheld].filter((what) => what.startsWith("asks for /no/"));
  expect(named).toHaveLength(8);
  expect(named.filter((what) => what.includes("score"))).toEqual(["asks for /no/score, which is not there"]);
});

test("T5: a script of another server that a page's own text names is said, with what to do", async () => {
  const { run, clock } = await servedPage();
  // Written by the page's text, so that no override sees it.
  run(`const text = '<script src="https://games.example.invalid/engine.js"></' + "script>";
    document.body.append(document.createRange().createContextualFragment(text));`);
  await expect
    .poll(() => [...clock.unheld])
    .toEqual([
      "loads https://games.example.invalid/engine.js, which it does not get: where the game needs it, save it beside the page, and name it there",
    ]);
});

test("T5: a script of a published package is asked for, and what to do is said where it does not come", async () => {
  const { run, clock } = await servedPage();
  run(`for (const host of ["unpkg.com", "games.example.invalid"]) {
    const script = document.createElement("script");
    script.src = "https://" + host + "/attract-no-such-package@0/engine.js";
    document.body.append(script);
  }`);
  await expect
    .poll(() => [...clock.unheld].sort())
    .toEqual([
      "loads https://unpkg.com/attract-no-such-package@0/engine.js, which did not come: is there a network? save it beside the page, and name it there",
      "requests data from games.example.invalid, which is blocked",
    ]);
});

test("a frame of another server is said, with its name", async () => {
  const { run, clock } = heldPage();
  run(`document.body.innerHTML = '<iframe src="https://games.example.com/play.html"></iframe>'`);
  await expect
    .poll(() => [...clock.unheld].join())
    .toContain("has a frame of games.example.com within the page");
});

test("what is fetched is there as a whole, with its address and status", async () => {
  const { run, clock } = heldPage();
  run(`fetch("data:text/plain,whole").then((response) => { got = response; })`);
  await expect.poll(() => clock.numLoading).toBe(0);
  await expect.poll(() => run("typeof got")).toBe("object");
  expect(run("[got.ok, got.status, got.url]")).toEqual([true, 200, "data:text/plain,whole"]);
});

test("a page that asks for threads is told of none where the browser has none, and the clock says so", () => {
  const { run, clock } = heldPage();
  run("document.createElement('canvas').transferControlToOffscreen()");
  expect([...clock.unheld].join()).toContain("hands its canvas to a web worker");
  expect(run("[crossOriginIsolated, typeof SharedArrayBuffer]")).toEqual([false, "undefined"]);
  expect([...clock.unheld].join()).toContain("asks for threads (SharedArrayBuffer)");
});
