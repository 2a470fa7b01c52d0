/** The browser as a page sees it: always in front, without real input, without stored data. */

import { answerDialogs } from "./dialogs.ts";
import type { Lock } from "./input.ts";
import { define, defineGetter, defineProperty } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";
import type { UnheldUses } from "./unheld-uses.ts";

type Page = Window & typeof globalThis;

/** Come at real times, from a real person or the browser: only a human's session lets them through. */
const REAL_EVENTS = [
  "animationcancel",
  "animationend",
  "animationiteration",
  "animationstart",
  "auxclick",
  "blur",
  "click",
  "contextmenu",
  "dblclick",
  "focus",
  "dragstart",
  "gamepadconnected",
  "gamepaddisconnected",
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
  "scrollend",
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
export const BY_HAND = /^(auxclick|click|contextmenu|dblclick|dragstart|key|mouse|pointer|touch|wheel)/;

export interface Surroundings {
  /** A person plays: what they do reaches the game. */
  isHuman: boolean;
  /** The page asked to be reloaded. The clock does not reload it: the player of the game takes a fresh page. */
  isReloadDue: boolean;
  /** The address that the page asked for, as its own folder names it; the browser goes there in its own time. */
  readonly leavingFor: string | null;
  lock: Lock;
  /** Storage and cookies are what they were when `keepStorage` was called, or else empty. */
  clearStorage(): void;
  keepStorage(): void;
}

/**
 * @param time in which what is asked for is told.
 * @param kept what a page and the frames within it share.
 * @param said takes the ways out that are not gone.
 * @param isWhole whether this is the page itself, and no frame within it.
 */
export function installSurroundings(
  window: Page,
  time: VirtualTime,
  kept: Kept,
  said: UnheldUses,
  isWhole: boolean,
): Surroundings {
  installStorage(window, time, kept);
  let leave: NavigateEventLike | null = null;
  const state: Surroundings = {
    isHuman: false,
    isReloadDue: false,
    // A router takes over some of what it hears of, and is at the new address then.
    get leavingFor() {
      if (leave === null || leave.defaultPrevented) return null;
      const { url } = leave.destination;
      return url === window.location.href ? null : nameOf(url, window.location.href);
    },
    lock: { element: null },
    clearStorage: () => kept.clear(),
    keepStorage: () => kept.keep(),
  };
  if (isWhole)
    holdNavigation(window, time, state, said, (event) => {
      leave = event;
    });
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
  answerDialogs(window);
  define(window, "open", () => null);
  define(window, "print", () => undefined);
  defineGetter(window.Navigator.prototype, "hardwareConcurrency", () => 2);
  const answers: Record<string, unknown> = {
    getGamepads: () => [null, null, null, null],
    vibrate: () => true,
  };
  const navigators = window.Navigator.prototype;
  for (const name in answers) if (name in navigators) define(navigators, name, answers[name]);
  state.lock = pretend(
    window,
    time,
    "pointerLock",
    "requestPointerLock",
    "exitPointerLock",
    "pointerlockchange",
  );
  pretend(window, time, "fullscreen", "requestFullscreen", "exitFullscreen", "fullscreenchange");
  return state;
}

/** Requests that need a person in a browser are granted, so that the game continues. */
function pretend(
  window: Page,
  time: VirtualTime,
  what: string,
  ask: string,
  leave: string,
  change: string,
): Lock {
  const held: { element: Element | null } = { element: null };
  const set = (element: Element | null): Promise<void> =>
    new window.Promise((resolve, reject) => {
      if (element?.isConnected === false)
        return reject(new window.TypeError("The element is not connected."));
      const report = (): void => {
        if (held.element !== element) {
          const target = element ?? held.element;
          held.element = element;
          target?.dispatchEvent(new window.Event(change, { bubbles: true, composed: true }));
        }
        resolve();
      };
      time.post(report);
    });
  define(window.Element.prototype, ask, function (this: Element) {
    return set(this);
  });
  define(window.Document.prototype, leave, () => set(null));
  const current = (): Element | null => (held.element?.isConnected ? held.element : null);
  defineGetter(window.Document.prototype, `${what}Element`, current);
  if (what === "fullscreen") defineGetter(window.Document.prototype, "fullscreenEnabled", () => true);
  return {
    get element() {
      return current();
    },
  };
}

/** As far as it is needed of the Navigation API, which not every browser has. */
interface NavigateEventLike extends Event {
  readonly destination: { readonly url: string; readonly sameDocument: boolean };
  readonly downloadRequest: string | null;
  readonly formData: FormData | null;
  readonly sourceElement?: Element | null;
}

/** Addresses of pages: others, such as `mailto:`, leave the page where it is. */
const PAGES = /^(https?|about|blob|data):/;

/** Elements that do what they say when they are pressed. */
const CONTROLS = "a[href], area[href], button, input, [role=button], [role=link], [onclick]";
/** Events by which one is pressed. */
const PRESSES = ["click", "pointerdown", "pointerup", "mousedown", "mouseup", "touchstart", "touchend"];
/** Page time after a press in which a game that looks at its mouse once a frame follows what it draws as a link. */
const PRESSED_MS = 100;

/**
 * Many games reload their page when they are over: by `location.reload()`, or a link to themselves. And many have a
 * button that leads back to a list of games: one that is pressed at random must not end the play.
 */
function holdNavigation(
  window: Page,
  time: VirtualTime,
  state: { isReloadDue: boolean },
  said: UnheldUses,
  onLeave: (event: NavigateEventLike) => void,
): void {
  let press: Event | null = null;
  let pressedAt = Number.NEGATIVE_INFINITY;
  for (const name of PRESSES)
    window.addEventListener(
      name,
      (event) => {
        press = event;
        pressedAt = time.now;
      },
      true,
    );
  const { navigation } = window as unknown as { navigation?: EventTarget };
  navigation?.addEventListener("navigate", (event) => {
    const { destination, downloadRequest, formData, sourceElement } = event as NavigateEventLike;
    const { url, sameDocument } = destination;
    if (sameDocument || !event.cancelable) return;
    const isPage = PAGES.test(url) && URL.canParse(url);
    const isReload = isPage && pageOf(url) === pageOf(window.location.href);
    // What a form sends is refused, which would leave an error in the place of the page.
    if (isReload || formData !== null || sourceElement?.closest("form") != null) event.preventDefault();
    state.isReloadDue ||= isReload;
    if (downloadRequest !== null || !isPage) return;
    // An event that is no longer dispatched has no phase.
    const pressed = sourceElement ?? (press === null || press.eventPhase === 0 ? null : press.target);
    const isControl = pressed instanceof window.Element && pressed.closest(CONTROLS) !== null;
    const isDrawn = isElsewhere(url, window.location.origin) && time.now - pressedAt <= PRESSED_MS;
    const name = nameOf(url, window.location.href);
    if (isReload || !(isControl || isDrawn) || isOfGame(name)) return onLeave(event as NavigateEventLike);
    event.preventDefault();
    said.addAddress("other", "has a link or button that leads to", name, "which is not followed");
  });
}

/** Whether it leads to another server, which no page gets to. */
function isElsewhere(address: string, origin: string): boolean {
  return /^https?:/.test(address) && new URL(address).origin !== origin;
}

/** The page that an address leads to, whatever it is asked. */
function pageOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/\/index\.html?$/, "/");
}

