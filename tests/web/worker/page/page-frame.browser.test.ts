import { afterEach, describe, expect, test, vi } from "vitest";
import { made } from "../../../../web/sdk/src/page/made.ts";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import { isOver, ownError, PageFrame } from "../../../../web/worker/src/page/page-frame.ts";
import { hop, numFrames } from "./hop-page.ts";

const loaded: PageFrame[] = [];

afterEach(() => {
  for (const frame of loaded.splice(0)) frame.remove();
});

async function load(definition = hop()): Promise<PageFrame> {
  const adapter = definition.page!;
  const frame = await PageFrame.load(adapter, adapter.page, { draws: false });
  loaded.push(frame);
  return frame;
}

test("a page is laid out at its size, where the browser keeps it up to date", async () => {
  const { window: page } = await load();
  expect([page.innerWidth, page.innerHeight, page.document.documentElement.clientWidth]).toEqual([
    60, 40, 60,
  ]);
  // Off the screen it would not: the ends of transitions would wait there for ever.
  const { left, top } = page.frameElement.getBoundingClientRect();
  expect([left, top]).toEqual([0, 0]);
});

test("its first episode is played for nothing, and every episode begins in the same phase of a second with what the page kept as it loaded", async () => {
  const frame = await load(hop({ prepare: (w) => w.localStorage.setItem("volume", "0.5") }));
  expect(frame.window.localStorage.best).toBeDefined();
  frame.window.localStorage.volume = "0";
  frame.begin(5);
  expect(frame.window.localStorage.best).toBeUndefined();
  expect(frame.window.localStorage.volume).toBe("0.5");
  expect(frame.clock.now % 1000).toBe(34.5);
  const first = frame.window.look().y;
  frame.begin(6);
  expect(frame.window.look().y).not.toBe(first);
  frame.begin(5);
  expect(frame.window.look().y).toBe(first);
});

test("an episode takes the same steps of 1/60 s and draws the same chance in a new page as in one that has played", async () => {
  const prepare = (w: PageWindow) =>
    w.eval(`var steps = [], left = 0, before = null;
      requestAnimationFrame(function step(now) {
        // As engines do: what is drawn first is made then, and the first frame takes no time.
        if (before === null) Math.random();
        left += before === null ? 0 : (now - before) / 1000;
        before = now;
        for (steps.push(0); left >= 1 / 60; left -= 1 / 60) steps[steps.length - 1]++;
        requestAnimationFrame(step);
      })`);
  const played = (frame: PageFrame) => {
    frame.begin(5);
    frame.window.eval("steps.length = 0");
    for (let tick = 0; tick < 20; tick++) frame.tick();
    return [frame.window.eval("steps").join(""), frame.window.look().y];
  };
  const fresh = played(await load(hop({ prepare, reset: "reload" })));
  expect(fresh[0]).toBe("1".repeat(20));
  const used = await load(hop({ prepare }));
  for (let play = 0; play < 20; play++) expect(played(used)).toEqual(fresh);
});

test("a menu is pressed through until the game plays; one that never does is named", async () => {
  const menu = hop({
    restart: (w) => w.eval(`state = "menu"`),
    menu: (_w, page) => page.hold(page.ticks === 3 ? ["Enter"] : []),
    // Undefined until it is set: as good as false.
    playing: (w) => (w.look().state === "playing" ? true : undefined) as boolean,
  });
  const frame = await load(menu);
  frame.begin(1);
  expect([frame.ticks, frame.window.look().state]).toEqual([4, "playing"]);
  await expect(load(hop({ playing: () => false }))).rejects.toThrow("did not begin within 1200 frames");
});

test("a page that went elsewhere is no game any more", async () => {
  const frame = await load();
  frame.window.location.href = "about:blank";
  await expect
    .poll(() => {
      try {
        frame.tick();
        return "";
      } catch (error) {
        return String(error);
      }
    })
    .toContain("went to another address");
  // Whatever reading such a page throws.
  expect(String(frame.explain(new TypeError("w.look is not a function")))).toContain(
    "went to another address",
  );
});

