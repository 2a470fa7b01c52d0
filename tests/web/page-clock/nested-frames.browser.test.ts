/** Frames within a page, each with the clock that the server puts into it. */

import { expect, test } from "vitest";
import { DEFAULT_OPTIONS, VirtualClock } from "../../../web/page-clock/src/virtual-clock.ts";
import { blankPage } from "../../support/blank-page.ts";
import { type Page, run } from "./held-page.ts";

/** A page with a frame within it, whose clock is taken as `page-clock.js` takes it. */
function opened(style = "width:80px;height:60px;position:absolute;left:10px;top:20px;border:5px solid"): {
  page: Page;
  inner: Page;
  element: HTMLIFrameElement;
  clock: VirtualClock;
} {
  const page = blankPage(200, 100) as Page;
  (page.frameElement as HTMLElement).style.cssText = "border:0;position:fixed;left:0;top:0";
  const clock = new VirtualClock(page, { ...DEFAULT_OPTIONS, size: [200, 100] });
  const element = page.document.createElement("iframe");
  element.style.cssText = style;
  page.document.body.append(element);
  const inner = element.contentWindow as Page;
  nest(page, inner);
  return { page, inner, element, clock };
}

function nest(page: Page, inner: Page): void {
  (page.attractNest as (inner: Page) => void)(inner);
}

test("a frame within a page has the page's time, from when it began, and its own timers after the page's", () => {
  const { page, inner, clock } = opened();
  const read = () =>
    [page, inner].map((one) => run(one, "[performance.now(), Date.now() - performance.timeOrigin]"));
  run(
    page,
    "said = []; setTimeout(() => said.push('page timer'), 5); requestAnimationFrame(() => said.push('page frame'))",
  );
  run(
    inner,
    "setTimeout(() => parent.said.push('inner timer'), 5); requestAnimationFrame((now) => parent.said.push(now))",
  );
  clock.tick();
  expect(run(page, "said")).toEqual(["page timer", "page frame", "inner timer", 17]);
  expect(read()).toEqual([
    [17, 17],
    [17, 17],
  ]);
  clock.align();
  expect(read()).toEqual([
    [17.5, 17],
    [17.5, 17],
  ]);
  const later = page.document.createElement("iframe");
  page.document.body.append(later);
  nest(page, later.contentWindow as Page);
  expect(run(later.contentWindow as Page, "performance.now()")).toBe(17.5);
  clock.tick();
  expect(run(later.contentWindow as Page, "performance.now()")).toBe(34.5);
});

test("chance, storage and errors are the page's, and sizes the frame's own", () => {
  const { page, inner, clock } = opened();
  const draw = () => {
    clock.seed(7);
    return [run(page, "Math.random()"), run(inner, "Math.random()"), run(page, "Math.random()")];
  };
  const first = draw();
  expect(new Set(first).size).toBe(3);
  expect(draw()).toEqual(first);
  run(inner, "localStorage.best = 5; document.cookie = 'a=1'");
  expect(run(page, "localStorage.best + document.cookie")).toBe("5a=1");
  clock.clearStorage();
  expect(run(inner, "[localStorage.best, document.cookie]")).toEqual([undefined, ""]);
  expect(run(inner, "[innerWidth, innerHeight]")).toEqual([80, 60]);
  run(inner, "requestAnimationFrame(() => { throw new Error('lost') })");
  expect(clock.isIdle).toBe(false);
  clock.tick();
  expect(clock.errors.map((error) => (error as Error).message)).toEqual(["lost"]);
  expect(clock.isIdle).toBe(true);
});

test("keys go to the document that has the focus, or to a frame that is most of the page", () => {
  const { page, inner, element, clock } = opened();
  for (const one of [page, inner])
    run(
      one,
      "heard = []; for (const n of ['keydown', 'keyup']) addEventListener(n, (e) => heard.push(e.type + e.code))",
    );
  const heard = () => {
    const all = [page, inner].map((one) => run(one, "heard.splice(0)"));
    return all;
  };
  clock.hold(["KeyA"]);
  expect(heard()).toEqual([["keydownKeyA"], []]);
  // What was held in one document is let go where the other takes over.
  element.focus();
  clock.hold(["KeyA"]);
  expect(heard()).toEqual([["keyupKeyA"], ["keydownKeyA"]]);
  clock.release();
  clock.point([150, 90], true);
  clock.hold(["KeyB"]);
  expect(heard()).toEqual([["keydownKeyB"], ["keyupKeyA"]]);
  run(inner, "focus()");
  clock.hold(["KeyB"]);
  expect(heard()).toEqual([["keyupKeyB"], ["keydownKeyB"]]);
  element.remove();
  clock.hold(["KeyC"]);
  expect(heard()[0]).toEqual(["keydownKeyC"]);

  const most = opened("width:190px;height:90px");
  run(most.inner, "heard = []; addEventListener('keydown', (e) => heard.push(e.code))");
  most.clock.hold(["Space"]);
  expect(run(most.inner, "heard")).toEqual(["Space"]);
});

test("the pointer reaches what is under it in the frame, at that frame's own places", () => {
  const { page, inner, clock } = opened();
  for (const one of [page, inner])
    run(
      one,
      "heard = []; for (const n of ['mousedown', 'mouseup', 'click']) addEventListener(n, (e) => heard.push([n, e.clientX, e.clientY]))",
    );
  clock.point([40, 50], true);
  clock.point([40, 50], false);
  expect(run(inner, "heard")).toEqual([
    ["mousedown", 25, 25],
    ["mouseup", 25, 25],
    ["click", 25, 25],
  ]);
  expect(run(page, "heard")).toEqual([]);
  // Pressed in the frame, and let go where the pointer leaves it.
  clock.point([40, 50], true);
  clock.point([150, 90], true);
  expect(run(inner, "heard.at(-2)[0]")).toBe("mouseup");
  expect(run(page, "heard")).toEqual([["mousedown", 150, 90]]);
});

test("with its page what a frame left to be called is over", () => {
  const { page, inner, element, clock } = opened();
  run(page, "count = 0");
  run(inner, "setInterval(() => parent.count++, 10)");
  clock.tick();
  expect(page.count).toBe(1);
  element.remove();
  for (let i = 0; i < 5; i++) clock.tick();
  expect(page.count).toBe(1);
  expect(clock.isIdle).toBe(true);
});

test("a frame in a shadow root is under the pointer", () => {
  const { page, clock, inner: first } = opened();
  first.frameElement?.remove();
  const host = page.document.body.appendChild(page.document.createElement("p"));
  const element = page.document.createElement("iframe");
  element.style.cssText = "width: 80px; height: 60px; position: absolute; left: 10px; top: 20px; border: 0";
  host.attachShadow({ mode: "open" }).append(element);
  const inner = element.contentWindow as Page;
  nest(page, inner);
  run(inner, "said = []; onclick = ({ clientX, clientY }) => said.push([clientX, clientY])");
  clock.point([30, 50], true);
  clock.lift();
  expect(run(inner, "said")).toEqual([[20, 30]]);
});