/** An address as the folder of `page` names it: the same wherever that is served. */
export function nameOf(address: string, page: string): string {
  const { origin, pathname } = new URL(page);
  const folder = (origin + pathname).replace(/[^/]*$/, "");
  if (address.startsWith(folder)) return address.slice(folder.length) || "./";
  if (!address.startsWith(`${origin}/`)) return address;
  return `.../${address.slice(origin.length + 1).replace(/^.*\/(?=.)/, "")}`;
}

/** Whether what `nameOf` gives lies in the page's folder. */
function isOfGame(name: string): boolean {
  return !name.startsWith(".../") && !/^[a-z]+:/i.test(name);
}

type AreaName = "localStorage" | "sessionStorage";

/** Storage and cookies of one page and the frames within it. */
export class Kept {
  readonly areas: Readonly<Record<AreaName, Map<string, string>>> = {
    localStorage: new Map(),
    sessionStorage: new Map(),
  };
  readonly cookies = new Map<string, string>();
  /** Called with each change of an area, and the window that caused it. */
  readonly changed = new Set<(name: AreaName, change: StorageEventInit, source: Window) => void>();
  readonly #all = [this.areas.localStorage, this.areas.sessionStorage, this.cookies];
  #kept = this.#all.map(() => new Map<string, string>());

  /** What is there now is there again after each `clear`. */
  keep(): void {
    this.#kept = this.#all.map((values) => new Map(values));
  }

