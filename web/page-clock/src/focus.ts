/** Which element keys go to: each page's own. The browser has one focus for all frames, and takes it from the others. */

import { pathOf } from "./element-paths.ts";
import { define, defineGetter } from "./overriding.ts";

type Page = Window & typeof globalThis;

const FOCUSABLE =
  "a[href],area[href],button,input:not([type=hidden]),input:not([type]),select,textarea,iframe,details>summary:first-of-type,[contenteditable]:not([contenteditable=false]),dialog:is([open],:popover-open),[tabindex]";
const SEEN = { visibilityProperty: true } as const;
/** Whose opening may move the focus, and whose closing gives it back. */
const OPENABLE = "dialog,[popover]";

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
  const own = (prototype: object) =>
    Object.getOwnPropertyDescriptor(prototype, "activeElement")?.get as (this: Node) => Element | null;
  const [ownActive, ownWithin] = [window.Document.prototype, window.ShadowRoot.prototype].map(own);
  /** What the browser has given its own focus to. */
  const browserFocus = (): Element | null => {
    let found = ownActive.call(document);
    for (let inner = found; inner !== null; inner = inner.shadowRoot && ownWithin.call(inner.shadowRoot))
      found = inner;
    return found;
  };
  let focused: Element | null = null;
  /** What opens just now: whether it does, and what gets the focus in it, is the browser's to say. */
  let opening: Element | null = null;
  const settle = (): void => {
    if (opening?.matches(":popover-open,[open]") !== true) return;
    const to = browserFocus();
    if (to === null || !pathOf(to).includes(opening)) return;
    opening = null;
    move(to);
  };
  const current = (): Element | null => {
    settle();
    return focused?.isConnected && !focused.matches(":disabled") ? focused : document.body;
  };
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
      settle();
      const isWithin = this.shadowRoot?.delegatesFocus && focused !== null && pathOf(focused).includes(this);
      const to = delegateOf(this);
      if (isWithin || to === null || !isFree(to)) return;
      opening = null;
      move(to);
    });
    define(prototype, "blur", function (this: Element) {
      if (this === focused) move(null);
    });
  }
  define(window, "focus", () => undefined);
  define(window, "blur", () => undefined);
  // The document sees the host of what lies in a shadow, and each shadow what lies in itself.
  const within = (root: Node): Element | null =>
    pathOf(current()).find((one) => one.getRootNode() === root) ?? null;
  defineGetter(window.Document.prototype, "activeElement", function (this: Document) {
    return this === document ? within(document) : this.body;
  });
  defineGetter(window.ShadowRoot.prototype, "activeElement", function (this: ShadowRoot) {
    return within(this);
  });
  document.addEventListener("DOMContentLoaded", () => {
    const [asking] = document.querySelectorAll<HTMLElement>("[autofocus]");
    if (focused === null) asking?.focus();
  });
  // An open dialog or popover may have the focus, and gives it back; all but a modal one only if it has it.
  const before = new Map<Element, Element | null>();
  const opens = (one: Element): void => {
    if (one.matches(":popover-open,[open]")) return;
    settle();
    const isAuto = one.matches("[popover=''],[popover=auto],[popover=hint]");
    const isOver = [...before.keys()].some((other) => other.matches(":popover-open"));
    if (isAuto ? !isOver : !one.hasAttribute("popover")) before.set(one, focused);
    opening = one;
  };
  const closes = (one: Element): void => {
    settle();
    const from = before.get(one);
    before.delete(one);
    if (from === undefined || !one.matches(":popover-open,[open]")) return;
    if (one.matches(":modal") || (focused !== null && pathOf(focused).includes(one)))
      move(from === null || pathOf(from).includes(one) ? null : from);
  };
  // In a shadow it is not heard of by all.
  window.addEventListener(
    "beforetoggle",
    (event) => {
      const { target, newState } = event as ToggleEvent;
      if (!event.isTrusted || !(target instanceof window.Element) || !target.matches(OPENABLE)) return;
      if (newState === "open") opens(target);
      else closes(target);
    },
    true,
  );
  for (const [{ prototype }, name, prepare] of [
    [window.HTMLDialogElement, "show", opens],
    [window.HTMLDialogElement, "showModal", opens],
    [window.HTMLDialogElement, "close", closes],
    [window.HTMLElement, "showPopover", opens],
    [window.HTMLElement, "hidePopover", closes],
  ] as const) {
    const own = (prototype as unknown as Record<string, (...args: unknown[]) => void>)[name];
    define(prototype, name, function (this: HTMLElement, ...args: unknown[]) {
      prepare(this);
      own.apply(this, args);
      settle();
      opening = null;
    });
  }
  /** Not behind a modal dialog. */
  const isFree = (element: Element): boolean => {
    const front = [...before.keys()].findLast((one) => one.matches(":modal"));
    return canHaveFocus(element) && (front === undefined || pathOf(element).includes(front));
  };
  const focus: Focus = {
    onLeave: () => undefined,
    get element() {
      return current();
    },
    press(target) {
      const to = pathOf(target).find((one) => one.matches(FOCUSABLE));
      settle();
      opening = null;
      move(to !== undefined && isFree(to) ? to : null);
    },
    next(direction) {
      const all = [...document.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
        (one) => one.tabIndex >= 0 && isFree(one),
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

/** What gets the focus that is given to `element`: the first that can have it in a shadow that hands it on. */
function delegateOf(element: Element): Element | null {
  const { shadowRoot } = element;
  if (!shadowRoot?.delegatesFocus) return canHaveFocus(element) ? element : null;
  for (const one of shadowRoot.querySelectorAll("*")) {
    const found = delegateOf(one);
    if (found !== null) return found;
  }
  return null;
}

function canHaveFocus(element: Element): boolean {
  if (!element.matches(FOCUSABLE) || element.matches(":disabled,[inert],[inert] *")) return false;
  // What is no number is no index.
  if (element.matches(FOCUSABLE.replace(",[tabindex]", ""))) return element.checkVisibility(SEEN);
  return /^\s*[-+]?\d/.test(element.getAttribute("tabindex") ?? "") && element.checkVisibility(SEEN);
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
