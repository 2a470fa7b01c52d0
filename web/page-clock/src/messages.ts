/** Messages between windows and through channels: a timer of 0 ms that is never clamped, by which libraries wait for the next turn. */

import { define, defineGetter, makerOf } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

/** What a page and the frames within it share. */
export interface Running {
  /** The window whose code runs, or ran last. A message says by it who sent it. */
  window: Window;
  /** Ports of the clocks of all of them, and where what is sent by one goes; null: it was handed on. */
  readonly ports: WeakMap<object, End | null>;
}

/** One end of a channel, whichever port is it by now. */
interface End {
  other: End | null;
  port: MessagePort | null;
  /** What came before the port was started; null: it has been. */
  waiting: (() => void)[] | null;
}

export function installMessages(window: Page, time: VirtualTime, running: Running): void {
  const { ports } = running;
  // Some pages put something of their own in their place.
  const { EventTarget, MessageEvent } = window;
  const later = (call: () => void): void => void time.post(call);
  const deliver = (target: EventTarget, data: unknown, given: readonly MessagePort[], more: object): void =>
    later(() => {
      const event = new MessageEvent("message", { data, ...more });
      // The browser takes no ports but its own.
      if (given.length > 0) defineGetter(event, "ports", () => given);
      target.dispatchEvent(event);
    });
  const make = makerOf(window.MessagePort.prototype);
  const portOf = (end: End): MessagePort => {
    let onmessage: MessagePort["onmessage"] = null;
    const start = (): void => {
      if (ends(port) === null) return;
      const waiting = end.waiting ?? [];
      end.waiting = null;
      for (const hand of waiting) hand();
    };
    const members = {
      postMessage(data: unknown, options?: unknown): void {
        const { copy, given } = copied(window, data, options, handOver);
        const to = ends(port)?.other;
        if (to == null) return;
        const hand = (): void => deliver(to.port as MessagePort, copy, given, {});
        if (to.waiting === null) hand();
        else to.waiting.push(hand);
      },
      start,
      close(): void {
        if (ends(port) === null) return;
        if (end.other !== null) end.other.other = null;
        end.other = null;
      },
      get onmessage() {
        return onmessage;
      },
      set onmessage(listener: MessagePort["onmessage"]) {
        if (onmessage !== null) port.removeEventListener("message", onmessage as EventListener);
        onmessage = typeof listener === "function" ? listener : null;
        if (onmessage !== null) port.addEventListener("message", onmessage as EventListener);
        start();
      },
    };
    const port = make(members, new EventTarget());
    end.port = port;
    ports.set(port, end);
    return port;
  };
  const ends = (port: object): End | null => ports.get(port) ?? null;
  /** Gives another port the end of one that is transferred. Null: it is none of a clock. */
  const handOver = (given: object): MessagePort | null => {
    if (!ports.has(given)) return null;
    const end = ends(given);
    if (end === null)
      throw new window.DOMException("A port in the transfer list is already detached.", "DataCloneError");
    ports.set(given, null);
    end.waiting ??= [];
    return portOf(end);
  };

  const channel = makerOf(window.MessageChannel.prototype);
  const MessageChannel = function (): MessageChannel {
    if (new.target === undefined) throw new window.TypeError("Please use the 'new' operator");
    const pair: End[] = [0, 1].map(() => ({ other: null, port: null, waiting: [] }));
    for (const [i, end] of pair.entries()) end.other = pair[1 - i];
    return channel({ port1: portOf(pair[0]), port2: portOf(pair[1]) });
  };
  MessageChannel.prototype = window.MessageChannel.prototype;
  define(window, "MessageChannel", MessageChannel);
  const { structuredClone } = window;
  define(window, "structuredClone", (...args: Parameters<typeof structuredClone>) =>
    args[1]?.transfer?.some((one) => ports.has(one))
      ? copied(window, ...(args as [unknown, unknown]), handOver).copy
      : structuredClone(...args),
  );
  define(window, "postMessage", (...args: [data?: unknown, target?: unknown, transfer?: unknown]) => {
    if (args.length === 0) throw new window.TypeError("1 argument required, but only 0 present.");
    const [data, target, transfer] = args;
    const isDictionary = typeof target === "object" && target !== null;
    const to = String((isDictionary ? (target as { targetOrigin?: unknown }).targetOrigin : target) ?? "/");
    if (to !== "*" && to !== "/" && !URL.canParse(to))
      throw new window.DOMException(`Invalid target origin '${to}'.`, "SyntaxError");
    const { copy, given } = copied(window, data, isDictionary ? target : transfer, handOver);
    if (to !== "*" && to !== "/" && new URL(to).origin !== window.origin) return;
    const source = running.window;
    deliver(window, copy, given, { source, origin: window.origin });
  });
}

/** What is handed over, and the ports among what is transferred. Throws DataCloneError. */
function copied(
  window: Page,
  data: unknown,
  options: unknown,
  handOver: (one: object) => MessagePort | null,
): { copy: unknown; given: MessagePort[] } {
  const all: object[] = Array.isArray(options)
    ? options
    : ((options as { transfer?: object[] } | undefined)?.transfer ?? []);
  if (new Set(all).size < all.length)
    throw new window.DOMException("The transfer list holds an object twice.", "DataCloneError");
  const moved = new Map<unknown, MessagePort>();
  for (const one of all) {
    const port = handOver(one);
    if (port !== null) moved.set(one, port);
  }
  const transfer = all.filter((one) => !moved.has(one)) as Transferable[];
  const given = [...moved.values()];
  const isPlain =
    (typeof data !== "object" || data === null) && typeof data !== "function" && typeof data !== "symbol";
  if (isPlain) return { copy: data, given };
  if (given.length === 0) return { copy: window.structuredClone(data, { transfer }), given };
  if (moved.has(data)) return { copy: moved.get(data), given };
  // The browser cannot copy our ports: Comlink sends them in fields.
  const fields = Object.entries(data as object);
  const rest = Object.fromEntries(fields.filter(([, value]) => !moved.has(value)));
  const copy = window.structuredClone(rest, { transfer }) as Record<string, unknown>;
  for (const [name, value] of fields) if (moved.has(value)) copy[name] = moved.get(value);
  return { copy, given };
}
