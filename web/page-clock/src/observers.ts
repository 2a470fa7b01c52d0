/** Resize and intersection observers that report in ticks. The browser's own report whenever it happens to draw. */

import { define } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Callback = (entries: object[], observer: object) => void;

export interface Observers {
  /** Tells of all sizes that changed since the last call, after the frame's callbacks, as a browser does. */
  notify(): void;
}

export function installObservers(window: Page, time: VirtualTime): Observers {
  const resizing = new Set<VirtualResizeObserver>();

  class VirtualResizeObserver {
    readonly #callback: Callback;
    /** The size reported last per target; NaN before the first report. */
    readonly #sizes = new Map<Element, readonly [width: number, height: number]>();
    constructor(callback: Callback) {
      this.#callback = callback;
    }
    observe(target: Element): void {
      this.#sizes.set(target, [Number.NaN, Number.NaN]);
      resizing.add(this);
    }
    unobserve(target: Element): void {
      this.#sizes.delete(target);
    }
    disconnect(): void {
      this.#sizes.clear();
      resizing.delete(this);
    }
    notify(): void {
      const entries: object[] = [];
      for (const [target, [width, height]] of this.#sizes) {
        const contentRect = contentOf(window, target);
        if (contentRect.width === width && contentRect.height === height) continue;
        this.#sizes.set(target, [contentRect.width, contentRect.height]);
        const size = [{ inlineSize: contentRect.width, blockSize: contentRect.height }];
        const { width: w, height: h } = target.getBoundingClientRect();
        const borderBoxSize = [{ inlineSize: w, blockSize: h }];
        entries.push({
          target,
          contentRect,
          contentBoxSize: size,
          borderBoxSize,
          devicePixelContentBoxSize: size,
        });
      }
      if (entries.length > 0) time.call(this.#callback, [entries, this], this);
    }
  }

  /** Reports everything as in view: the result must not depend on the scroll position. */
  class VirtualIntersectionObserver {
    readonly root = null;
    readonly rootMargin = "0px";
    readonly thresholds = [0];
    readonly #callback: Callback;
    readonly #targets = new Set<Element>();
    constructor(callback: Callback) {
      this.#callback = callback;
    }
    observe(target: Element): void {
      if (this.#targets.has(target)) return;
      this.#targets.add(target);
      const notify = (): void => {
        if (!this.#targets.has(target)) return;
        const rect = target.getBoundingClientRect();
        const entry = {
          target,
          isIntersecting: true,
          intersectionRatio: 1,
          boundingClientRect: rect,
          intersectionRect: rect,
          rootBounds: null,
          time: time.now,
        };
        this.#callback([entry], this);
      };
      time.add(notify, 0, [], false, false);
    }
    unobserve(target: Element): void {
      this.#targets.delete(target);
    }
    disconnect(): void {
      this.#targets.clear();
    }
    takeRecords(): object[] {
      return [];
    }
  }

  define(window, "ResizeObserver", VirtualResizeObserver);
  define(window, "IntersectionObserver", VirtualIntersectionObserver);
  return {
    notify() {
      if (resizing.size > 0) for (const observer of [...resizing]) observer.notify();
    },
  };
}

/** The content box, as a `ResizeObserver` tells it: without padding and border. */
function contentOf(window: Page, target: Element): DOMRect {
  const { width, height } = target.getBoundingClientRect();
  if (width === 0 && height === 0) return new window.DOMRect();
  const style = window.getComputedStyle(target);
  const of = (...names: string[]): number =>
    names.reduce((sum, name) => sum + (Number.parseFloat(style.getPropertyValue(name)) || 0), 0);
  const across = of("padding-left", "padding-right", "border-left-width", "border-right-width");
  const down = of("padding-top", "padding-bottom", "border-top-width", "border-bottom-width");
  return new window.DOMRect(of("padding-left"), of("padding-top"), width - across, height - down);
}
