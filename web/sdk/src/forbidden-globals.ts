/** Catches a game that asks the clock or `Math.random`: the same seed and actions would no longer give the same play. */

/** Calls made while a game ran, by name, for example `Math.random`. */
export type ForbiddenCalls = Map<string, number>;

interface Patched {
  owner: Record<string, unknown>;
  name: string;
  original: PropertyDescriptor | undefined;
}

/**
 * Runs `play` with `Math.random`, `Date` and `performance.now` replaced by counting versions of themselves, and puts
 * the originals back whatever happens. Only one such run at a time per thread; `play` must not be async.
 */
export function countForbiddenCalls(play: () => void): ForbiddenCalls {
  const calls: ForbiddenCalls = new Map();
  const count = (name: string): void => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
  };
  const patched: Patched[] = [];
  const patch = (owner: unknown, name: string, value: unknown): void => {
    const record = owner as Record<string, unknown>;
    patched.push({ owner: record, name, original: Object.getOwnPropertyDescriptor(record, name) });
    Object.defineProperty(record, name, { value, configurable: true, writable: true });
  };
  const { random } = Math;
  patch(Math, "random", () => {
    count("Math.random");
    return random();
  });
  const RealDate = Date;
  patch(
    globalThis,
    "Date",
    new Proxy(RealDate, {
      construct(target, args, newTarget) {
        if (args.length === 0) count("new Date()");
        return Reflect.construct(target, args, newTarget);
      },
      get(target, name, receiver) {
        if (name === "now") count("Date.now");
        return Reflect.get(target, name, receiver);
      },
    }),
  );
  const { performance } = globalThis as { performance?: { now(): number } };
  if (performance !== undefined) {
    const now = performance.now.bind(performance);
    patch(performance, "now", () => {
      count("performance.now");
      return now();
    });
  }
  try {
    play();
  } finally {
    for (const { owner, name, original } of patched.reverse()) {
      if (original === undefined) delete owner[name];
      else Object.defineProperty(owner, name, original);
    }
  }
  return calls;
}
