/** What a page reads time by and waits with, one by one; the ideas are those of fake-timers' own tests. */

import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

test("delays that are no numbers, negative or fractions are those of a browser", () => {
  const { run, clock } = heldPage();
  run(`said = [];
    for (const delay of [2, 1.2, 0.1, 0, -5, NaN, undefined, "1", "x", null, Infinity])
      setTimeout(() => said.push(delay + "@" + performance.now()), delay);`);
  clock.tick();
  // A browser takes whole numbers of 32 bits: what is behind the point, or no number, is left out.
  const at = (ms: number, ...delays: string[]) => delays.map((delay) => `${delay}@${ms}`);
  expect(run("said")).toEqual([
    ...at(0, "0.1", "0", "-5", "NaN", "undefined", "x", "null", "Infinity"),
    ...at(1, "1.2", "1"),
    ...at(2, "2"),
  ]);
});

test("callbacks have the window as this, their arguments, and either function clears either timer", () => {
  const { run, clock } = heldPage();
  run(`said = [];
    setTimeout(function (...given) { said.push(this === window, ...given); }, 0, 1, 2);
    requestAnimationFrame(function (now) { said.push(this === window, now); });
    clearInterval(setTimeout(() => said.push("never"), 1));
    clearTimeout(setInterval(() => said.push("never"), 1));
    cancelIdleCallback(requestIdleCallback(() => said.push("never")));
    clearImmediate(setImmediate(() => said.push("never")));
    setImmediate((word) => said.push(word), "at once");
    for (const id of [undefined, null, -1, 1e9, "x", {}]) clearTimeout(id);`);
  clock.tick();
  expect(run("said")).toEqual([true, 1, 2, "at once", true, 17]);
});

test("what a tick's callback cancels does not run, be it a timer of that moment, a frame, or itself", () => {
  const { run, clock } = heldPage();
  run(`said = [];
    setTimeout(() => { said.push("first"); clearTimeout(second); cancelAnimationFrame(frame); }, 3);
    second = setTimeout(() => said.push("never"), 3);
    frame = requestAnimationFrame(() => said.push("never"));
    requestAnimationFrame(() => cancelAnimationFrame(later));
    later = requestAnimationFrame(() => said.push("never"));
    let count = 0;
    every = setInterval(() => { if (++count === 2) { said.push("twice"); clearInterval(every); } }, 4);`);
  for (let i = 0; i < 3; i++) clock.tick();
  expect(run("said")).toEqual(["first", "twice"]);
});

test("an interval keeps its phase over ticks that are no multiple of it", () => {
  const { run, clock } = heldPage();
  run("said = []; setInterval(() => said.push(performance.now()), 10)");
  for (let i = 0; i < 6; i++) clock.tick();
  expect(run("said")).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
});

test("dates without a date are virtual, however they are asked for; all others are the browser's", () => {
  const { run, clock } = heldPage();
  clock.tick();
  const now = Date.UTC(2024, 0, 1) + 17;
  expect(
    run(
      "[Date.now(), +new Date(), new Date().getTime(), Date.parse(Date()), +new (class extends Date {})()]",
    ),
  ).toEqual([now, now, now, now - 17, now]);
  expect(
    run(
      "[new Date() instanceof Date, new Date().constructor === Date, Date.length, Date.name, typeof Date()]",
    ),
  ).toEqual([true, true, 7, "Date", "string"]);
  expect(
    run(`["2020-02-03", "2020-02-03T04:05:06Z", 5, "nonsense"].map((given) => +new Date(given))`),
  ).toEqual([Date.UTC(2020, 1, 3), Date.UTC(2020, 1, 3, 4, 5, 6), 5, Number.NaN]);
  expect(
    run("[Date.UTC(2020, 0), +new Date(2020, 1, 3) - +new Date(2020, 1, 2), +new Date(new Date(7))]"),
  ).toEqual([Date.UTC(2020, 0), 24 * 3600 * 1000, 7]);
  const year = "new Intl.DateTimeFormat('en', { year: 'numeric', timeZone: 'UTC' })";
  expect(run(`[${year}.format(), ${year}.format(0), ${year}.formatToParts()[0].value]`)).toEqual([
    "2024",
    "1970",
    "2024",
  ]);
  expect(run("typeof Temporal === 'undefined' ? 2024 : Temporal.Now.plainDateISO().year")).toBe(2024);
});

