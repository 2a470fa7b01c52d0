/** What a page makes by a library's own class or function, wherever it keeps it: in a module, in a closure. */

import type { PageWindow } from "../page-adapter.ts";

type Maker = (...given: unknown[]) => unknown;

/**
 * A bundle made from ES modules, such as Vite's, has no global for the engine. The engine's object is then recognised by its
 * properties when it binds its own functions to itself, the first ones in its constructor.
 */
const KNOWN: Readonly<Record<string, (bound: object) => boolean>> = {
  "Phaser.Game": (bound) =>
    "isBooted" in bound && "loop" in bound && "scene" in bound && "textures" in bound && "scale" in bound,
};

/**
 * All that was made by the class or function of this name so far, the newest last.
 *
 * Call it in `prepare` for the first time, before the page has a script; then `made(w, "Phaser.Game").at(-1)` is the game that
 * a page made and kept to itself. A page whose bundle has the library's ES modules within, as Vite makes it, has no global of that
 * name: of "Phaser.Game" all is heard there too, of other libraries nothing.
 *
 * @param name of a global, or of what lies within one: "Phaser.Game", "PIXI.Application", "kaplay".
 */
// biome-ignore lint/suspicious/noExplicitAny: what a library makes is its own affair
export function made(window: PageWindow, name: string): readonly any[] {
  const known = window.attractMade as Map<string, unknown[]> | undefined;
  const all = known ?? new Map<string, unknown[]>();
  if (known === undefined) Object.defineProperty(window, "attractMade", { value: all });
  let found = all.get(name);
  if (found === undefined) {
    found = [];
    all.set(name, found);
    const [root, ...path] = name.split(".");
    follow(window, root, path, found);
    const isOne = KNOWN[name];
    if (isOne !== undefined) followBound(window, isOne, found);
  }
  return found;
}

/** Notes what functions are bound to, if `isOne` knows it. */
function followBound(window: PageWindow, isOne: (bound: object) => boolean, found: unknown[]): void {
  const functions = window.Function?.prototype;
  if (functions === undefined) return;
  const { bind } = functions;
  functions.bind = function (this: Maker, ...given: [unknown, ...unknown[]]) {
    const [bound] = given;
    if (typeof bound === "object" && bound !== null && !found.includes(bound))
      try {
        if (isOne(bound)) found.push(bound);
      } catch {
        // A window of another origin, say: it is none.
      }
    return Reflect.apply(bind, this, given);
  };
}

/** Notes what `holder[name]`, or what is at `path` within it, makes: of what is there now, or will be. */
function follow(holder: PageWindow, name: string, path: readonly string[], found: unknown[]): void {
  let value = noted(holder[name], path, found);
  const own = Object.getOwnPropertyDescriptor(holder, name);
  if (own !== undefined && !own.configurable) return;
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: true,
    get: () => value,
    set: (given: unknown) => {
      value = noted(given, path, found);
    },
  });
}

/** `value` itself, or in its place one that makes the same and notes it. */
function noted(value: unknown, path: readonly string[], found: unknown[]): unknown {
  if (path.length === 0) return typeof value === "function" ? noting(value as Maker, found) : value;
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
  const [next, ...rest] = path;
  const holder = value as PageWindow;
  if (rest.length > 0) noted(holder[next], rest, found);
  else if (typeof holder[next] === "function")
    try {
      holder[next] = noting(holder[next], found);
    } catch {
      // A library that is sealed makes nothing that is heard of.
    }
  return value;
}

function noting(maker: Maker, found: unknown[]): Maker {
  return new Proxy(maker, {
    construct(target, given, as) {
      const one = Reflect.construct(target, given, as) as object;
      if (!found.includes(one)) found.push(one);
      return one;
    },
    apply(target, self, given) {
      const one = Reflect.apply(target, self, given);
      found.push(one);
      return one;
    },
  });
}
