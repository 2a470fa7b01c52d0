import { expect, test } from "vitest";
import { nameOf } from "../../../web/page-clock/src/surroundings.ts";
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

test.each([
  ["an address", `location.href = "data:text/html,elsewhere"`, "data:text/html,elsewhere"],
  [
    "by a key",
    `document.onkeydown = () => { location.href = "data:text/html,elsewhere" }; press(document)`,
    "data:text/html,elsewhere",
  ],
  [
    "by a press on what is played",
    `canvas.onclick = () => { location.href = "data:text/html,elsewhere" }; canvas.click()`,
    "data:text/html,elsewhere",
  ],
  [
    "after a press on a button",
    `button.click(); location.href = "data:text/html,elsewhere"`,
    "data:text/html,elsewhere",
  ],
  [
    "by a button",
    `button.onclick = () => { location.href = "data:text/html,elsewhere" }; button.firstChild.click()`,
    null,
  ],
  ["a link", `link.click()`, null],
  [
    "another server in the frame after a press on a canvas",
    `canvas.click(); location.href = "https://elsewhere.example/"`,
    null,
  ],
  [
    "another server by a key",
    `press(canvas); location.href = "https://elsewhere.example/"`,
    "https://elsewhere.example/",
  ],
  ["an address that is none", `link.href = "http://"; link.click()`, null],
  ["a link that downloads", `link.download = "a.txt"; link.click()`, null],
  ["a link that the page refuses", `link.onclick = () => false; link.click()`, null],
  ["mail", `location.href = "mailto:a@b.example"`, null],
  ["a place in the page", `location.hash = "#two"`, null],
  ["a route that the page takes over", `takesOver = true; location.href = location.href + "?two"`, null],
  ["a reload", `location.reload()`, null],
])("%s is or is no other address, and that is known at once", async (_name, code, address) => {
  const { run, clock } = await servedPage();
  run(`takesOver = false; navigation.addEventListener("navigate", (event) => {
      if (takesOver) event.intercept({ async handler() {} });
    });
    [link, button, canvas] = ["a", "button", "canvas"].map((name) => document.body.appendChild(document.createElement(name)));
    link.href = "data:text/html,elsewhere";
    button.innerHTML = "<b>Back</b>";
    press = (target) => target.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true }));`);
  run(code);
  expect(clock.leavingFor).toBe(address);
});

test("a button that leads out of the game's folder leads nowhere, and is named", async () => {
  const { run, clock } = await servedPage();
  run(
    `document.body.innerHTML = '<a href="data:text/html,elsewhere">Back</a>'; document.querySelector("a").click()`,
  );
  await turns(100);
  expect(run("document.body.textContent")).toBe("Back");
  expect([...clock.unheld]).toEqual([
    "has a link or button that leads to data:text/html,elsewhere, which is not followed",
  ]);
});

test.each([
  [
    "https://a.example/games/menu.html",
    "https://a.example/games/levels/one.html?hard",
    "levels/one.html?hard",
  ],
  ["https://a.example/games/", "https://a.example/games/?two", "?two"],
  ["https://a.example/games/menu.html?x", "https://a.example/games/", "./"],
  ["https://a.example/games/menu.html", "https://a.example/hub/key/one.html", ".../one.html"],
  ["https://a.example/games/menu.html", "https://a.example/", ".../"],
  [
    "https://a.example/games/menu.html",
    "https://b.example/games/one.html",
    "https://b.example/games/one.html",
  ],
  ["about:srcdoc", "data:text/html,elsewhere", "data:text/html,elsewhere"],
])("from %s, %s is called %s, wherever the folder is served", (page, address, name) => {
  expect(nameOf(address, page)).toBe(name);
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

test("a phone is one by every sign that a page may ask for, and is turned in a tick", async () => {
  const { run, clock, frame } = heldPage({ device: "phone", size: [412, 839], touch: true });
  const resize = (width: number, height: number): void => {
    frame.style.cssText = `border:0;width:${width}px;height:${height}px`;
    clock.resize([width, height]);
  };
  resize(412, 839);
  run(`document.head.innerHTML = \`<style>
      @media (pointer: coarse) and (-webkit-min-device-pixel-ratio: 2) { body { color: rgb(1, 2, 3) } }
      @supports (color: red) { @media (any-hover) { body { color: red } } }
      @media (max-width: 500px) { body { margin: 7px } }</style>\`;
    said = []; wide = matchMedia("(min-device-width: 500px)"); hear = (target, name) => target.addEventListener(name, (event) => said.push(name + innerWidth + event.isTrusted));
    style = () => [getComputedStyle(document.body).color, getComputedStyle(document.body).marginTop].join(" ")`);
  await turns(0);
  expect(
    run(`[devicePixelRatio, navigator.maxTouchPoints, /Android.*Mobile/.test(navigator.userAgent), navigator.userAgentData?.mobile ?? true,
      "ontouchstart" in window, "onorientationchange" in window, orientation, screen.orientation.type, screen.availHeight, style(),
      ...["(pointer: coarse)", "(hover: none)", "(hover)", "(resolution: 2.625dppx)", "(max-resolution: 96dpi)"].map((query) => matchMedia(query).matches)]`),
  ).toEqual([
    ...[2.625, 5, true, true, true, true, 0, "portrait-primary", 839, "rgb(1, 2, 3) 7px"],
    ...[true, true, false, true, false],
  ]);
  run(
    `hear(window, "resize"); hear(window, "orientationchange"); hear(screen.orientation, "change"); hear(wide, "change")`,
  );
  resize(839, 412);
  expect(run("[said, wide.media]")).toEqual([[], "(min-device-width: 500px)"]);
  clock.tick();
  await turns(50);
  expect(run("[said, wide.matches, orientation, screen.orientation.type, screen.width, style()]")).toEqual([
    ["orientationchange839false", "change839false", "resize839false", "change839false"],
    ...[true, 90, "landscape-primary", 839, "rgb(1, 2, 3) 8px"],
  ]);
});
