/** Catches a game that asks the clock, chance, the network or a timer: it could not be played again, or waits for what never comes. */

import type { CheckId, Finding } from "./check-finding.ts";

interface Watched {
  /** The global that holds it, or "" for a global itself. */
  owner: string;
  name: string;
  id: CheckId;
  fix: string;
}

const CHANCE = "draw from `random` of start(): keep it in the game object and use it in update() as well";
const CLOCK = "add up deltaTime: a game has only its own time";
const NETWORK = "import data into the module instead: a game cannot wait for an answer";
const TIMER = "count ticks in update(): nothing may happen between ticks";

const WATCHED: readonly Watched[] = [
  { owner: "Math", name: "random", id: "random", fix: CHANCE },
  { owner: "crypto", name: "getRandomValues", id: "random", fix: CHANCE },
  { owner: "crypto", name: "randomUUID", id: "random", fix: CHANCE },
  { owner: "performance", name: "now", id: "clock", fix: CLOCK },
  { owner: "", name: "fetch", id: "network", fix: NETWORK },
  { owner: "", name: "XMLHttpRequest", id: "network", fix: NETWORK },
  { owner: "", name: "WebSocket", id: "network", fix: NETWORK },
  { owner: "", name: "EventSource", id: "network", fix: NETWORK },
  { owner: "", name: "importScripts", id: "network", fix: NETWORK },
  { owner: "", name: "setTimeout", id: "timer", fix: TIMER },
  { owner: "", name: "setInterval", id: "timer", fix: TIMER },
  { owner: "", name: "requestAnimationFrame", id: "timer", fix: TIMER },
  {
    owner: "indexedDB",
    name: "open",
    id: "storage",
    fix: "keep state in the game object: stored data does not outlast a run",
  },
];

/** Call sites kept per function. */
const MAX_PLACES = 5;
/** Calls of a network's or a timer's function that are carried out. */
const MAX_CALLS = 20;
/** Calls of one function whose stacks are read. */
const MAX_STACKS = 40;

interface Calls {
  count: number;
  /** Stacks, one for each place. */
  stacks: Map<string, string>;
}

/**
 * Replaces the functions a game may not call by ones that note the call and go on. Only one at a time per thread; `restore` puts
 * the originals back.
 *
 * `module`: part of the URL of the game's module: only calls from there count, and the first frame from there tells places apart.
 */
export class ForbiddenCalls {
  readonly #module: string;
  readonly #calls = new Map<string, Calls & Pick<Watched, "id" | "fix">>();
  /** State of what stands in for `Math.random`; null while that is itself. */
  #chance: number | null = null;
  readonly #originals: { owner: object; name: string; original: PropertyDescriptor | undefined }[] = [];

  constructor(module = "") {
    this.#module = module;
  }

  /** How often each was called, by name, for example `Math.random`. */
  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.#calls].map(([name, { count }]) => [name, count]));
  }

  watch(): void {
    for (const watched of WATCHED) this.#watch(watched);
    const note = (name: string): void => this.#note(name, "clock", CLOCK);
    const RealDate = Date;
    this.#replace(
      globalThis,
      "Date",
      new Proxy(RealDate, {
        construct(target, args, newTarget) {
          if (args.length === 0) note("new Date()");
          return Reflect.construct(target, args, newTarget);
        },
        apply(target, self, args) {
          note("Date()");
          return Reflect.apply(target, self, args);
        },
        get(target, name, receiver) {
          if (name === "now") note("Date.now");
          return Reflect.get(target, name, receiver);
        },
      }),
    );
  }

  /** From now on `Math.random` repeats itself from here: so that a game that calls it can be compared with itself. */
  rewind(): void {
    this.#chance = 1;
  }

  restore(): void {
    for (const { owner, name, original } of this.#originals.reverse()) {
      if (original === undefined) delete (owner as Record<string, unknown>)[name];
      else Object.defineProperty(owner, name, original);
    }
    this.#originals.length = 0;
  }

  /** One for each place of each function that was called. */
  findings(): Finding[] {
    return [...this.#calls].flatMap(([name, { id, fix, count, stacks }]) =>
      [...stacks.values()].map((stack) => ({
        id,
        severity: "error" as const,
        text: `the game calls ${name}${name.endsWith(")") ? "" : "()"} (${count === 1 ? "once" : `${count} times`} in all)`,
        fix,
        stack: stack === "" ? null : stack,
        method: null,
      })),
    );
  }

  #watch({ owner: ownerName, name, id, fix }: Watched): void {
    const scope = globalThis as Record<string, unknown>;
    const owner = (ownerName === "" ? scope : scope[ownerName]) as Record<string, unknown> | undefined;
    const original = owner?.[name];
    if (owner === undefined || typeof original !== "function") return;
    const label = ownerName === "" ? name : `${ownerName}.${name}`;
    const note = (): void => this.#note(label, id, fix);
    const isOften = (): boolean =>
      (id === "network" || id === "timer") && (this.#calls.get(label)?.count ?? 0) > MAX_CALLS;
    const chance = (): number | null => this.#chance;
    const next = (): number => this.#nextChance();
    this.#replace(
      owner,
      name,
      new Proxy(original, {
        apply(target, self, args) {
          note();
          if (name === "random" && chance() !== null) return next();
          // A check plays thousands of steps: nothing is asked of a network or a clock that often.
          if (isOften()) return name === "fetch" ? new Promise(() => undefined) : 0;
          return Reflect.apply(target as () => unknown, self, args);
        },
        construct(target, args, newTarget) {
          note();
          return Reflect.construct(target as new () => object, args, newTarget);
        },
      }),
    );
  }

  /** The minimal standard generator of Park and Miller: no more than any numbers that can be repeated. */
  #nextChance(): number {
    this.#chance = ((this.#chance ?? 1) * 48_271) % 2_147_483_647;
    return this.#chance / 2_147_483_647;
  }

  #replace(owner: object, name: string, value: unknown): void {
    this.#originals.push({ owner, name, original: Object.getOwnPropertyDescriptor(owner, name) });
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  }

  #note(name: string, id: CheckId, fix: string): void {
    const known = this.#calls.get(name);
    const isRead = known === undefined || known.count < MAX_STACKS;
    const stack = isRead ? callerStack() : "";
    if (this.#module !== "" && isRead && !stack.includes(this.#module)) return;
    const calls = known ?? { id, fix, count: 0, stacks: new Map<string, string>() };
    if (known === undefined) this.#calls.set(name, calls);
    calls.count++;
    if (!isRead || calls.stacks.size >= MAX_PLACES) return;
    const place = stack.split("\n").find((line) => line.includes(this.#module)) ?? "";
    if (!calls.stacks.has(place)) calls.stacks.set(place, stack);
  }
}

/** The stack above the function that was called, frames only. */
function callerStack(): string {
  const limits = Error as { stackTraceLimit?: number };
  const { stackTraceLimit } = limits;
  limits.stackTraceLimit = 40;
  const { stack } = new Error("called");
  if (stackTraceLimit !== undefined) limits.stackTraceLimit = stackTraceLimit;
  // The first frames are those of this file.
  return (stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at |@/.test(line))
    .slice(4)
    .join("\n");
}
