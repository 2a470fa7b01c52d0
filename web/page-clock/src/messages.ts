/** Messages between windows and through channels: a timer of 0 ms that is never clamped, by which libraries wait for the next turn. */

import { define, defineGetter, defineProperty } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

/** The window whose code runs, or ran last: of a page and the frames within it. A message says by it who sent it. */
export interface Running {
  window: Window;
}

export function installMessages(window: Page, time: VirtualTime, running: Running): void {
  const later = (call: () => void): void => void time.add(call, 0, [], false, false);
  const deliver = (target: EventTarget, data: unknown, ports: readonly MessagePort[], more: object): void =>
    later(() => {
      const event = new window.MessageEvent("message", { data, ...more });
      // The browser takes no ports but its own.
      if (ports.length > 0) defineGetter(event, "ports", () => ports);
      target.dispatchEvent(event);
    });

  class VirtualPort extends window.EventTarget {
    readonly isVirtual = true;
    other: VirtualPort | null = null;
    /** What came before it was started; null: it has been. */
    #waiting: (() => void)[] | null = [];
    #onmessage: EventListener | null = null;
    postMessage(data: unknown, options?: unknown): void {
      const { other } = this;
      const { copy, ports } = copied(window, data, options);
      if (other !== null) other.#take(() => deliver(other, copy, ports, {}));
    }
    #take(hand: () => void): void {
      if (this.#waiting === null) hand();
      else this.#waiting.push(hand);
    }
    get onmessage(): EventListener | null {
      return this.#onmessage;
    }
    set onmessage(listener: EventListener | null) {
      if (this.#onmessage !== null) this.removeEventListener("message", this.#onmessage);
      this.#onmessage = listener;
      if (listener !== null) this.addEventListener("message", listener);
      this.start();
    }
    start(): void {
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const hand of waiting) hand();
    }
    close(): void {
      if (this.other !== null) this.other.other = null;
      this.other = null;
    }
  }
  Object.setPrototypeOf(VirtualPort.prototype, window.MessagePort.prototype);
  const channels = window.MessageChannel.prototype;
  const MessageChannel = function (this: MessageChannel): void {
    if (new.target === undefined) throw new window.TypeError("Please use the 'new' operator");
    const ports = [new VirtualPort(), new VirtualPort()];
    ports.forEach((port, i) => {
      port.other = ports[1 - i];
      defineProperty(this, `port${i + 1}`, { value: port, enumerable: true, configurable: true });
    });
  };
  MessageChannel.prototype = channels;
  define(window, "MessageChannel", MessageChannel);
  define(window, "postMessage", (data: unknown, target?: unknown, transfer?: unknown) => {
    const options = typeof target === "string" ? transfer : target;
    const origin =
      typeof target === "string" ? target : ((target as { targetOrigin?: string })?.targetOrigin ?? "/");
    const { copy, ports } = copied(window, data, options);
    if (origin !== "*" && origin !== "/" && new URL(origin).origin !== window.origin) return;
    const source = running.window;
    deliver(window, copy, ports, { source, origin: window.origin });
  });
}

/** What is handed over, and the ports among what is transferred. Throws DataCloneError. */
function copied(window: Page, data: unknown, options: unknown): { copy: unknown; ports: MessagePort[] } {
  const given = Array.isArray(options)
    ? options
    : ((options as { transfer?: unknown[] } | undefined)?.transfer ?? []);
  const ports = given.filter(isOurs) as MessagePort[];
  const transfer = given.filter((one) => !isOurs(one)) as Transferable[];
  if ((typeof data !== "object" || data === null) && typeof data !== "function" && typeof data !== "symbol")
    return { copy: data, ports };
  const copy =
    ports.length === 0
      ? window.structuredClone(data, { transfer })
      : withPorts(window, data, transfer, ports);
  return { copy, ports };
}

/** Whether it is a port of a clock, of this window or of another one of the page. */
function isOurs(one: unknown): boolean {
  return typeof one === "object" && one !== null && "isVirtual" in one;
}

/** A copy of an object whose own fields may be ports, which the browser cannot copy: Comlink sends them so. */
function withPorts(
  window: Page,
  data: unknown,
  transfer: Transferable[],
  ports: readonly unknown[],
): unknown {
  if (ports.includes(data)) return data;
  const fields = Object.entries(data as object);
  const rest = Object.fromEntries(fields.filter(([, value]) => !ports.includes(value)));
  const copy = window.structuredClone(rest, { transfer }) as Record<string, unknown>;
  for (const [name, value] of fields) if (ports.includes(value)) copy[name] = value;
  return copy;
}
