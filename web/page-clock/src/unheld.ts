/** What goes past the clock: heard of when a page uses it, so that it can be said instead of guessed. */

import { define } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

/** Constructor to what a page that uses it does. */
const CONSTRUCTORS: Readonly<Record<string, string>> = {
  Worker: "runs code in a worker of its own, which reads real time",
  SharedWorker: "runs code in a shared worker, which reads real time",
  AudioWorkletNode: "makes sound in an audio worklet, which does not run here",
  RTCPeerConnection: "talks to other browsers, which go by real time",
};

/** Those of a server: they fail at once, as where there is no network. */
const SOCKETS: Readonly<Record<string, string>> = {
  WebSocket: "talks to a server, which is not there",
  EventSource: "listens to a server, which is not there",
};

/** Notes in `said` what the page does that the clock does not hold. */
export function watchUnheld(window: Page, time: VirtualTime, said: Set<string>): void {
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
  if ("serviceWorker" in window.navigator)
    define(window.navigator.serviceWorker, "register", async () => {
      said.add("registers a service worker, which is not started here");
      return {};
    });
}

/** A socket whose other end never answers: it tells of an error, then that it is closed. */
function deadSocket(window: Page, time: VirtualTime, said: Set<string>, what: string): unknown {
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
          this.#tell("error", this.onerror);
          this.#tell("close", this.onclose);
        },
        0,
        [],
        false,
        false,
      );
    }
    send(): void {}
    close(): void {}
    #tell(name: string, listener: unknown): void {
      const event = new window.Event(name);
      if (typeof listener === "function") time.call(listener, [event], this);
      this.dispatchEvent(event);
    }
  };
}
