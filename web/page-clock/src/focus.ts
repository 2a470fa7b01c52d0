/** Which element keys go to: each page's own. The browser has one focus for all frames, and takes it from the others. */

import { define, defineGetter } from "./overriding.ts";

type Page = Window & typeof globalThis;

const FOCUSABLE =
  "a[href],area[href],button,input:not([type=hidden]),input:not([type]),select,textarea,iframe,summary,[contenteditable]:not([contenteditable=false]),[tabindex]";

export interface Focus {
  /** What has it, in whatever shadow; the body where nothing else has. */
  readonly element: Element | null;
  /** Called with what the focus is about to leave. */
  onLeave: (element: Element | null) => void;
  /** As a press of the pointer on `target` moves it. */
  press(target: Element): void;
  /** As Tab moves it; with Shift, -1. Absent: the page's own browser does. */
  next?(direction: 1 | -1): void;
}

export function installFocus(window: Page): Focus {
  const { document } = window;
  let focused: Element | null = null;
  const current = (): Element | null =>
    focused?.isConnected && !focused.matches(":disabled") ? focused : document.body;
  const dispatch = (
    target: Element,
    names: readonly [string, string],
    relatedTarget: Element | null,
  ): void => {
    const how = { relatedTarget, composed: true, view: window };
    target.dispatchEvent(new window.FocusEvent(names[0], how));
    target.dispatchEvent(new window.FocusEvent(names[1], { ...how, bubbles: true }));
  };
  const move = (to: Element | null): void => {
    const from = focused;
    if (to === from) return;
    focus.onLeave(from);
    focused = to;
    if (from !== null) dispatch(from, ["blur", "focusout"], to);
    if (to !== null && focused === to) dispatch(to, ["focus", "focusin"], from);
  };
  for (const { prototype } of [window.HTMLElement, window.SVGElement]) {
    define(prototype, "focus", function (this: Element) {
      const to = this.shadowRoot?.delegatesFocus ? this.shadowRoot.querySelector(FOCUSABLE) : this;
      if (to !== null && canHaveFocus(to)) move(to);
    });
    define(prototype, "blur", function (this: Element) {
      if (this === focused) move(null);
    });
  }
  define(window, "focus", () => undefined);
  define(window, "blur", () => undefined);
  // The document sees the host of what lies in a shadow, and each shadow what lies in itself.
  const within = (root: Node): Element | null => {
    for (let one = current(); one !== null; ) {
      const own = one.getRootNode();
      if (own === root) return one;
      one = "host" in own ? (own as ShadowRoot).host : null;
    }
    return null;
  };
  defineGetter(window.Document.prototype, "activeElement", function (this: Document) {
    return this === document ? within(document) : this.body;
  });
  defineGetter(window.ShadowRoot.prototype, "activeElement", function (this: ShadowRoot) {
    return within(this);
  });
  const first = (root: ParentNode): HTMLElement | undefined =>
    [...root.querySelectorAll<HTMLElement>(FOCUSABLE)].find(canHaveFocus);
  document.addEventListener("DOMContentLoaded", () => {
    const [asking] = document.querySelectorAll<HTMLElement>("[autofocus]");
    if (focused === null) asking?.focus();
  });
  // An open dialog or popover has the focus, and gives it back.
  const before = new WeakMap<Element, Element | null>();
  const opens = (prototype: object, name: string, isDialog: boolean): void => {
    const own = (prototype as Record<string, (...args: unknown[]) => void>)[name];
    define(prototype, name, function (this: HTMLElement, ...args: unknown[]) {
      const from = focused;
      own.apply(this, args);
      const asking = this.matches("[autofocus]") ? this : this.querySelector<HTMLElement>("[autofocus]");
      const to = asking ?? (isDialog ? (first(this) ?? this) : null);
      before.set(this, from);
      if (to === null) return;
      if (to === this) move(this);
      else to.focus();
    });
  };
  const giveBack = (from: Element): void => {
    if (!before.has(from)) return;
    if (focused === null || from.contains(focused)) move(before.get(from) ?? null);
    before.delete(from);
  };
  opens(window.HTMLDialogElement.prototype, "show", true);
  opens(window.HTMLDialogElement.prototype, "showModal", true);
  opens(window.HTMLElement.prototype, "showPopover", false);
  for (const [prototype, name] of [
    [window.HTMLDialogElement.prototype, "close"],
    [window.HTMLElement.prototype, "hidePopover"],
  ] as const) {
    const own = (prototype as unknown as Record<string, (...args: unknown[]) => void>)[name];
    define(prototype, name, function (this: HTMLElement, ...args: unknown[]) {
      own.apply(this, args);
      giveBack(this);
    });
  }
  // A form in a dialog closes it without a call of the page's.
  window.addEventListener(
    "close",
    ({ target }) => target instanceof window.Element && giveBack(target),
    true,
  );
  const focus: Focus = {
    onLeave: () => undefined,
    get element() {
      return current();
    },
    press(target) {
      let to: Element | null = target.closest(FOCUSABLE);
      for (
        let root = target.getRootNode();
        to === null && "host" in root;
        root = (root as ShadowRoot).host.getRootNode()
      )
        to = (root as ShadowRoot).host.closest(FOCUSABLE);
      move(to !== null && canHaveFocus(to) ? to : null);
    },
    next(direction) {
      const all = [...document.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
        (one) => one.tabIndex >= 0 && canHaveFocus(one),
      );
      // Those with a number of their own come first, in its order.
      const order = all.toSorted(
        (one, other) => (one.tabIndex || Infinity) - (other.tabIndex || Infinity) || 0,
      );
      const at = focused === null ? -1 : order.indexOf(focused as HTMLElement);
      const to = at < 0 && direction < 0 ? order.length - 1 : at + direction;
      move(order[to] ?? null);
    },
  };
  return focus;
}

function canHaveFocus(element: Element): boolean {
  if (!element.matches(FOCUSABLE) || element.matches(":disabled") || !element.checkVisibility()) return false;
  return element.closest("[inert]") === null;
}

/** The browser's own, of a page that is looked at. */
export function realFocus(window: Page): Focus {
  return {
    onLeave: () => undefined,
    get element() {
      return window.document.activeElement;
    },
    press: (target) => target.closest<HTMLElement>(FOCUSABLE)?.focus(),
  };
}