test("a page that is loaded for an episode begins at a date of that episode's seed, by every clock", () => {
  const dates = [0, 1, 2, 2 ** 32 - 1].map((dateSeed) => {
    const { run, clock } = heldPage({ dateSeed });
    clock.tick();
    const now = Number(run("Date.now()"));
    expect(run("[performance.now(), performance.timeOrigin, +new Date(), Date.parse(Date())]")).toEqual([
      17,
      now - 17,
      now,
      Math.floor(now / 1000) * 1000,
    ]);
    expect(heldPage({ dateSeed }).run("Date.now()")).toBe(now - 17);
    return now;
  });
  expect(new Set(dates).size).toBe(4);
  for (const date of dates) expect(new Date(date).getUTCFullYear()).toBe(2024);
  // Hours, days and milliseconds alike: a game may draw its chance from any of them.
  for (const part of [60_000, 1000]) expect(new Set(dates.map((date) => date % part)).size).toBe(4);
});

test("marks and measures are of virtual time", () => {
  const { run, clock } = heldPage();
  clock.tick();
  run("a = performance.mark('a')");
  clock.tick();
  run("b = performance.mark('b', { startTime: 20 })");
  expect(run("[a.startTime, b.startTime]")).toEqual([17, 20]);
  const measured = (given: string) =>
    run(`(({ startTime, duration }) => [startTime, duration])(performance.measure("m"${given}))`);
  expect(measured("")).toEqual([0, 34]);
  expect(measured(", 'a'")).toEqual([17, 17]);
  expect(measured(", 'a', 'b'")).toEqual([17, 3]);
  expect(measured(", { start: 5, duration: 2 }")).toEqual([5, 2]);
  expect(measured(", { start: 'a' }")).toEqual([17, 17]);
});

test("tasks, yields and time limits wait for their ticks", async () => {
  const { run, clock } = heldPage();
  run(`said = [];
    const late = new AbortController();
    scheduler.postTask(() => { said.push("task"); return 7; }).then((value) => said.push(value));
    scheduler.postTask(() => said.push("later"), { delay: 20 });
    scheduler.postTask(() => said.push("never"), { signal: late.signal, delay: 5 }).catch((e) => said.push(e.name));
    late.abort();
    scheduler.yield().then(() => said.push("yielded"));
    const limit = AbortSignal.timeout(20);
    limit.onabort = () => said.push(limit.reason.name + performance.now());`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  await turns();
  expect(run("said.splice(0).sort()")).toEqual([7, "AbortError", "task", "yielded"]);
  clock.tick();
  await turns();
  expect(run("said")).toEqual(["TimeoutError20", "later"]);
});

test("channels deliver in the order of sending, to ports that are open, copies of what was sent", () => {
  const { run, clock } = heldPage();
  run(`said = [];
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", ({ data }) => said.push(data.n));
    port1.start();
    const sent = { n: 1 };
    port2.postMessage(sent);
    sent.n = 9;
    port2.postMessage({ n: 2 });
    setTimeout(() => said.push("timer"), 0);
    port2.postMessage({ n: 3 });
    port1.close();
    port2.postMessage({ n: 4 });`);
  clock.tick();
  expect(run("said")).toEqual([1, 2, "timer", 3]);
});

test("idle time ends by being looked at, and a date that the browser made is a date", () => {
  const { run, clock } = heldPage();
  run(
    `looks = 0; requestIdleCallback((deadline) => { while (deadline.timeRemaining() > 0) looks++; kind = deadline instanceof IdleDeadline; })`,
  );
  clock.tick();
  expect(
    run("[looks, kind, structuredClone(new Date()) instanceof Date, new Date().constructor === Date]"),
  ).toEqual([50, true, true, true]);
});

test("a loop that works between its looks at the clock waits for 20,000 of them once", () => {
  const { run, clock } = heldPage();
  run(
    `rounds = 0; setTimeout(() => { const from = performance.now(); while (performance.now() - from < 8) rounds++; })`,
  );
  clock.tick();
  // 20,000 looks for the first millisecond, and 50 for each of the seven others.
  expect(run("rounds")).toBe(20_000 + 7 * 51 - 1);
});

test("what a timer throws is told to the page's own handlers, and kept", () => {
  const { run, clock } = heldPage();
  run(`said = []; onerror = (text) => said.push(text); setTimeout(() => { throw new Error("late"); })`);
  clock.tick();
  expect([run("said"), clock.errors.map(String)]).toEqual([["Uncaught Error: late"], ["Error: late"]]);
});

test("a loop that waits for events to get later ones gets on, and an event keeps its time", () => {
  const { run, clock } = heldPage();
  run(`setTimeout(() => { const first = new Event("x"); let last = first; while (last.timeStamp === first.timeStamp) last = new Event("x");
    said = [first.timeStamp, last.timeStamp - first.timeStamp]; })`);
  clock.tick();
  expect(run("said")).toEqual([0, 1]);
});
