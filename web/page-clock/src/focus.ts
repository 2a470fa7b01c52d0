/** Which element keys go to: each page's own. The browser has one focus for all frames, and takes it from the others. */

import { define, defineGetter } from "./overriding.ts";

type Page = Window & typeof globalThis;

const FOCUSABLE =
  "a[href],area[href],button,input,select,textarea,iframe,summary,[contenteditable],[tabindex]";

export interface Focus {
  /** What has it; the body where nothing else has. */
  readonly element: Element | null;
  /** As a press of the pointer on `target` moves it. */
  press(target: Element): void;
}

export function installFocus(window: Page): Focus {
  const { document } = window;
  let focused: Element | null = null;
  const current = (): Element | null => (focused?.isConnected ? focused : document.body);
  const dispatch = (
    target: Element,
    names: readonly [string, string],
    relatedTarget: Element | null,
  ): void => {
    target.dispatchEvent(new window.FocusEvent(names[0], { relatedTarget }));
    target.dispatchEvent(new window.FocusEvent(names[1], { relatedTarget, bubbles: true }));
  };
  const move = (to: Element | null): void => {
    const from = focused;
    if (to === from) return;
    focused = to;
    if (from !== null) dispatch(from, ["blur", "focusout"], to);
    if (to !== null && focused === to) dispatch(to, ["focus", "focusin"], from);
  };
  for (const { prototype } of [window.HTMLElement, window.SVGElement]) {
    define(prototype, "focus", function (this: Element) {
      if (this.matches(FOCUSABLE) && !this.matches(":disabled")) move(this);
    });
    define(prototype, "blur", function (this: Element) {
      if (this === focused) move(null);
    });
  }
  define(window, "focus", () => undefined);
  define(window, "blur", () => undefined);
  defineGetter(window.Document.prototype, "activeElement", current);
  return {
    get element() {
      return current();
    },
    press: (target) => move(target.closest(FOCUSABLE)),
  };
}

/** The browser's own, of a page that is looked at. */
export function realFocus(window: Page): Focus {
  return {
    get element() {
      return window.document.activeElement;
    },
    press: (target) => target.closest<HTMLElement>(FOCUSABLE)?.focus(),
  };
}
