/** Resize and intersection observers that look and report in ticks. The browser's own do whenever it happens to draw. */

import { parentOf, pathOf } from "./element-paths.ts";
import { define, makerOf } from "./overriding.ts";
import type { Pauses, VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Rect = readonly [left: number, top: number, right: number, bottom: number];

/** One observer of the page: the browser's own, which observes nothing. */
interface Kept<O, S> {
  readonly observer: O;
  readonly callback: (entries: object[], observer: O) => void;
  /** What it observes, and what was reported last of it. */
  readonly targets: Map<Element, S>;
  /** What is to be reported next. */
  entries: object[];
}

interface Seen {
  readonly box: string;
  size: readonly [width: number, height: number];
}

export interface Observers {
  /** Tells of what has changed since the last call, after the frame's callbacks, as a browser does. Null: nothing is observed. */
  notify(): Pauses | null;
}

export function installObservers(window: Page, time: VirtualTime): Observers {
  const sizes = takeOver<ResizeObserver, Seen>(window, "ResizeObserver", (options) => ({
    box: (options as ResizeObserverOptions | undefined)?.box ?? "content-box",
    size: [Number.NaN, Number.NaN],
  }));
  const views = takeOver<IntersectionObserver, number>(window, "IntersectionObserver", () => -1);
  const resized = resizeEntries(window);
  const looked = intersectionEntries(window, time);
  function* deliver(
    all: Iterable<Kept<ResizeObserver, unknown> | Kept<IntersectionObserver, unknown>>,
  ): Pauses {
    for (const one of [...all]) {
      if (one.entries.length === 0) continue;
      yield* time.pause();
      time.call(one.callback, [one.entries.splice(0), one.observer], one.observer);
    }
  }
  function* tell(): Pauses {
    // Changes made by a callback are reported in the same tick if they lie deeper than all reported before.
    for (let depth = 0; depth < Number.POSITIVE_INFINITY; ) {
      let shallowest = Number.POSITIVE_INFINITY;
      for (const { targets, entries } of sizes)
        for (const [target, seen] of targets) {
          const box = boxOf(window, target);
          const size = seen.box === "border-box" ? box.border : box.content;
          const [width, height] = box.isVertical ? size.toReversed() : size;
          if ((width === seen.size[0] && height === seen.size[1]) || depthOf(target) <= depth) continue;
          shallowest = Math.min(shallowest, depthOf(target));
          seen.size = [width, height];
          entries.push(resized(target, box));
        }
      yield* deliver(sizes);
      depth = shallowest;
    }
    for (const { observer, targets, entries } of views)
      for (const [target, before] of targets) {
        const [index, entry] = looked(observer, target);
        if (index === before) continue;
        targets.set(target, index);
        entries.push(entry);
      }
    yield* deliver(views);
  }
  return { notify: () => (sizes.size + views.size > 0 ? tell() : null) };
}

/** Observers that a page makes are the browser's own, with its checks; what they are to observe is kept here. Those that observe something. */
function takeOver<O extends ResizeObserver | IntersectionObserver, S>(
  window: Page,
  name: "ResizeObserver" | "IntersectionObserver",
  begin: (options: unknown) => S,
): ReadonlySet<Kept<O, S>> {
  const active = new Set<Kept<O, S>>();
  const all = new WeakMap<object, Kept<O, S>>();
  const own = window[name] as unknown as new (...args: unknown[]) => O;
  const { prototype } = own;
  const { observe, unobserve } = prototype as ResizeObserver;
  const made = new Proxy(own, {
    construct(target, [callback, ...rest], newTarget) {
      const silent = typeof callback === "function" ? () => undefined : callback;
      const observer = Reflect.construct(target, [silent, ...rest], newTarget) as O;
      all.set(observer, { observer, callback, targets: new Map(), entries: [] });
      return observer;
    },
  });
  const kept = (observer: object): Kept<O, S> => {
    const found = all.get(observer);
    if (found === undefined) throw new window.TypeError("Illegal invocation");
    return found;
  };
  define(
    prototype,
    "observe",
    function (this: ResizeObserver, target: Element, options?: ResizeObserverOptions) {
      observe.call(this, target, options);
      unobserve.call(this, target);
      const { targets } = kept(this);
      const state = begin(options);
      const before = targets.get(target);
      if (typeof state === "number" && before !== undefined) return;
      if ((before as Seen | undefined)?.box === (state as Seen).box && before !== undefined) return;
      targets.delete(target);
      targets.set(target, state);
      active.add(kept(this));
    },
  );
  define(prototype, "unobserve", function (this: ResizeObserver, target: Element) {
    unobserve.call(this, target);
    const one = kept(this);
    one.targets.delete(target);
    if (one.targets.size === 0) active.delete(one);
  });
  define(prototype, "disconnect", function (this: ResizeObserver) {
    const one = kept(this);
    one.targets.clear();
    one.entries = [];
    active.delete(one);
  });
  if ("takeRecords" in prototype)
    define(prototype, "takeRecords", function (this: IntersectionObserver) {
      return kept(this).entries.splice(0);
    });
  define(prototype, "constructor", made);
  define(window, name, made);
  return active;
}

interface Box {
  readonly content: readonly [width: number, height: number];
  readonly border: readonly [width: number, height: number];
  /** Where the content lies in what is within the border. */
  readonly at: readonly [left: number, top: number];
  readonly isVertical: boolean;
}

/** What has a size though it lies in a line of text. */
const REPLACED = "img,canvas,video,audio,svg,iframe,embed,object";
const NO_BOX: Box = { content: [0, 0], border: [0, 0], at: [0, 0], isVertical: false };

/** As it is laid out, whatever transforms it. */
function boxOf(window: Page, target: Element): Box {
  if (target.getClientRects().length === 0) return NO_BOX;
  const style = window.getComputedStyle(target);
  if (target instanceof window.SVGGraphicsElement && target.ownerSVGElement !== null) {
    const { width, height } = target.getBBox();
    return { ...NO_BOX, content: [width, height], border: [width, height] };
  }
  if (style.display === "inline" && !target.matches(REPLACED)) return NO_BOX;
  const of = (...names: string[]): number =>
    names.reduce((sum, name) => sum + (Number.parseFloat(style.getPropertyValue(name)) || 0), 0);
  const around = [
    of("padding-left", "padding-right", "border-left-width", "border-right-width"),
    of("padding-top", "padding-bottom", "border-top-width", "border-bottom-width"),
  ] as const;
  const given = [of("width"), of("height")] as const;
  const isBorder = style.boxSizing === "border-box";
  const size = (sign: 1 | -1): readonly [number, number] => [
    Math.max(0, given[0] + sign * around[0]),
    Math.max(0, given[1] + sign * around[1]),
  ];
  return {
    content: isBorder ? size(-1) : given,
    border: isBorder ? given : size(1),
    at: [of("padding-left"), of("padding-top")],
    isVertical: style.writingMode.startsWith("vertical") || style.writingMode.startsWith("sideways"),
  };
}

function resizeEntries(window: Page): (target: Element, box: Box) => ResizeObserverEntry {
  const entry = makerOf(window.ResizeObserverEntry.prototype);
  const size = makerOf(window.ResizeObserverSize.prototype);
  return (target, { content, border, at, isVertical }) => {
    const sizes = ([width, height]: readonly [number, number]): readonly ResizeObserverSize[] =>
      window.Object.freeze(
        window.Array.of(
          size(
            isVertical ? { inlineSize: height, blockSize: width } : { inlineSize: width, blockSize: height },
          ),
        ),
      );
    const ratio = window.devicePixelRatio;
    return entry({
      target,
      contentRect: new window.DOMRect(...at, ...content),
      contentBoxSize: sizes(content),
      borderBoxSize: sizes(border),
      devicePixelContentBoxSize: sizes([Math.round(content[0] * ratio), Math.round(content[1] * ratio)]),
    });
  };
}

/** How far a target of an observer is in view: the number of thresholds that it has reached, and what is to be said of it. */
function intersectionEntries(
  window: Page,
  time: VirtualTime,
): (observer: IntersectionObserver, target: Element) => readonly [number, IntersectionObserverEntry] {
  const entry = makerOf(window.IntersectionObserverEntry.prototype);
  return (observer, target) => {
    const { documentElement } = window.document;
    const bounding = target.getBoundingClientRect();
    const root = observer.root as Element | Document | null;
    const isWhole = root === null || root.nodeType === 9;
    // A page without a place is in view as a whole: a game that waits to be seen begins.
    const isLaidOut = documentElement.getClientRects().length > 0;
    const bare = isWhole
      ? ([0, 0, documentElement.clientWidth, documentElement.clientHeight] as const)
      : clipOf(window, root as Element);
    const isSeen = target.getClientRects().length > 0;
    const bounds = isLaidOut ? withMargin(bare, observer.rootMargin) : rectOf(bounding);
    const clipped = isLaidOut
      ? visible(window, target, bounding, isWhole ? null : (root as Element), bounds)
      : rectOf(bounding);
    const area = bounding.width * bounding.height;
    const [left, top, right, bottom] = clipped ?? [0, 0, 0, 0];
    const share = area > 0 ? ((right - left) * (bottom - top)) / area : 1;
    const ratio = clipped === null ? 0 : Math.min(1, share);
    const index = clipped === null ? 0 : observer.thresholds.filter((threshold) => threshold <= ratio).length;
    const domRect = ([l, t, r, b]: Rect): DOMRectReadOnly => new window.DOMRect(l, t, r - l, b - t);
    const made = entry({
      target,
      isIntersecting: index > 0,
      intersectionRatio: ratio,
      boundingClientRect: bounding,
      intersectionRect: domRect([left, top, right, bottom]),
      rootBounds: domRect(isSeen ? bounds : [0, 0, 0, 0]),
      time: time.now,
    });
    return [index, made];
  };
}

/** What is seen of `target` within `root`, or the window; null: nothing, and it does not touch it either. */
function visible(
  window: Page,
  target: Element,
  rect: DOMRect,
  root: Element | null,
  bounds: Rect,
): Rect | null {
  if (target.getClientRects().length === 0) return null;
  const { document } = window;
  let seen: Rect | null = rectOf(rect);
  let { position } = window.getComputedStyle(target);
  let one = above(target);
  for (; one !== null && one !== root && seen !== null; one = above(one)) {
    const style = window.getComputedStyle(one);
    const holds = style.transform !== "none" || style.position !== "static";
    if (position === "fixed" ? style.transform === "none" : position === "absolute" && !holds) continue;
    position = style.position;
    const isWindow = one === document.body || one === document.documentElement;
    if (!isWindow && style.overflow !== "visible") seen = common(seen, clipOf(window, one));
  }
  return one !== root || seen === null ? null : common(seen, bounds);
}

/** What it is laid out in. */
function above(element: Element): Element | null {
  return element.assignedSlot ?? parentOf(element);
}

/** Where the content of `element` is seen: all of it where it cuts nothing off. */
function clipOf(window: Page, element: Element): Rect {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  if (window.getComputedStyle(element).overflow === "visible") return [left, top, right, bottom];
  const [x, y] = [left + element.clientLeft, top + element.clientTop];
  return [x, y, x + element.clientWidth, y + element.clientHeight];
}

function withMargin([left, top, right, bottom]: Rect, margin: string): Rect {
  const [above, right_, below, left_] = margin.split(" ").map((given, i) => {
    const whole = i % 2 === 0 ? bottom - top : right - left;
    return Number.parseFloat(given) * (given.endsWith("%") ? whole / 100 : 1);
  });
  return [left - left_, top - above, right + right_, bottom + below];
}

function rectOf({ left, top, right, bottom }: DOMRect): Rect {
  return [left, top, right, bottom];
}

function common(one: Rect, other: Rect): Rect | null {
  const [left, top] = [Math.max(one[0], other[0]), Math.max(one[1], other[1])];
  const [right, bottom] = [Math.min(one[2], other[2]), Math.min(one[3], other[3])];
  return left > right || top > bottom ? null : [left, top, right, bottom];
}

function depthOf(element: Element): number {
  return pathOf(element).length;
}
