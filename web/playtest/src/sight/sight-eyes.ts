/** What a page game shows after each tick: a small picture of it, and from time to time its words and buttons with their boxes. */

/// <reference lib="dom" />
import { canvasesIn, everyIn } from "attract/page/elements";
import { made } from "attract/page/made";
import { gameOf, PHASER, phaserTexts } from "attract/page/phaser";
import type { PageAdapter, PageWindow } from "attract/page-adapter";
import { watchPictures } from "../../../worker/src/page/missed-pictures.ts";
import type { Word } from "./sight-rules.ts";
import { HEIGHT, type Thumbnail, WIDTH } from "./thumbnail.ts";

// biome-ignore lint/suspicious/noExplicitAny: contexts of a window that is not ours
type Context = any;
type Box = readonly [left: number, top: number, right: number, bottom: number];

const NOTHING: Box = [0, 0, 0, 0];
/** A canvas that covers so much of the window is the picture. */
const MAIN = 0.25;
/** What a page has beyond these is not looked at. */
const MAX_ELEMENTS = 500;
const MAX_WORDS = 200;
const MAX_LENGTH = 60;
/** In one tick. */
const MAX_MISSES = 20;
/** What lies so much of the view's size outside of it is parked there, or meant for screen readers. */
const NEAR = 0.5;
const BUTTONS = "button, [role=button], input[type=button], input[type=submit]";
const UNSEEN = "script, style, template, noscript, link, meta";
const DOWN = ["keydown", "pointerdown"];
const UP = ["keyup", "pointerup", "pointercancel"];
const INPUTS = [...DOWN, ...UP, "pointermove", "mousedown", "touchstart", "wheel"];

/** What was heard in one page. */
class Heard {
  /** Keys and buttons that are down. */
  readonly down = new Set<string>();
  hasInput = false;
  words: { canvas: HTMLCanvasElement; text: string; box: Box }[] = [];
  readonly places = new Set<string>();
  /** What drawing took of pictures beyond their edges, since the last call of `misses`. */
  misses: string[] = [];
}

/** Owned by one drill, whose copies play its pages. */
export class SightEyes {
  /** Called after each tick while an episode is watched. */
  onTick: ((window: PageWindow) => void) | null = null;
  readonly #heard = new WeakMap<object, Heard>();
  readonly #context: OffscreenCanvasRenderingContext2D;
  #region = NOTHING;

  constructor() {
    const context = new OffscreenCanvas(WIDTH, HEIGHT).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("this browser gives no canvas to look at the page with");
    this.#context = context;
  }

  /** The adapter whose pages are watched. */
  following(adapter: PageAdapter): PageAdapter {
    return {
      ...adapter,
      prepare: (window, parameters) => {
        made(window, PHASER);
        this.#heard.set(window, listen(window));
        adapter.prepare?.(window, parameters);
      },
      over: (window) => {
        this.onTick?.(window);
        return adapter.over(window);
      },
    };
  }

  /** An episode begins. */
  begin(): void {
    this.#region = NOTHING;
  }

  /** Whether anything is pressed, or was since the last call. */
  hasInput(window: PageWindow): boolean {
    const heard = this.#heard.get(window);
    if (heard === undefined) return true;
    const hasInput = heard.hasInput || heard.down.size > 0;
    heard.hasInput = false;
    return hasInput;
  }

