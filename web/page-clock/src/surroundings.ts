/** The browser as a page sees it: always in front, never resized, without real input, without stored data. */

import { answerDialogs } from "./dialogs.ts";
import { define, defineGetter, defineProperty } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** Come at real times, from a real person or the browser: only a human's session lets them through. */
const REAL_EVENTS = [
  "animationcancel",
  "animationend",
  "animationiteration",
  "animationstart",
  "blur",
  "click",
  "contextmenu",
  "dblclick",
  "focus",
  "gamepadconnected",
  "keydown",
  "keypress",
  "keyup",
  "mousedown",
  "mouseenter",
  "mouseleave",
  "mousemove",
  "mouseout",
  "mouseover",
  "mouseup",
  "orientationchange",
  "pagehide",
  "pointerdown",
  "pointerenter",
  "pointerleave",
  "pointermove",
  "pointerout",
  "pointerover",
  "pointerup",
  "resize",
  "touchend",
  "touchmove",
  "touchstart",
  "transitioncancel",
  "transitionend",
  "transitionrun",
  "transitionstart",
  "visibilitychange",
  "webkitAnimationEnd",
  "webkitTransitionEnd",
  "wheel",
];
/** Events of those that a person causes: let through while a person plays. */
const BY_HAND = /^(click|contextmenu|dblclick|key|mouse|pointer|touch|wheel)/;

export interface Surroundings {
  /** A person plays: what they do reaches the game. */
  isHuman: boolean;
  /** The page asked to be reloaded. The clock does not reload it: the player of the game takes a fresh page. */
  isReloadDue: boolean;
  /** As if nothing had ever been kept: storage and cookies are empty. */
  clearStorage(): void;
}

/**
 * @param size of the window in CSS pixels.
 * @param kept what a page and the frames within it share.
 * @param isWhole whether this is the page itself, and no frame within it.
 */
export function installSurroundings(
  window: Page,
  [width, height]: readonly [number, number],
  kept: Kept,
  isWhole: boolean,
): Surroundings {
  const { document, navigator } = window;
  installStorage(window, kept);
  const state = { isHuman: false, isReloadDue: false, clearStorage: () => kept.clear() };
  if (isWhole) holdReloads(window, state);
  for (const name of REAL_EVENTS) {
    const byHand = BY_HAND.test(name);
    const swallow = (event: Event): void => {
      if (event.isTrusted && !(byHand && state.isHuman)) event.stopImmediatePropagation();
    };
    window.addEventListener(name, swallow, true);
  }
  const documents = window.Document.prototype;
  defineGetter(documents, "hidden", () => false);
  defineGetter(documents, "visibilityState", () => "visible");
  define(documents, "hasFocus", () => true);
  for (const [name, value] of Object.entries({
    innerWidth: width,
    innerHeight: height,
    outerWidth: width,
    outerHeight: height,
    devicePixelRatio: 1,
  }))
    defineGetter(window, name, () => value);
  const screen = window.Screen.prototype;
  for (const [name, value] of Object.entries({ width, height, availWidth: width, availHeight: height }))
    defineGetter(screen, name, () => value);
  answerDialogs(window);
  define(window, "open", () => null);
  define(window, "print", () => undefined);
  defineGetter(window.Navigator.prototype, "hardwareConcurrency", () => 2);
  const answers: Record<string, unknown> = { getGamepads: () => [], vibrate: () => true };
  for (const name in answers) if (name in navigator) define(navigator, name, answers[name]);
  // Full screen and pointer lock need a person: a game that asks for them goes on without.
  for (const name of ["requestFullscreen", "requestPointerLock"])
    if (name in window.Element.prototype) define(window.Element.prototype, name, async () => undefined);
  if ("exitFullscreen" in document) define(documents, "exitFullscreen", async () => undefined);
  return state;
}

/** As far as it is needed of the Navigation API, which not every browser has. */
interface NavigateEventLike extends Event {
  readonly destination: { readonly url: string; readonly sameDocument: boolean };
}

/** Many games reload their page when they are over: by `location.reload()`, or a link to themselves. */
function holdReloads(window: Page, state: { isReloadDue: boolean }): void {
  const { navigation } = window as unknown as { navigation?: EventTarget };
  navigation?.addEventListener("navigate", (event) => {
    const { url, sameDocument } = (event as NavigateEventLike).destination;
    if (sameDocument || !event.cancelable || pageOf(url) !== pageOf(window.location.href)) return;
    event.preventDefault();
    state.isReloadDue = true;
  });
}

/** The page that an address leads to, whatever it is asked. */
function pageOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/\/index\.html?$/, "/");
}

/** Storage and cookies of one page and the frames within it. */
export class Kept {
  readonly areas = new Map<string, Storage>();
  readonly cookies = new Map<string, string>();
  clear(): void {
    this.areas.clear();
    this.cookies.clear();
  }
}

/** Storage in memory, of each page its own: pages of one origin would read each other's high scores. */
function installStorage(window: Page, { areas, cookies }: Kept): void {
  for (const name of ["localStorage", "sessionStorage"]) {
    defineGetter(window, name, () => {
      const area = areas.get(name) ?? memoryStorage();
      areas.set(name, area);
      return area;
    });
  }
  defineProperty(window.Document.prototype, "cookie", {
    get: () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
    set: (text: unknown) => {
      const [pair] = String(text).split(";");
      const at = pair.indexOf("=");
      cookies.set(pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim());
    },
    configurable: true,
  });
}

function memoryStorage(): Storage {
  const kept = new Map<string, string>();
  const methods = {
    getItem: (key: unknown) => kept.get(String(key)) ?? null,
    setItem: (key: unknown, value: unknown) => {
      kept.set(String(key), String(value));
    },
    removeItem: (key: unknown) => {
      kept.delete(String(key));
    },
    clear: () => kept.clear(),
    key: (index: number) => [...kept.keys()][index] ?? null,
  };
  return new Proxy(methods as unknown as Storage, {
    get: (target, key) => {
      if (key === "length") return kept.size;
      if (key in methods || typeof key === "symbol") return Reflect.get(target, key);
      return kept.get(key);
    },
    set: (_target, key, value) => {
      kept.set(String(key), String(value));
      return true;
    },
    has: (_target, key) => key in methods || kept.has(String(key)),
    deleteProperty: (_target, key) => {
      kept.delete(String(key));
      return true;
    },
    ownKeys: () => [...kept.keys()],
    getOwnPropertyDescriptor: (_target, key) =>
      kept.has(String(key))
        ? { value: kept.get(String(key)), writable: true, enumerable: true, configurable: true }
        : undefined,
  });
}