  clear(): void {
    for (const [i, values] of this.#all.entries()) {
      values.clear();
      for (const [name, value] of this.#kept[i]) values.set(name, value);
    }
  }
}

/** Storage in memory, of each page its own: pages of one origin would read each other's high scores. */
function installStorage(window: Page, time: VirtualTime, { areas, cookies, changed }: Kept): void {
  const values = storageValues(window, (kept, key, oldValue, newValue) => {
    const name = kept === areas.localStorage ? "localStorage" : "sessionStorage";
    const change = { key, oldValue, newValue, url: window.location.href };
    if (oldValue !== newValue || key === null) for (const publish of changed) publish(name, change, window);
  });
  for (const name of ["localStorage", "sessionStorage"] as const) {
    const area = memoryStorage(window, values, areas[name]);
    defineGetter(window, name, () => area);
  }
  // All windows hear of it but the one that caused it.
  changed.add((name, change, source) => {
    const publish = (): void => {
      const event = new window.StorageEvent("storage", change);
      defineGetter(event, "storageArea", () => window[name]);
      window.dispatchEvent(event);
    };
    if (source !== window && !window.closed) time.post(publish);
  });
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

/** Characters of all keys and values that fit, as in browsers. */
const MAX_STORED = 5 * 2 ** 20;

/** Gives `Storage` methods that read what is kept for an area: a page may add others to its prototype. */
function storageValues(
  window: Page,
  change: (kept: Map<string, string>, key: string | null, before: string | null, now: string | null) => void,
): WeakMap<Storage, Map<string, string>> {
  const values = new WeakMap<Storage, Map<string, string>>();
  const of = (area: Storage): Map<string, string> => {
    const found = values.get(area);
    if (found === undefined) throw new window.TypeError("Illegal invocation");
    return found;
  };
  const methods: Record<string, (kept: Map<string, string>, ...args: string[]) => unknown> = {
    getItem: (kept, key) => kept.get(key) ?? null,
    setItem: (kept, key, value) => {
      const others = [...kept].reduce(
        (sum, [name, text]) => sum + (name === key ? 0 : name.length + text.length),
        0,
      );
      if (others + key.length + value.length > MAX_STORED)
        throw new window.DOMException(
          `Setting the value of '${key}' exceeded the quota.`,
          "QuotaExceededError",
        );
      const before = kept.get(key) ?? null;
      kept.set(key, value);
      change(kept, key, before, value);
    },
    removeItem: (kept, key) => {
      const before = kept.get(key) ?? null;
      kept.delete(key);
      change(kept, key, before, null);
    },
    clear: (kept) => {
      if (kept.size === 0) return;
      kept.clear();
      change(kept, null, null, null);
    },
    key: (kept, index) => [...kept.keys()][Number(index) >>> 0] ?? null,
  };
  const { prototype } = window.Storage;
  for (const [name, method] of Object.entries(methods)) {
    const least = method.length - 1;
    define(prototype, name, function (this: Storage, ...args: unknown[]) {
      const kept = of(this);
      if (args.length < least)
        throw new window.TypeError(
          `${least} argument${least === 1 ? "" : "s"} required, but only ${args.length} present.`,
        );
      return method(kept, ...args.map(String));
    });
  }
  defineGetter(prototype, "length", function (this: Storage) {
    return of(this).size;
  });
  return values;
}

function memoryStorage(
  window: Page,
  values: WeakMap<Storage, Map<string, string>>,
  kept: Map<string, string>,
): Storage {
  const has = (target: object, key: PropertyKey): key is string =>
    typeof key === "string" && !(key in target) && kept.has(key);
  const area: Storage = new Proxy(Object.create(window.Storage.prototype) as Storage, {
    get: (target, key) => (has(target, key) ? kept.get(key) : Reflect.get(target, key, area)),
    set: (target, key, value) => {
      if (typeof key === "symbol") return Reflect.set(target, key, value);
      area.setItem(key, value);
      return true;
    },
    defineProperty: (target, key, how) => {
      if (typeof key === "symbol") return Reflect.defineProperty(target, key, how);
      area.setItem(key, how.value);
      return true;
    },
    has: (target, key) => key in target || has(target, key),
    deleteProperty: (target, key) => {
      if (!has(target, key)) return Reflect.deleteProperty(target, key);
      area.removeItem(key);
      return true;
    },
    ownKeys: (target) => [...kept.keys(), ...Reflect.ownKeys(target)],
    getOwnPropertyDescriptor: (target, key) =>
      has(target, key)
        ? { value: kept.get(key), writable: true, enumerable: true, configurable: true }
        : Reflect.getOwnPropertyDescriptor(target, key),
  });
  values.set(area, kept);
  return area;
}
