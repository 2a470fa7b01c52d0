/** What a page waits for from outside: virtual time stands still until all of it is there. */

import { define, defineGetter, defineProperty } from "./overriding.ts";
import { PACKAGE_HOSTS } from "./page-policy.gen.ts";
import type { Portals } from "./portals.ts";
import type { VirtualTime } from "./time.ts";
import type { UnheldUses } from "./unheld-uses.ts";

type Page = Window & typeof globalThis;

/** What is under way. */
export class Loading {
  readonly #names = new Map<object, string>();

  get count(): number {
    return this.#names.size;
  }

  /** A path, or the function that was called, of each. */
  get pending(): string[] {
    return [...this.#names.values()];
  }

  /** `key` is under way until `end` hears of it. */
  begin(key: object, name: string): void {
    this.#names.set(key, name);
  }

  end(key: object): void {
    this.#names.delete(key);
  }

  /** `promise`, which is under way until it is settled. */
  until<T>(promise: Promise<T>, name: string): Promise<T> {
    this.begin(promise, name);
    const done = (): void => this.end(promise);
    promise.then(done, done);
    return promise;
  }
}

/** Responses that may have no body. */
const WITHOUT_BODY = [101, 204, 205, 304];
const MAX_MISSING = 8;
const LONGEST_PATH = 200;

/**
 * @param time in which the errors of refused requests are reported.
 * @param said collects what the page requests in vain, or from other servers.
 * @param portals whose scripts are given in their place.
 */
export function installLoading(window: Page, time: VirtualTime, said: UnheldUses, portals: Portals): Loading {
  const loading = new Loading();
  /** Whether `url` belongs to another server than the game's own. Such requests are refused. */
  const isRefused = (url: unknown): boolean => {
    const origin = foreignOrigin(window, url);
    if (origin !== null) said.add(`requests data from ${origin}, which is blocked`);
    return origin !== null;
  };
  const gate = <T>(promise: Promise<T>, name: string): Promise<T> => loading.until(promise, name);
  const miss = missing(window, said);
  const realFetch = window.fetch.bind(window);
  const unseen = new Set<string>();
  /** A load may fail though the file exists: an invalid image, a style sheet with a refused import. So it is requested once more. */
  const lookFor = (address: string): void => {
    if (unseen.has(address) || unseen.size === MAX_MISSING || !address.startsWith(window.location.origin))
      return;
    unseen.add(address);
    const heard = realFetch(address).then(({ status }) => {
      if (status >= 400) miss(address);
    });
    gate(heard, pathOf(window, address)).catch(() => undefined);
  };
  const lookForImage = ({ target }: Event): void => {
    if (target instanceof window.HTMLImageElement) lookFor(target.src);
  };
  // Read whole before it is handed over, so that `.json()` and the like need no network.
  const fetchWhole = async (...args: Parameters<typeof fetch>): Promise<Response> => {
    const response = await realFetch(...args);
    const [asked, init] = args;
    const method = init?.method ?? (asked instanceof window.Request ? asked.method : undefined);
    if (response.status >= 400) miss(response.url, method);
    const body = await response.arrayBuffer();
    const whole = new window.Response(WITHOUT_BODY.includes(response.status) ? null : body, response);
    defineGetter(whole, "url", () => response.url);
    return whole;
  };
  define(window, "fetch", (...args: Parameters<typeof fetch>) => {
    const [asked] = args;
    const url = asked instanceof window.Request ? asked.url : asked;
    if (isRefused(url)) return Promise.reject(new window.TypeError("Failed to fetch"));
    return gate(fetchWhole(...args), pathOf(window, url));
  });
  watchRequests(window, loading, miss);
  const sourced = [window.HTMLImageElement, window.HTMLScriptElement, window.HTMLIFrameElement];
  for (const { prototype } of sourced) {
    const isScript = prototype === window.HTMLScriptElement.prototype;
    const refuses = isScript ? (url: unknown) => !isOfPackage(window, url) && isRefused(url) : isRefused;
    watchSource(window, prototype, gate, refuses, time, portals, lookForImage);
  }
  followAttributes(window);
  // An element's error event does not bubble.
  const look = (event: Event): void => {
    const { target } = event;
    lookForImage(event);
    const isScript = target instanceof window.HTMLScriptElement;
    if (!isScript && !(target instanceof window.HTMLLinkElement && target.relList.contains("stylesheet")))
      return;
    const address = isScript ? target.src : target.href;
    if (address === "") return;
    if (foreignOrigin(window, address) === null) isScript ? miss(address) : lookFor(address);
    else if (isScript)
      said.addAddress("script", "loads", address.slice(0, LONGEST_PATH), withoutScript(window, address));
  };
  window.addEventListener("error", look, true);
  const promising: [object, string][] = [
    [window, "createImageBitmap"],
    [window.WebAssembly, "compile"],
    [window.WebAssembly, "compileStreaming"],
    [window.WebAssembly, "instantiate"],
    [window.WebAssembly, "instantiateStreaming"],
  ];
  for (const [object, name] of promising) {
    const original = (object as Record<string, (...args: unknown[]) => Promise<unknown>>)[name];
    define(object, name, function (this: unknown, ...args: unknown[]) {
      return gate(original.apply(this ?? window, args), `${name}()`);
    });
  }
  return loading;
}

/** One request object may load file after file: it asks for the next when one has arrived. */
function watchRequests(
  window: Page,
  loading: Loading,
  miss: (address: string, method: string) => void,
): void {
  const requests = window.XMLHttpRequest.prototype;
  const { open, send } = requests;
  const asked = new WeakMap<XMLHttpRequest, { method: string; name: string }>();
  define(requests, "open", function (this: XMLHttpRequest, ...args: Parameters<typeof open>) {
    // What was under way is given up, and tells nothing of it.
    loading.end(this);
    if (!asked.has(this))
      this.addEventListener("loadend", () => {
        // Where it was sent again meanwhile, this is the end of the one before.
        if (this.readyState !== this.DONE) return;
        loading.end(this);
        if (this.status >= 400) miss(this.responseURL, asked.get(this)?.method ?? "GET");
      });
    asked.set(this, { method: String(args[0]), name: pathOf(window, args[1]) });
    return open.apply(this, args);
  });
  define(requests, "send", function (this: XMLHttpRequest, ...args: Parameters<typeof send>) {
    loading.begin(this, asked.get(this)?.name ?? "");
    try {
      return send.apply(this, args);
    } catch (error) {
      loading.end(this);
      throw error;
    }
  });
}

/** The path of an address of this server, or a whole address, as a short text. */
function pathOf(window: Page, address: unknown): string {
  const { origin } = window.location;
  let [whole] = String(address).split(/[?#]/);
  try {
    [whole] = new window.URL(whole, window.document.baseURI).href.split(/[?#]/);
  } catch {
    // As it was given.
  }
  return whole.replace(origin, "").slice(0, LONGEST_PATH);
}

/**
 * Notes what a page asks its own server for in vain: a few paths, for some ask again and again by new queries. What is
 * got is a part of the page; a server that takes data is no part of it.
 */
function missing(window: Page, said: UnheldUses): (address: string, method?: string) => void {
  const paths = new Set<string>();
  return (address, method = "GET") => {
    const path = pathOf(window, address);
    if (paths.has(path) || paths.size === MAX_MISSING) return;
    paths.add(path);
    if (["GET", "HEAD"].includes(method.toUpperCase()))
      said.addAddress("file", "asks for", path, "which is not there");
    else said.addAddress("other", "sends data to", path, "which does not answer here");
  };
}

/** The origin of an address that is not the page's own; null where it is, or where the address is the data itself. */
export function foreignOrigin(window: Page, url: unknown): string | null {
  try {
    const { origin, protocol, host } = new window.URL(String(url), window.document.baseURI);
    return /^https?:$/.test(protocol) && origin !== window.location.origin ? host : null;
  } catch {
    return null;
  }
}

/** Whether it is a script of a published package, which a page gets from where it is published. */
function isOfPackage(window: Page, url: unknown): boolean {
  const host = foreignOrigin(window, url);
  return host !== null && PACKAGE_HOSTS.includes(host);
}

/** What to do about a script of another server that did not come, as a clause. */
function withoutScript(window: Page, address: string): string {
  const why = isOfPackage(window, address)
    ? "which did not come: is there a network?"
    : "which it does not get: where the game needs it,";
  return `${why} save it beside the page, and name it there`;
}

/** A source that is given as an attribute is one that is given: old code and jQuery do so. */
function followAttributes(window: Page): void {
  const { setAttribute } = window.Element.prototype;
  const { HTMLImageElement, HTMLScriptElement, HTMLIFrameElement, HTMLMediaElement } = window;
  const sourced = [HTMLImageElement, HTMLScriptElement, HTMLIFrameElement, HTMLMediaElement];
  define(window.Element.prototype, "setAttribute", function (this: Element, name: string, value: string) {
    if (String(name).toLowerCase() === "src" && sourced.some((kind) => this instanceof kind))
      (this as HTMLImageElement).src = value;
    else setAttribute.call(this, name, value);
  });
}

/** An element that is given a `src` is loading until its load or error event. */
function watchSource(
  window: Page,
  prototype: object,
  gate: (promise: Promise<void>, name: string) => unknown,
  isRefused: (url: unknown) => boolean,
  time: VirtualTime,
  portals: Portals,
  failed: (event: Event) => void,
): void {
  // Some pages put something of their own in its place.
  const { Event } = window;
  const source = Object.getOwnPropertyDescriptor(prototype, "src") as PropertyDescriptor;
  const watched = (element: EventTarget, address: string): void => {
    const settled = new Promise<void>((resolve) => {
      for (const name of ["load", "error"]) element.addEventListener(name, () => resolve(), { once: true });
    });
    // Outside of the document the window hears nothing of it.
    element.addEventListener("error", failed, { once: true });
    gate(settled, pathOf(window, address));
  };
  defineProperty(prototype, "src", {
    ...source,
    set(this: EventTarget, value: unknown) {
      const dispatch = (name: string): unknown => time.post(() => this.dispatchEvent(new Event(name)));
      if (portals.install(value)) {
        dispatch("load");
        return;
      }
      if (isRefused(value)) {
        dispatch("error");
        return;
      }
      // An empty address loads nothing, and would never tell.
      if (String(value) !== "") watched(this, String(value));
      source.set?.call(this, value);
    },
  });
}
