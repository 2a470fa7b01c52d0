/** Detects what the clock does not control, when a page uses it. */

import { foreignOrigin } from "./loading.ts";
import { define, defineGetter, defineHandler, makerOf } from "./overriding.ts";
import { BY_HAND } from "./surroundings.ts";
import type { VirtualTime } from "./time.ts";
import type { UnheldUses } from "./unheld-uses.ts";

type Page = Window & typeof globalThis;

/** Constructor to what a page that uses it does. */
const CONSTRUCTORS: Readonly<Record<string, string>> = {
  Worker: "runs code in a web worker, which reads real time: its results are not reproducible",
  SharedWorker: "runs code in a shared worker, which reads real time: its results are not reproducible",
  BroadcastChannel: "sends messages to other pages through a channel, which works in real time",
  RTCPeerConnection: "connects to other browsers, which run in real time",
};

/** Connections to a server: they fail at once, as without a network. */
const SOCKETS: Readonly<Record<string, string>> = {
  WebSocket: "talks to a server, which is not there",
  EventSource: "listens to a server, which is not there",
};

const NO_THREADS =
  "asks for threads (SharedArrayBuffer), which only a browser that Attract starts has: export the game without threads for visitors";
const HANDED_OVER =
  "hands its canvas to a web worker, where no clock holds it: export it without (Construct: Use worker: No)";
const VIDEO = "shows a video, which runs in real time";

/** Notes in `said` what the page does that the clock does not hold. */
export function watchUnheld(window: Page, time: VirtualTime, said: UnheldUses): void {
  for (const [name, what] of Object.entries(CONSTRUCTORS)) {
    const original = (window as unknown as Record<string, unknown>)[name];
    if (typeof original !== "function") continue;
    const watched = new Proxy(original, {
      construct(target, args, newTarget) {
        said.add(what);
        return Reflect.construct(target, args, newTarget);
      },
    });
    define(window, name, watched);
  }
  for (const [name, what] of Object.entries(SOCKETS)) killSocket(window, time, said, name, what);
  const hasThreads = typeof window.SharedArrayBuffer === "function";
  defineGetter(window, "crossOriginIsolated", () => {
    if (!hasThreads) said.add(NO_THREADS);
    return hasThreads;
  });
  const { prototype } = window.HTMLCanvasElement;
  const hand = prototype.transferControlToOffscreen;
  define(prototype, "transferControlToOffscreen", function (this: HTMLCanvasElement) {
    said.add(HANDED_OVER);
    return hand.call(this);
  });
  watchTrust(window, said);
  watchVideos(window, said);
  watchFrames(window, said);
  const open = window.IDBFactory.prototype.open;
  define(window.IDBFactory.prototype, "open", function (this: IDBFactory, ...args: Parameters<typeof open>) {
    said.add("stores data in IndexedDB, which is not cleared between episodes");
    return open.apply(this, args);
  });
  if ("mediaDevices" in window.navigator)
    define(window.navigator.mediaDevices, "getUserMedia", async () => {
      said.add("asks for a camera or a microphone, which is not there");
      throw new window.DOMException("Requested device not found", "NotFoundError");
    });
  if ("AudioWorklet" in window)
    define(window.AudioWorklet.prototype, "addModule", async () => {
      said.add("runs code in an audio worklet, which is not started here");
    });
  if ("serviceWorker" in window.navigator)
    define(window.navigator.serviceWorker, "register", async () => {
      said.add("registers a service worker, which is not started here");
      return {};
    });
}

/** A listener that asks whether a person did it: what is pressed here is never trusted. */
function watchTrust(window: Page, said: UnheldUses): void {
  const { prototype } = window.EventTarget;
  const { addEventListener } = prototype;
  const textOf = window.Function.prototype.toString;
  define(
    prototype,
    "addEventListener",
    function (this: EventTarget, ...args: Parameters<typeof addEventListener>) {
      const [type, listener] = args;
      if (BY_HAND.test(type) && typeof listener === "function" && textOf.call(listener).includes("isTrusted"))
        said.add(
          `asks of each ${type} whether a person did it (isTrusted), and may ignore those of an agent`,
        );
      return addEventListener.apply(this, args);
    },
  );
}

/** One that a script plays is silent and black, on time; one that the page's own text plays is the browser's. */
function watchVideos(window: Page, said: UnheldUses): void {
  const { play } = window.HTMLMediaElement.prototype;
  define(window.HTMLMediaElement.prototype, "play", function (this: HTMLMediaElement) {
    if (this instanceof window.HTMLVideoElement) said.add("shows a video, which stays black here");
    return play.call(this);
  });
  for (const name of ["loadstart", "playing"])
    window.addEventListener(
      name,
      (event) => {
        if (event.isTrusted && event.target instanceof window.HTMLVideoElement) said.add(VIDEO);
      },
      true,
    );
}

/** A frame within the page whose text did not come from the server, which puts a clock into it. */
function watchFrames(window: Page, said: UnheldUses): void {
  const look = (event: Event): void => {
    const { target } = event;
    if (!(target instanceof window.HTMLIFrameElement)) return;
    const inner = target.contentDocument;
    const elsewhere = target.src === "" ? null : foreignOrigin(window, target.src);
    if (elsewhere !== null) {
      said.add(
        `has a frame of ${elsewhere} within the page, which is blocked: the game must come from its own server`,
      );
      return;
    }
    const isEmpty = inner !== null && inner.scripts.length === 0;
    if (isEmpty || isHeld(target)) return;
    const since = inner === null ? "" : " until it has loaded";
    said.add(`has a frame within the page that runs in real time${since}`);
    if (inner !== null)
      (window as { attractNest?: (inner: Page) => void }).attractNest?.(target.contentWindow as Page);
  };
  // A window gets no event for a load within its document.
  window.document.addEventListener("load", look, true);
}

/** Whether the window in `frame` has a clock. */
function isHeld({ contentWindow }: HTMLIFrameElement): boolean {
  try {
    return contentWindow !== null && "attractNest" in contentWindow;
  } catch {
    // Another origin's.
    return false;
  }
}

/** A socket whose other end never answers: it sends an error event, then a close event. */
function killSocket(window: Page, time: VirtualTime, said: UnheldUses, name: string, what: string): void {
  const own = (window as unknown as Record<string, { prototype: WebSocket } | undefined>)[name];
  if (own === undefined) return;
  const { prototype } = own;
  // Some pages put something of their own in its place.
  const { Event, EventTarget } = window;
  const make = makerOf(prototype);
  for (const key of Object.keys(Object.getOwnPropertyDescriptors(prototype)))
    if (key.startsWith("on")) defineHandler(prototype, key.slice(2));
  const Socket = function (address: string): WebSocket {
    if (new.target === undefined) throw new window.TypeError("Please use the 'new' operator");
    said.add(what);
    const members: { -readonly [key in keyof WebSocket]?: WebSocket[key] } = {
      ...{ url: String(address), readyState: 0 as const, bufferedAmount: 0, extensions: "", protocol: "" },
      ...{
        withCredentials: false,
        binaryType: "blob" as const,
        send: () => undefined,
        close: () => undefined,
      },
    };
    const socket = make(members, new EventTarget());
    if (new.target !== Socket) Object.setPrototypeOf(socket, new.target.prototype);
    const end = (): void => {
      members.readyState = name === "WebSocket" ? prototype.CLOSED : 2;
      for (const type of ["error", "close"]) socket.dispatchEvent(new Event(type));
    };
    time.post(end);
    return socket;
  };
  Socket.prototype = prototype;
  define(window, name, Socket);
}