  /** What the page shows now, and whether that is another part of it than before. Raises Error where it cannot be read. */
  look(window: PageWindow): { picture: Thumbnail; isOther: boolean } {
    const context = this.#context;
    const view: Box = [0, 0, window.innerWidth, window.innerHeight];
    const seenOf = (box: Box): number => areaOf(within(box, view));
    const main = canvasesIn(window)
      .map(boxOf)
      .reduce((most, box) => (seenOf(box) > seenOf(most) ? box : most), NOTHING);
    const isMain = seenOf(main) >= MAIN * areaOf(view);
    const whole = isMain || this.#region === NOTHING ? (isMain ? main : view) : this.#region;
    const isOther = !isAlike(whole, this.#region);
    // Where the canvas moves in the page, or is gone, the picture moves or is gone.
    if (isOther) this.#region = whole;
    const region = this.#region;
    const [left, top, right, bottom] = region;
    const [across, down] = [WIDTH / (right - left), HEIGHT / (bottom - top)];
    context.setTransform(across, 0, 0, down, -left * across, -top * down);
    context.imageSmoothingQuality = "medium";
    paintPage(context, window, region);
    return { picture: context.getImageData(0, 0, WIDTH, HEIGHT).data, isOther };
  }

  /** Calls of `drawImage` since the last call of this that drew nothing: they took a part beyond the edges of a picture. */
  misses(window: PageWindow): readonly string[] {
    const heard = this.#heard.get(window);
    const misses = heard?.misses ?? [];
    if (heard !== undefined) heard.misses = [];
    return misses;
  }

  /** Words on canvases since the last call, and those and the buttons of elements now. */
  words(window: PageWindow): Word[] {
    const view: Box = [0, 0, window.innerWidth, window.innerHeight];
    const found: Word[] = [];
    const heard = this.#heard.get(window);
    for (const { canvas, text, box } of heard?.words ?? []) {
      const onPage = boxOf(canvas);
      if (!canvas.isConnected || areaOf(onPage) === 0) continue;
      const [across, down] = [
        (onPage[2] - onPage[0]) / canvas.width,
        (onPage[3] - onPage[1]) / canvas.height,
      ];
      const [left, top, right, bottom] = box;
      const placed: Box = [
        onPage[0] + left * across,
        onPage[1] + top * down,
        onPage[0] + right * across,
        onPage[1] + bottom * down,
      ];
      found.push(wordOf(text, false, placed, within(onPage, reach(window, view)), true));
    }
    if (heard !== undefined) heard.words = [];
    heard?.places.clear();
    // Of these the middle is known alone.
    for (const { name, place } of phaserTexts(window)) {
      const [x, y] = place;
      const clip = within(boxOf(gameOf(window).canvas), reach(window, view));
      found.push(wordOf(name, false, [x - 1, y - 1, x + 1, y + 1], clip, true));
    }
    for (const element of everyIn(window).slice(0, MAX_ELEMENTS)) {
      const isButton = element.matches(BUTTONS);
      const range = isButton ? null : textRange(element);
      if ((!isButton && range === null) || element.matches(UNSEEN) || !isShown(element)) continue;
      const box = boxOf(range ?? element);
      // Clipped to a dot, it is for screen readers.
      if (areaOf(box) < 16) continue;
      found.push(wordOf(element.textContent ?? "", isButton, box, reach(window, view), false));
    }
    return found.filter(({ share }) => share >= 0).slice(0, MAX_WORDS);
  }
}

function listen(window: PageWindow): Heard {
  const heard = new Heard();
  for (const name of INPUTS)
    window.addEventListener(
      name,
      ({ type, code }: { type: string; code?: string }) => {
        heard.hasInput = true;
        if (DOWN.includes(type) && heard.down.size < 100) heard.down.add(String(code));
        else if (UP.includes(type)) heard.down.delete(String(code));
      },
      { capture: true, passive: true },
    );
  const { prototype } = window.CanvasRenderingContext2D;
  for (const name of ["fillText", "strokeText"]) {
    const original = prototype[name];
    prototype[name] = function (this: Context, ...args: unknown[]) {
      note(heard, this, String(args[0]), Number(args[1]), Number(args[2]));
      return original.apply(this, args);
    };
  }
  watchPictures(window, (text) => {
    if (heard.misses.length < MAX_MISSES) heard.misses.push(`nothing is drawn: ${text}`);
  });
  return heard;
}

function note(heard: Heard, context: Context, text: string, x: number, y: number): void {
  if (
    heard.words.length >= MAX_WORDS ||
    text.trim() === "" ||
    context.globalAlpha < 0.1 ||
    !Number.isFinite(x + y)
  )
    return;
  const { a, b, c, d, e, f } = context.getTransform() as DOMMatrix;
  const place = `${text.slice(0, MAX_LENGTH)} ${Math.round(a * x + e)} ${Math.round(d * y + f)}`;
  // What is turned has no edge that an edge could cut.
  if (b !== 0 || c !== 0 || heard.places.has(place)) return;
  heard.places.add(place);
  const size = context.measureText(text) as TextMetrics;
  const [x1, x2] = [x - size.actualBoundingBoxLeft, x + size.actualBoundingBoxRight].map(
    (one) => a * one + e,
  );
  const [y1, y2] = [y - size.actualBoundingBoxAscent, y + size.actualBoundingBoxDescent].map(
    (one) => d * one + f,
  );
  const box: Box = [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)];
  heard.words.push({ canvas: context.canvas, text, box });
}

/** @param isAlone whether it is found if all of it lies outside, too: elements that do are menus that slide in. */
function wordOf(text: string, isButton: boolean, box: Box, seen: Box, isAlone: boolean): Word {
  const [left, top, right, bottom] = box;
  const beyond: Word["beyond"] = [
    ...(left < seen[0] ? ["left" as const] : []),
    ...(top < seen[1] ? ["top" as const] : []),
    ...(right > seen[2] ? ["right" as const] : []),
    ...(bottom > seen[3] ? ["bottom" as const] : []),
  ];
  const inside = areaOf(within(box, seen));
  const [width, height] = [NEAR * (seen[2] - seen[0]), NEAR * (seen[3] - seen[1])];
  const isNear =
    areaOf(within(box, [seen[0] - width, seen[1] - height, seen[2] + width, seen[3] + height])) > 0;
  const isMeant = areaOf(box) === 0 || (inside === 0 && !(isAlone && isNear));
  const line = text
    .slice(0, 10 * MAX_LENGTH)
    .replace(/\s+/g, " ")
    .trim();
  return {
    text: line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line,
    isButton,
    left,
    top,
    right,
    bottom,
    beyond,
    share: isMeant ? -1 : 1 - inside / areaOf(box),
  };
}

