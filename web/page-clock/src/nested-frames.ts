/** The frames within a page, as portals and wrappers put games into: each has a clock that follows the page's. */

import { elementAt } from "./element-paths.ts";
import { define, defineProperty } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** A frame without focus counts as the game from this share of the page's window on. */
const MIN_AREA_SHARE = 0.5;

interface NestedFrame<Clock> {
  readonly clock: Clock;
  readonly element: HTMLElement;
  /** Where its content lies in the page's window, in CSS pixels. */
  readonly place: { readonly left: number; readonly top: number };
}

/** @typeParam Clock what each of them has: that of the page. */
export class NestedFrames<Clock> {
  /** Frames in the document, the oldest first. */
  readonly all: readonly NestedFrame<Clock>[];
  readonly #window: Page;
  readonly #all: NestedFrame<Clock>[] = [];
  readonly #nest: (inner: Page) => void;
  /** Null: the page itself; undefined: nothing has had the focus yet. */
  #focused: NestedFrame<Clock> | null | undefined;

  /** @param make gives the window of a frame a clock, before any script of its own. */
  constructor(window: Page, make: (inner: Page, size: readonly [number, number]) => Clock) {
    this.#window = window;
    this.all = this.#all;
    const nest = (inner: Page): void => {
      const element = inner.frameElement as HTMLElement;
      const size = [inner.innerWidth, inner.innerHeight] as const;
      // Before the clock's own listeners, which swallow it: with its page all that is left of a frame is over.
      inner.addEventListener("pagehide", () => this.#remove(frame), { capture: true });
      const frame: NestedFrame<Clock> = {
        element,
        clock: make(inner, size),
        get place() {
          const { left, top } = element.getBoundingClientRect();
          return { left: left + element.clientLeft, top: top + element.clientTop };
        },
      };
      this.#all.push(frame);
      define(inner, "focus", () => {
        this.#focused = frame;
      });
    };
    this.#nest = nest;
    defineProperty(window, "attractNest", { value: nest });
    const focus = Object.getOwnPropertyDescriptor(window.HTMLElement.prototype, "focus");
    define(window.HTMLElement.prototype, "focus", function (this: HTMLElement, ...args: unknown[]) {
      focusOn(this);
      focus?.value?.apply(this, args);
    });
    const focusOn = (element: HTMLElement): void => {
      this.#focused = this.#all.find((frame) => frame.element === element) ?? null;
    };
  }

  /** The clock of the frame that keys go to; null: they go to the page itself. */
  get focused(): Clock | null {
    if (this.#focused !== undefined) return this.#focused?.clock ?? null;
    if (this.#all.length === 0) return null;
    const { innerWidth, innerHeight } = this.#window;
    const largest = this.#all.reduce((a, b) => (areaOf(b) > areaOf(a) ? b : a));
    return areaOf(largest) >= MIN_AREA_SHARE * innerWidth * innerHeight ? largest.clock : null;
  }

  /** A press of the pointer moves the focus. */
  focus(frame: NestedFrame<Clock> | null, isPress: boolean): void {
    if (isPress && (frame !== null || this.#all.length > 0)) this.#focused = frame;
  }

  /** The frame under a place in the page's window. One whose text did not come from the server gets its clock here at the latest. */
  at(x: number, y: number): NestedFrame<Clock> | null {
    if (this.#all.length + this.#window.length === 0) return null;
    const target = elementAt(this.#window.document, [x, y]);
    if (target instanceof this.#window.HTMLIFrameElement && target.contentDocument !== null)
      if (!this.#all.some(({ element }) => element === target)) this.#nest(target.contentWindow as Page);
    return this.#all.find(({ element }) => element === target) ?? null;
  }

  #remove(frame: NestedFrame<Clock>): void {
    const at = this.#all.indexOf(frame);
    if (at >= 0) this.#all.splice(at, 1);
    if (this.#focused === frame) this.#focused = undefined;
  }
}

function areaOf({ element }: NestedFrame<unknown>): number {
  return element.clientWidth * element.clientHeight;
}
