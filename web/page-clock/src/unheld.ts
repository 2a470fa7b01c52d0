/** Detects what the clock does not control, when a page uses it. */

import { foreignOrigin } from "./loading.ts";
import { define, defineGetter } from "./overriding.ts";
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
  for (const [name, what] of Object.entries(SOCKETS))
    define(window, name, deadSocket(window, time, said, what));
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
  if ("serviceWorker" in window.navigator)
    define(window.navigator.serviceWorker, "register", async () => {
      said.add("registers a service worker, which is not started here");
      return {};
    });
}

/** One that a script plays is silent and black, on time; one that the page's own text plays is the browser's. */
function watchVideos(window: Page, said: UnheldUses): void {
  const play = window.HTMLVideoElement.prototype.play;
  define(window.HTMLVideoElement.prototype, "play", function (this: HTMLVideoElement) {
    said.add("shows a video, which stays black here");
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
    if (!isEmpty && !isHeld(target)) said.add("has a frame within the page that runs in real time");
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

/** A socket whose other end never answers: it tells of an error, then that it is closed. */
function deadSocket(window: Page, time: VirtualTime, said: UnheldUses, what: string): unknown {
  const { Event } = window;
  return class DeadSocket extends window.EventTarget {
    static readonly CONNECTING = 0;
    static readonly OPEN = 1;
    static readonly CLOSING = 2;
    static readonly CLOSED = 3;
    readyState = DeadSocket.CONNECTING as number;
    onopen: unknown = null;
    onmessage: unknown = null;
    onerror: unknown = null;
    onclose: unknown = null;
    constructor(readonly url: string) {
      super();
      said.add(what);
      time.add(
        () => {
          this.readyState = DeadSocket.CLOSED;
          this.#dispatch("error", this.onerror);
          this.#dispatch("close", this.onclose);
        },
        0,
        [],
        false,
        false,
      );
    }
    send(): void {}
    close(): void {}
    #dispatch(name: string, listener: unknown): void {
      const event = new Event(name);
      if (typeof listener === "function") time.call(listener, [event], this);
      this.dispatchEvent(event);
    }
  };
}