/** The view, and what can be scrolled into it. */
function reach(window: PageWindow, [, , right, bottom]: Box): Box {
  const { scrollingElement: page, body } = window.document;
  const isFixed = (axis: "overflowX" | "overflowY"): boolean =>
    [page, body].some((one) => one && /hidden|clip/.test(window.getComputedStyle(one)[axis]));
  const [isWide, isHigh] = [page?.scrollWidth > right, page?.scrollHeight > bottom];
  return [
    0,
    0,
    isWide && !isFixed("overflowX") ? Number.POSITIVE_INFINITY : right,
    isHigh && !isFixed("overflowY") ? Number.POSITIVE_INFINITY : bottom,
  ];
}

/** The element's own text; null: it has none. */
function textRange(element: HTMLElement): Range | null {
  const own = [...element.childNodes].filter(
    ({ nodeType, textContent }) => nodeType === 3 && textContent?.trim(),
  );
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return null;
  const range = element.ownerDocument.createRange();
  range.setStartBefore(first);
  range.setEndAfter(last);
  return range;
}

function isShown(element: HTMLElement): boolean {
  return element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
}

/** Elements as boxes in their colours, pictures and canvases as they are, each over those that it lies on. */
function paintPage(context: OffscreenCanvasRenderingContext2D, window: PageWindow, region: Box): void {
  const fill = (style: string, [x1, y1, x2, y2]: Box): void => {
    context.fillStyle = style;
    context.fillRect(x1, y1, x2 - x1, y2 - y1);
  };
  context.globalAlpha = 1;
  fill("#fff", region);
  const { documentElement, body } = window.document;
  const shown: {
    element: HTMLElement;
    style: CSSStyleDeclaration;
    box: Box;
    alpha: number;
    layer: number;
  }[] = [];
  const above = new Map<Element, { alpha: number; layer: number }>();
  for (const element of [documentElement, body, ...everyIn(window).slice(0, MAX_ELEMENTS)] as HTMLElement[]) {
    if (element === null || element.matches(UNSEEN)) continue;
    const style = window.getComputedStyle(element);
    const parent = above.get(element.parentElement ?? documentElement) ?? { alpha: 1, layer: 0 };
    const own = {
      alpha: parent.alpha * Number(style.opacity),
      layer: Math.max(parent.layer, Number(style.zIndex) || 0),
    };
    above.set(element, own);
    // What a page's body has for its ground lies under the whole view.
    const box = element === body || element === documentElement ? region : boxOf(element);
    const isSeen = style.visibility === "visible" && own.alpha > 0.02 && areaOf(within(box, region)) > 0;
    if (isSeen) shown.push({ element, style, box, ...own });
  }
  for (const { element, style, box, alpha } of shown.sort((a, b) => a.layer - b.layer)) {
    context.globalAlpha = alpha;
    if (style.backgroundColor !== "rgba(0, 0, 0, 0)") fill(style.backgroundColor, box);
    if (style.backgroundImage !== "none") fill(colorOf(style.backgroundImage), box);
    const tag = element.tagName.toLowerCase();
    if (tag === "canvas" || tag === "img" || tag === "video") {
      const image = element as unknown as HTMLCanvasElement;
      const { complete = true } = element as HTMLImageElement;
      if (complete && areaOf([0, 0, image.width, image.height]) > 0)
        context.drawImage(image, box[0], box[1], box[2] - box[0], box[3] - box[1]);
      continue;
    }
    if (element.namespaceURI?.endsWith("svg") && tag !== "svg" && tag !== "g")
      fill(style.fill === "none" ? style.stroke : style.fill, box);
    const range = textRange(element);
    if (range === null) continue;
    context.globalAlpha = alpha / 2;
    fill(style.color, boxOf(range));
  }
}

/** One for each text: what a background shows is not known, but when it changes. */
function colorOf(text: string): string {
  let hash = 0;
  for (let i = 0; i < Math.min(text.length, 1_000); i++)
    hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return `hsl(${(hash >>> 0) % 360} 40% 50% / 0.6)`;
}

function boxOf(shown: Element | Range): Box {
  const { left, top, right, bottom } = shown.getBoundingClientRect();
  return [left, top, right, bottom];
}

function within([left, top, right, bottom]: Box, [l, t, r, b]: Box): Box {
  return [Math.max(left, l), Math.max(top, t), Math.min(right, r), Math.min(bottom, b)];
}

/** Whether they have one size. */
function isAlike([left, top, right, bottom]: Box, [l, t, r, b]: Box): boolean {
  return Math.abs(right - left - r + l) < 1 && Math.abs(bottom - top - b + t) < 1;
}

function areaOf([left, top, right, bottom]: Box): number {
  return Math.max(0, right - left) * Math.max(0, bottom - top);
}