test("a page that goes elsewhere while it loads is named, and leaves no frame", async () => {
  const page = `<script>parent.attractTestClock(window); location.href = "data:text/html,elsewhere";</script>`;
  const leaving = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  await expect(PageFrame.load(hop().page!, leaving, {})).rejects.toThrow("went to another address");
  expect(numFrames()).toBe(0);
});

test("a page that is not there is named, and leaves no frame", async () => {
  const adapter = hop().page!;
  const nothing = URL.createObjectURL(new Blob(["<p>none</p>"], { type: "text/html" }));
  await expect(PageFrame.load(adapter, nothing, {})).rejects.toThrow("could not be had");
  expect(numFrames()).toBe(0);
});

test("where made() was first called too late, what is not ready says so", async () => {
  const { page } = hop({ ready: (w: PageWindow) => made(w, "Phaser.Game").length > 0 });
  await expect(PageFrame.load(page!, page!.page, {})).rejects.toThrow(
    /still false after 2000 frames; made\(w, "Phaser.Game"\) has found nothing: call it in prepare, before/,
  );
});

test("a page that asks its server for something in vain says so where it does not become ready", async () => {
  const asks = (w: PageWindow): unknown =>
    w.fetch(`${w.location.origin}/no/level.json`).catch(() => undefined);
  const { page } = hop({ loaded: asks, ready: () => false });
  await expect(PageFrame.load(page!, page!.page, {})).rejects.toThrow(
    /still false after 2000 frames\. The page asks for \/no\/level\.json, which is not there: if the game needs it, build/,
  );
});

test("what a page still loads where it does not become ready is said, and waited for only once", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 5000;
    return now;
  });
  // The body never comes.
  const asks = (w: PageWindow): unknown => w.WebAssembly.compileStreaming(new Promise(() => undefined));
  const { page } = hop({ loaded: asks, ready: () => false });
  await expect(PageFrame.load(page!, page!.page, {})).rejects.toThrow(
    /still false after 2000 frames; still loading after 20 s: compileStreaming\(\)$/,
  );
  vi.restoreAllMocks();
});

test("of several agents all must have ended", () => {
  expect([isOver(true), isOver(false), isOver([true, false]), isOver([true, true])]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

describe("what a page threw", () => {
  const thrown = (...frames: string[]): object => ({
    name: "TypeError",
    message: "Illegal invocation",
    stack: ["TypeError: Illegal invocation", ...frames.map((frame) => `    at ${frame}`)].join("\n"),
  });

  test("is said with its first place in the page's own files", () => {
    const error = ownError(
      thrown(
        "define (http://g1-19ad.localhost:8000/.attract/page-clock.js:1:2)",
        "new THREE.WebGLRenderer (http://g1-19ad.localhost:8000/js/Three.js?v=49:334:511)",
        "http://g1-19ad.localhost:8000/index.html:289:28",
      ),
    );
    expect(String(error)).toBe("TypeError: Illegal invocation (js/Three.js:334:511)");
    expect((error as Error).stack).toContain("page-clock.js");
    expect(ownError(error)).toBe(error);
  });

  test("has no place where none is the page's, and is itself where it is no error", () => {
    expect(String(ownError(thrown("blob:http://localhost:8000/ae15-99:14:5", "<anonymous>:1:1")))).toBe(
      "TypeError: Illegal invocation",
    );
    expect(ownError("just words")).toBe("just words");
  });
});

test("an episode may turn a phone; the next one begins with it upright", async () => {
  const definition = hop({ device: "phone", size: undefined });
  const frame = await load(definition);
  const sizes = (): unknown => [
    frame.window.innerWidth,
    frame.window.document.documentElement.clientWidth,
    frame.window.matchMedia("(orientation: landscape)").matches,
  ];
  expect(sizes()).toEqual([412, 412, false]);
  frame.rotate();
  expect(sizes()).toEqual([839, 839, true]);
  frame.begin(1);
  expect(sizes()).toEqual([412, 412, false]);
  const desktop = await load();
  expect(() => desktop.rotate()).toThrow('device: "desktop" cannot be turned');
});
