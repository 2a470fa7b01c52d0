/** Which canvases of a page make the picture that an agent sees, in which order they lie, and on which colours. */

import { ConfigurationError } from "../errors.ts";
import type { PageWindow } from "../page-adapter.ts";
import { canvasesIn, hostOf } from "./elements.ts";

/** A canvas and the part of the picture that it covers: shares of the picture's width and height. */
export interface Layer {
  readonly canvas: HTMLCanvasElement;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** What shows where the canvas is transparent; null: what lies below. */
  readonly background: string | null;
}

export interface Picture {
  /** Size of the largest canvas, in its own pixels. */
  readonly width: number;
  readonly height: number;
  /** Colours below all layers, the lowest first: that one hides what lies under it. */
  readonly ground: readonly string[];
  /** The lowest first. */
  readonly layers: readonly Layer[];
}

/** The ground of a page without a background. */
const WHITE = "rgb(255, 255, 255)";
/** Where what has no position of its own is painted: above all negative z-indices, below 0. */
const IN_FLOW = -0.5;

/**
 * The picture is the largest canvas to be seen, with every other that lies over or under a part of it.
 *
 * @param selector only canvases that it matches count; null: all.
 * @throws ConfigurationError when there is none.
 */
export function findPicture(window: PageWindow, selector: string | null): Picture {
  const all = canvasesIn(window);
  const visible = all.filter(
    (canvas) => (selector === null || canvas.matches(selector)) && isVisible(canvas),
  );
  if (visible.length === 0) throw noCanvasError(all, selector);
  const areaOf = (canvas: HTMLCanvasElement): number => {
    const { width, height } = canvas.getBoundingClientRect();
    return width * height;
  };
  const main = visible.reduce((best, canvas) => (areaOf(canvas) > areaOf(best) ? canvas : best));
  const frame = main.getBoundingClientRect();
  const layers = visible
    // Those of frames have places of their own.
    .filter((canvas) => canvas.ownerDocument === main.ownerDocument)
    .filter((canvas) => overlap(canvas.getBoundingClientRect(), frame))
    .sort((a, b) => paintOrder(window, a, b))
    .map((canvas): Layer => {
      const own = canvas.getBoundingClientRect();
      return {
        canvas,
        left: (own.left - frame.left) / frame.width,
        top: (own.top - frame.top) / frame.height,
        width: own.width / frame.width,
        height: own.height / frame.height,
        background: backgroundOf(window, canvas),
      };
    });
  const ground: string[] = [];
  for (
    let above = parentOf(window, main);
    above !== null && !isOpaque(ground[0]);
    above = parentOf(window, above)
  ) {
    const color = backgroundOf(window, above);
    if (color !== null) ground.unshift(color);
  }
  if (!isOpaque(ground[0])) ground.unshift(WHITE);
  return { width: main.width, height: main.height, ground, layers };
}

/** What it lies in, also outside of its shadow root or its frame. */
function parentOf(window: PageWindow, element: Element): Element | null {
  return element.parentElement ?? hostOf(window, element);
}

function isIn(window: PageWindow, element: Element | null, other: Element): boolean {
  return element !== null && (element === other || isIn(window, parentOf(window, element), other));
}

/** How a message calls a canvas. */
export function canvasName(canvas: { id?: string; width: number; height: number }): string {
  const name = canvas.id ? `the canvas #${canvas.id}` : "a canvas without an id";
  return `${name} (${canvas.width} x ${canvas.height})`;
}

function isVisible(canvas: HTMLCanvasElement): boolean {
  const { width, height } = canvas.getBoundingClientRect();
  return (
    width > 0 &&
    height > 0 &&
    canvas.width > 0 &&
    canvas.height > 0 &&
    canvas.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  );
}

function noCanvasError(all: readonly HTMLCanvasElement[], selector: string | null): ConfigurationError {
  if (all.length === 0)
    return new ConfigurationError(
      "pixels",
      "the page has no canvas, and what is made of elements cannot be read as a picture: " +
        "give observation and observe(window) instead",
    );
  const there = all.map(canvasName).join(", ");
  return new ConfigurationError(
    selector === null ? "pixels" : "pixels.canvas",
    `${selector === null ? "no canvas" : `no canvas that matches ${JSON.stringify(selector)}`} is to be seen when the ` +
      `episode begins; the page has ${there}. Have playing(window) wait until it is shown, or name another`,
  );
}

function overlap(a: DOMRect, b: DOMRect): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function backgroundOf(window: PageWindow, element: Element): string | null {
  const color: string = window.getComputedStyle(element).backgroundColor;
  return /^rgba\(.*, 0\)$/.test(color) ? null : color;
}

function isOpaque(color: string | undefined): boolean {
  return color !== undefined && /^rgb\(/.test(color);
}

/** As CSS paints: by z-index within what both lie in, then as they stand in the document. */
function paintOrder(window: PageWindow, a: HTMLCanvasElement, b: HTMLCanvasElement): number {
  let common: Element | null = a;
  while (common !== null && !isIn(window, b, common)) common = parentOf(window, common);
  const byLevel = levelOf(window, a, common) - levelOf(window, b, common);
  // 4: b follows a in the document.
  return byLevel || ((a.compareDocumentPosition(b) & 4) > 0 ? -1 : 1);
}

function levelOf(window: PageWindow, canvas: Element, common: Element | null): number {
  let level = IN_FLOW;
  for (let element: Element | null = canvas; element !== null && element !== common; ) {
    const { position, zIndex, transform, opacity } = window.getComputedStyle(element);
    // What makes a layer of its own holds all that is in it; what is only positioned does not.
    if (position !== "static" && zIndex !== "auto") level = Number(zIndex);
    else if (transform !== "none" || opacity !== "1") level = 0;
    else if (position !== "static" && level === IN_FLOW) level = 0;
    element = parentOf(window, element);
  }
  return level;
}
