import { expect, test } from "vitest";
import { heldPage, servedPage, turns } from "./held-page.ts";

test("T5: what happens to the window in real time does not reach the page: its size, its focus", async () => {
  const { run, frame } = heldPage({ size: [640, 300] });
  run(`said = []; for (const name of ["resize", "focus", "blur", "visibilitychange"])
    for (const target of [window, document]) target.addEventListener(name, (event) => said.push(name + event.isTrusted))`);
  frame.style.width = "500px";
  await turns(100);
  expect(frame.clientWidth).toBe(500);
  expect(run("[said, innerWidth, outerHeight, screen.availWidth]")).toEqual([[], 640, 300, 640]);
  // The page's own events do.
  run(`dispatchEvent(new Event("resize"))`);
  expect(run("said")).toEqual(["resizefalse"]);
});

test("nobody is asked for anything, and what needs a person is granted without one", async () => {
  const { run, clock } = heldPage();
  run(`said = []; document.addEventListener("pointerlockchange", ({ target }) => said.push(target.tagName + (document.pointerLockElement === target)));
    document.body.requestFullscreen().then(() => said.push("full " + document.fullscreenElement.tagName));
    document.body.requestPointerLock().then(() => said.push("locked"));`);
  clock.tick();
  await turns(0);
  expect(run("said")).toEqual(["BODYtrue", "full BODY", "locked"]);
  run(`said = []; document.exitFullscreen().then(() => said.push("left")); document.exitPointerLock()`);
  clock.tick();
  await turns(0);
  expect(run("[said, document.fullscreenElement, document.pointerLockElement]")).toEqual([
    ["BODYfalse", "left"],
    null,
    null,
  ]);
  expect(
    run(
      `[alert("x"), confirm("x"), prompt("x", "y"), open("about:blank"), print(), navigator.hardwareConcurrency,
        navigator.getGamepads(), "vibrate" in navigator ? navigator.vibrate(5) : true]`,
    ),
  ).toEqual([undefined, true, null, null, undefined, 2, [null, null, null, null], true]);
});

test.each(["localStorage", "sessionStorage"])("%s is an area like a browser's, in memory", (name) => {
  const { run, clock } = heldPage();
  expect(
    run(`area = ${name}; area.setItem("a", 1); area.b = { toString: () => "two" };
      [area.getItem("a"), area.b, area.getItem("c"), area.c, area.length, area.key(1), area.key(2), "a" in area, "c" in area]`),
  ).toEqual(["1", "two", null, undefined, 2, "b", null, true, false]);
  expect(
    run(
      `delete area.a; area.c = 3; area.removeItem("c"); [Object.keys(area), JSON.stringify(area), area === ${name}]`,
    ),
  ).toEqual([["b"], '{"b":"two"}', true]);
  expect(run("area.clear(); area.length")).toBe(0);
  run(`area.d = 4`);
  clock.clearStorage();
  expect(run(`${name}.length`)).toBe(0);
});

test("a page that asks to be loaded anew stays, and that it has asked is known until the next episode", async () => {
  const { run, clock } = await servedPage();
  run(`kept = 1; history.pushState({}, "", location.href); location.hash = "#level-2"`);
  await turns();
  expect(clock.isReloadDue).toBe(false);
  run("location.reload()");
  await turns(100);
  expect([clock.isReloadDue, run("kept")]).toEqual([true, 1]);
  clock.clearStorage();
  expect(clock.isReloadDue).toBe(false);
});

test("an area is a Storage: a page may add to its prototype, and what does not fit is refused", () => {
  const { run } = heldPage();
  expect(
    run(`Storage.prototype.setObject = function (key, value) { this.setItem(key, JSON.stringify(value)); };
      localStorage.setObject("a", { b: 1 });
      [localStorage.a, localStorage instanceof Storage, Storage.prototype.getItem.call(localStorage, "a"), Object.keys(localStorage).join(), localStorage.length]`),
  ).toEqual(['{"b":1}', true, '{"b":1}', "a", 1]);
  expect(() => run(`localStorage.setItem("big", "x".repeat(6e6))`)).toThrow(/exceeded the quota/);
  expect(() => run(`localStorage.getItem()`)).toThrow(/1 argument required/);
  expect(() => run(`Storage.prototype.getItem.call({}, "a")`)).toThrow(/Illegal invocation/);
});
