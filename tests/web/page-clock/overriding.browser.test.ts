/** What the clock replaces, name by name, against the same browser without a clock: its own list, and not one of ours. */

import { expect, test } from "vitest";
import { run as runIn, servedPage, servedWindow } from "./held-page.ts";

/** Objects that a page gets from what is replaced, or of a class that is: expressions, which may await. */
const OBJECTS: readonly string[] = [
  ...[
    "performance",
    "navigator",
    "screen",
    "document",
    "history",
    "localStorage",
    "sessionStorage",
    "crypto",
  ],
  ...["performance.mark('m')", "performance.measure('m')", "new Date(5)", "AbortSignal.timeout(9)"],
  ..."new MessageChannel; new MessageChannel().port1; new MessageEvent('message')".split("; "),
  "new Promise((resolve) => { onmessage = resolve; postMessage(1, '*'); })",
  "new Promise((resolve) => requestIdleCallback(resolve))",
  ..."document.body.animate([], 1); document.timeline".split("; "),
  ..."new ResizeObserver(() => 0); new IntersectionObserver(() => 0)".split("; "),
  "new Promise((resolve) => new ResizeObserver(([entry]) => resolve(entry)).observe(document.body))",
  "new Promise((resolve) => new ResizeObserver(([entry]) => resolve(entry.contentBoxSize)).observe(document.body))",
  "new Promise((resolve) => new IntersectionObserver(([entry]) => resolve(entry)).observe(document.body))",
  ..."new AudioContext; new AudioContext().createGain(); new AudioContext().createBufferSource()".split("; "),
  ..."new AudioContext().createMediaElementSource(new Audio); new AudioContext().destination".split("; "),
  "new AudioContext().createMediaStreamDestination()",
  ..."new Audio; document.createElement('video'); scheduler; indexedDB".split("; "),
  ..."new EventSource('/x'); new WebSocket('ws://localhost:9'); new Worker('data:,')".split("; "),
  ..."new BroadcastChannel('c'); document.createElement('canvas'); document.createElement('dialog')".split(
    "; ",
  ),
  "document.createElement('canvas').getContext('2d')",
  "document.createElement('canvas').getContext('webgl')",
  "document.createElement('canvas').getContext('webgl2')",
  ..."new OfflineAudioContext(1, 1, 44100); new XMLHttpRequest; new Image; new FileReader".split("; "),
];

/** Every name of the window, of each class its static ones and those of its prototype, and those of some objects. */
const WALK = `async (objects) => {
  const kindOf = ({ value, get, set, enumerable }) => get || set ? [get && "get", set && "set"].filter(Boolean).join(" and ")
    : typeof value === "function" ? "function " + value.name + " of " + value.length
    : value === null ? "null" : typeof value;
  const found = {};
  const add = (path, object, isWhole) => {
    for (let holder = object; holder !== null && holder !== Object.prototype && holder !== Function.prototype;
        holder = isWhole ? Object.getPrototypeOf(holder) : null)
      for (const key of Reflect.ownKeys(holder)) {
        const name = path + "." + String(key);
        if (name in found) continue;
        found[name] = kindOf(Object.getOwnPropertyDescriptor(holder, key)) + (isWhole && holder !== object ? ", of " + holder.constructor?.name : "");
      }
  };
  add("window", window, true);
  for (const name of Object.getOwnPropertyNames(window)) {
    const { value } = Object.getOwnPropertyDescriptor(window, name);
    if (typeof value !== "function" || value.prototype == null || name === "Object") continue;
    found[name] = [value, value.prototype].map((one) => {
      const above = Object.getPrototypeOf(one);
      return above === null ? "null" : above === Function.prototype ? "Function.prototype" : typeof above === "function" ? above.name : above.constructor.name;
    }).join(", ") + ", " + (value.prototype.constructor === value);
    add(name, value, false);
    add(name + ".prototype", value.prototype, false);
  }
  for (const expression of objects) {
    try {
      const object = await (0, eval)("(" + expression + ")");
      const classes = [];
      for (let above = Object.getPrototypeOf(object); above !== null; above = Object.getPrototypeOf(above)) classes.push(above.constructor.name);
      found[expression] = classes.join(" < ") + ", " + Object.prototype.toString.call(object) + (globalThis[classes[0]] && object instanceof globalThis[classes[0]]);
      for (const name of Object.getOwnPropertyNames(object)) found[expression + "." + name] = kindOf(Object.getOwnPropertyDescriptor(object, name));
    } catch (error) {
      found[expression] = error.name;
    }
  }
  return found;
}`;

/** What differs all the same, and why. What is missing is noted where a page uses it (`unheld.ts`). */
const ON_PURPOSE: readonly (readonly [names: RegExp, reason: string])[] = [
  [/^window\.attract/, "what adapters, and the frames within the page, ask of the clock"],
  [
    /^window\.(set|clear)Immediate/,
    "promise libraries look for them first, and send themselves messages without",
  ],
  [
    /^Animation\.prototype\.(add|remove|dispatch)Event/,
    "events of an animation come by the clock, to listeners of its own",
  ],
  [/^AudioWorklet\.prototype\.addModule/, "is of all worklets; those that paint keep it"],
  [/^webkitRTCPeerConnection/, "an old name, which keeps the browser's class"],
  [/^new EventSource/, "a frame without an address refuses a relative one"],
  [/getContext\('webgl2?'\)\./, "a context without a device has its functions itself"],
];

test("T5: what the clock stands in for has the names, the kinds and the classes of the browser's own", async () => {
  const plain = await servedWindow();
  const { run, clock } = await servedPage();
  const ticking = setInterval(() => clock.tick(), 10);
  const [own, given] = await Promise.all([
    (runIn(plain, WALK) as Walk)(OBJECTS),
    (run(WALK) as Walk)(OBJECTS),
  ]);
  clearInterval(ticking);
  const differing = [...new Set([...Object.keys(own), ...Object.keys(given)])]
    .filter((name) => own[name] !== given[name])
    .filter((name) => !ON_PURPOSE.some(([names]) => names.test(name)))
    .map((name) => `${name}: ${own[name]} | ${given[name]}`);
  expect(Object.keys(own).length).toBeGreaterThan(5000);
  expect(differing).toEqual([]);
});

type Walk = (objects: readonly string[]) => Promise<Record<string, string>>;
