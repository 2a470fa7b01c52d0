/** Media queries of a page, in scripts and in styles: of the device that it believes to be on, whatever the browser runs on. */

import { define, defineGetter, defineHandler } from "./overriding.ts";

type Page = Window & typeof globalThis;

export interface Media {
  /** Tells of all queries that have another answer than at the last call. */
  notify(): void;
}

const HANDS = /\(\s*(?:any-)?(pointer|hover)\s*(?::\s*([a-z]+)\s*)?\)/g;
const RATIO =
  /\(\s*(?:-webkit-)?(min-|max-)?(?:device-pixel-ratio|resolution)\s*:\s*([\d.]+)(dppx|x|dpi|dpcm)?\s*\)/g;
/** Units in a pixel of CSS; without one it is a ratio. */
const PER_PIXEL: Readonly<Record<string, number>> = { dpi: 96, dpcm: 96 / 2.54 };

export function installMedia(
  window: Page,
  { touch, pixelRatio }: { touch: boolean; pixelRatio: number },
): Media {
  const answers = { pointer: touch ? "coarse" : "fine", hover: touch ? "none" : "hover" };
  const truth = (is: boolean): string => (is ? "(min-width: 0)" : "(max-width: 0)");
  const translated = (query: string): string =>
    query
      .replace(HANDS, (_, feature: keyof typeof answers, value?: string) =>
        truth(value === undefined ? answers[feature] !== "none" : value === answers[feature]),
      )
      .replace(RATIO, (_, bound: string | undefined, value: string, unit = "x") => {
        const asked = Number(value) / (PER_PIXEL[unit] ?? 1);
        if (bound === undefined) return truth(Math.abs(asked - pixelRatio) < 0.01);
        return truth(bound === "min-" ? pixelRatio >= asked : pixelRatio <= asked);
      })
      .replace(/\bdevice-(width|height)\b/g, "$1");

  const matchMedia = window.matchMedia.bind(window);
  const asked = new WeakMap<MediaQueryList, string>();
  /** Those that are listened to, and their last answers. */
  const watched = new Map<MediaQueryList, boolean>();
  define(window, "matchMedia", (query: string) => {
    const text = String(query);
    const list = matchMedia(translated(text));
    asked.set(list, text);
    return list;
  });
  const { prototype } = window.MediaQueryList;
  const { get: media } = Object.getOwnPropertyDescriptor(prototype, "media") as { get(): string };
  defineGetter(prototype, "media", function (this: MediaQueryList) {
    return asked.get(this) ?? media.call(this);
  });
  const listen = window.EventTarget.prototype.addEventListener;
  const watch = (list: MediaQueryList): void => {
    if (watched.has(list)) return;
    watched.set(list, list.matches);
    // The browser's own come when it draws.
    listen.call(list, "change", (event) => event.isTrusted && event.stopImmediatePropagation());
  };
  define(prototype, "addEventListener", function (this: MediaQueryList, ...given: unknown[]) {
    watch(this);
    return listen.apply(this, given as Parameters<typeof listen>);
  });
  define(prototype, "addListener", function (this: MediaQueryList, listener: EventListener) {
    this.addEventListener("change", listener);
  });
  defineHandler(prototype, "change");

  /** Rules within others too, and those of sheets that they import. */
  const translate = (rules: CSSRuleList): void => {
    for (const rule of rules as Iterable<CSSRule & Partial<CSSMediaRule & CSSImportRule>>) {
      if (rule.media !== undefined) {
        const text = rule.media.mediaText;
        const own = translated(text);
        if (own !== text) rule.media.mediaText = own;
      }
      if (rule.cssRules !== undefined) translate(rule.cssRules);
      if (rule.styleSheet != null) read(rule.styleSheet);
    }
  };
  const done = new WeakMap<CSSStyleSheet, number>();
  const read = (sheet: CSSStyleSheet): void => {
    try {
      const { cssRules, media: own } = sheet;
      if (done.get(sheet) === cssRules.length) return;
      done.set(sheet, cssRules.length);
      own.mediaText = translated(own.mediaText);
      translate(cssRules);
    } catch {
      // A style sheet of another server.
    }
  };
  const readAll = (): void => {
    for (const sheet of window.document.styleSheets) read(sheet);
  };
  new window.MutationObserver(readAll).observe(window.document, { childList: true, subtree: true });
  // The styles of links come later.
  window.addEventListener("load", readAll, true);
  return {
    notify() {
      for (const [list, matched] of watched) {
        const { matches, media } = list;
        if (matches === matched) continue;
        watched.set(list, matches);
        list.dispatchEvent(new window.MediaQueryListEvent("change", { matches, media }));
      }
    },
  };
}
