/** What goes past the clock: heard of when a page uses it, so that it can be said instead of guessed. */

import { define } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** Constructor to what a page that uses it does. */
const CONSTRUCTORS: Readonly<Record<string, string>> = {
  Worker: "runs code in a worker of its own, which reads real time",
  SharedWorker: "runs code in a shared worker, which reads real time",
  AudioWorkletNode: "makes sound in an audio worklet, which does not run here",
  WebSocket: "talks to a server, which goes by real time",
  EventSource: "listens to a server, which goes by real time",
  RTCPeerConnection: "talks to other browsers, which go by real time",
};

/** Notes in `said` what the page does that the clock does not hold. */
export function watchUnheld(window: Page, said: Set<string>): void {
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
  if ("serviceWorker" in window.navigator)
    define(window.navigator.serviceWorker, "register", async () => {
      said.add("registers a service worker, which is not started here");
      return {};
    });
}
