/** Follows what a page draws on its 2D canvases: every call is heard, and done as before. */

import type { PageWindow } from "../../page-adapter.ts";
import { canvasesIn } from "../elements.ts";
import { lookOfImage, paintOf, sizeOf } from "./looks.ts";
import { type Font, Marks } from "./marks.ts";

// biome-ignore lint/suspicious/noExplicitAny: contexts of a window that is not ours, on the screen and off it
type Context = any;
type Call = (...args: unknown[]) => unknown;
type Box = [left: number, top: number, right: number, bottom: number];

/** An image that covers this share of a canvas is a background. */
const BACKGROUND = 0.5;
/** A canvas drawn onto another, over so much of it, is the picture itself; less, and it is a thing. */
const PICTURE = 0.5;

/** The path that a context is at, in pixels of its canvas. */
interface Path {
  box: Box | null;
  /** Whether it was painted already: its outline is no second thing. */
  isPainted: boolean;
}

export class DrawRecorder {
  /** Frames drawn by the page so far. */
  numFrames = 0;
  readonly #window: PageWindow;
  readonly #marks = new WeakMap<object, Marks>();
  readonly #paths = new WeakMap<object, Path>();
  /** The same by the contexts that draw there. */
  readonly #marksByContext = new WeakMap<object, Marks>();
  #measure: Context;

  /** Follows `window` from now on. */
  constructor(window: PageWindow) {
    this.#window = window;
    for (const name of ["CanvasRenderingContext2D", "OffscreenCanvasRenderingContext2D"])
      if (window[name] !== undefined) this.#follow(window[name].prototype);
    for (const name of ["HTMLCanvasElement", "OffscreenCanvas"])
      if (window[name] !== undefined) this.#followSize(window[name].prototype);
    const turn = (): void => {
      this.numFrames++;
      for (const { marks } of this.#attached()) marks.turn();
      window.requestAnimationFrame(turn);
    };
    window.requestAnimationFrame(turn);
  }

  forget(): void {
    for (const { marks } of this.#attached()) marks.forget();
  }

  /** The canvases to be seen, each with what stands on it; small ones beside a large one are left out. */
  shown(): { canvas: HTMLCanvasElement; marks: Marks }[] {
    const found = this.#attached();
    const areas = found.map(({ canvas }) => canvas.width * canvas.height);
    const least = Math.max(0, ...areas) / 4;
    return found.filter((_, i) => areas[i] > 0 && areas[i] >= least);
  }

  /** All canvases to be seen: words are often written on a small one beside the game. */
  read(): { canvas: HTMLCanvasElement; marks: Marks }[] {
    return this.#attached().filter(
      ({ canvas: { width, height, hidden, style } }) =>
        width * height > 0 && !hidden && style.display !== "none" && style.visibility !== "hidden",
    );
  }

  /** Width of a text in a font of the page, as far as that is loaded: what the page would measure now. */
  widthOf(font: string, text: string): number {
    this.#measure ??= new this.#window.OffscreenCanvas(1, 1).getContext("2d");
    this.#measure.font = font;
    return this.#measure.measureText(text).width;
  }

  #attached(): { canvas: HTMLCanvasElement; marks: Marks }[] {
    return canvasesIn(this.#window).flatMap((canvas) => {
      const marks = this.#marks.get(canvas);
      return marks === undefined ? [] : [{ canvas, marks }];
    });
  }

  #of(canvas: object): Marks {
    let marks = this.#marks.get(canvas);
    if (marks === undefined) {
      marks = new Marks(canvas as HTMLCanvasElement);
      this.#marks.set(canvas, marks);
    }
    return marks;
  }

  #at(context: Context): Marks {
    let marks = this.#marksByContext.get(context);
    if (marks === undefined) {
      marks = this.#of(context.canvas);
      this.#marksByContext.set(context, marks);
    }
    return marks;
  }

  #path(context: Context): Path {
    let path = this.#paths.get(context);
    if (path === undefined) {
      path = { box: null, isPainted: false };
      this.#paths.set(context, path);
    }
    return path;
  }

  #follow(prototype: Record<string, Call>): void {
    const hear = (name: string, listen: (context: Context, args: unknown[]) => void): void => {
      const original = prototype[name];
      if (original === undefined) return;
      prototype[name] = function (this: Context, ...args: unknown[]) {
        listen(this, args);
        return original.apply(this, args);
      };
    };
    const numbers = (args: unknown[]): number[] => args.map(Number);

    hear("clearRect", (context, args) => {
      const [x, y, width, height] = numbers(args);
      this.#at(context).cover(...boxOf(context, x, y, x + width, y + height));
    });
    hear("reset", (context) => this.#at(context).clear());
    hear("fillRect", (context, args) => this.#rect(context, numbers(args), context.fillStyle, true));
    hear("strokeRect", (context, args) => this.#rect(context, numbers(args), context.strokeStyle, false));
    hear("drawImage", (context, args) => this.#image(context, args));
    for (const name of ["fillText", "strokeText"])
      hear(name, (context, [text, x, y]) => this.#text(context, String(text), Number(x), Number(y)));
    hear("fill", (context, args) => this.#paint(context, args, context.fillStyle));
    hear("stroke", (context, args) => this.#paint(context, args, context.strokeStyle));

    hear("beginPath", (context) => this.#paths.set(context, { box: null, isPainted: false }));
    for (const name of ["moveTo", "lineTo"])
      hear(name, (context, args) => this.#reach(context, ...(numbers(args) as [number, number])));
    for (const name of ["quadraticCurveTo", "bezierCurveTo"])
      hear(name, (context, args) => {
        const at = numbers(args);
        for (let i = 0; i + 1 < at.length; i += 2) this.#reach(context, at[i], at[i + 1]);
      });
    hear("arcTo", (context, args) => {
      const [x1, y1, x2, y2] = numbers(args);
      this.#reach(context, x1, y1);
      this.#reach(context, x2, y2);
    });
    for (const name of ["rect", "roundRect"])
      hear(name, (context, args) => {
        const [x, y, width, height] = numbers(args.slice(0, 4));
        this.#reach(context, x, y, x + width, y + height);
      });
    hear("arc", (context, args) => {
      const [x, y, radius] = numbers(args);
      this.#reach(context, x - radius, y - radius, x + radius, y + radius);
    });
    hear("ellipse", (context, args) => {
      const [x, y, across, down] = numbers(args);
      this.#reach(context, x - across, y - down, x + across, y + down);
    });
  }

  /** To set a canvas's size empties it, the same size too. */
  #followSize(prototype: object): void {
    for (const name of ["width", "height"]) {
      const property = Object.getOwnPropertyDescriptor(prototype, name);
      const { set } = property ?? {};
      if (property === undefined || set === undefined) continue;
      const marks = this.#marks;
      Object.defineProperty(prototype, name, {
        ...property,
        set(this: object, value: unknown) {
          set.call(this, value);
          marks.get(this)?.resize(this as HTMLCanvasElement);
        },
      });
    }
  }

  #rect(context: Context, [x, y, width, height]: number[], paint: unknown, isFilled: boolean): void {
    const alpha = context.globalAlpha;
    const { isClear, isOpaque, rect } = paintOf(paint);
    if (alpha === 0 || isClear) return;
    const box = boxOf(context, x, y, x + width, y + height);
    const marks = this.#at(context);
    if (isFilled) {
      // A veil over everything as well: what trails behind is no thing of its own.
      if (marks.isWhole(...box)) {
        marks.clear();
        return;
      }
      if (isOpaque && alpha === 1) marks.cover(...box);
    } else if (sameBox(marks.last, box)) return;
    this.#add(marks, rect, "", sizeOf(width, height), box);
  }

  #image(context: Context, args: unknown[]): void {
    const [image, ...given] = args;
    if (context.globalAlpha === 0 || image === null || typeof image !== "object") return;
    const source = image as { width: number; height: number; naturalWidth?: number; naturalHeight?: number };
    const [ownWidth, ownHeight] = [
      Number(source.naturalWidth ?? source.width) || 0,
      Number(source.naturalHeight ?? source.height) || 0,
    ];
    const at = given.map(Number);
    const from = at.length === 8 ? at.slice(0, 4) : [0, 0, ownWidth, ownHeight];
    const [x, y, width, height] =
      at.length === 8 ? at.slice(4) : at.length === 4 ? at : [at[0], at[1], ownWidth, ownHeight];
    // Not there yet: nothing is drawn.
    if (!(width && height)) return;
    const box = boxOf(context, x, y, x + width, y + height);
    const marks = this.#at(context);
    const inner = this.#marks.get(image);
    const share = marks.shareOf(...box);
    if (inner !== undefined && inner !== marks && share >= PICTURE) {
      // As a second buffer is shown.
      marks.cover(...box);
      const [across, down] = [(box[2] - box[0]) / from[2], (box[3] - box[1]) / from[3]];
      for (const mark of inner.now)
        marks.add({
          ...mark,
          left: box[0] + (mark.left - from[0]) * across,
          top: box[1] + (mark.top - from[1]) * down,
          right: box[0] + (mark.right - from[0]) * across,
          bottom: box[1] + (mark.bottom - from[1]) * down,
          font: mark.font && {
            ...mark.font,
            height: mark.font.height * down,
            scale: mark.font.scale * across,
          },
          ...(mark.middle !== undefined && {
            middle: [
              box[0] + (mark.middle[0] - from[0]) * across,
              box[1] + (mark.middle[1] - from[1]) * down,
            ] as const,
          }),
        });
      return;
    }
    if (share >= BACKGROUND) marks.cover(...box);
    if (marks.isWhole(...box)) return;
    const part = at.length === 8 ? `@${Math.round(from[0])},${Math.round(from[1])}` : "";
    this.#add(marks, lookOfImage(image), part, sizeOf(width, height), box);
    // Engines write each text on a canvas of its own.
    const [left, top, right, bottom] = box;
    for (const { text } of inner === marks ? [] : (inner?.now ?? []))
      if (text !== null) {
        const middle = [(left + right) / 2, (top + bottom) / 2] as const;
        marks.add({ look: "text", part: "", size: "", left, top, right, bottom, text, middle });
      }
  }

  #text(context: Context, text: string, x: number, y: number): void {
    if (context.globalAlpha === 0 || text.trim() === "") return;
    const [left, top] = pointOf(context, x, y);
    const marks = this.#at(context);
    const { last } = marks;
    // Its outline, or its shadow beside it.
    if (last?.text === text && Math.abs(last.left - left) < 4 && Math.abs(last.top - top) < 4) return;
    const middle = middleOf(context, text, x, y);
    const font = fontOf(context);
    marks.add({ look: "text", part: "", size: "", left, top, right: left, bottom: top, text, middle, font });
  }

  #paint(context: Context, [path]: unknown[], paint: unknown): void {
    const { isClear, shape } = paintOf(paint);
    if (isClear || context.globalAlpha === 0) return;
    const marks = this.#at(context);
    if (typeof path === "object" && path !== null) {
      // Its size is unknown: it stands where the page has moved to.
      const [x, y] = pointOf(context, 0, 0);
      this.#add(marks, shape, "", "", [x, y, x, y]);
      return;
    }
    const own = this.#path(context);
    if (own.box === null || own.isPainted) return;
    own.isPainted = true;
    const [left, top, right, bottom] = own.box;
    if (marks.isWhole(left, top, right, bottom)) return;
    this.#add(marks, shape, "", sizeOf(right - left, bottom - top), own.box);
  }

  #reach(context: Context, x1: number, y1: number, x2 = x1, y2 = y1): void {
    const [left, top, right, bottom] = boxOf(context, x1, y1, x2, y2);
    if (!Number.isFinite(left + top + right + bottom)) return;
    const path = this.#path(context);
    path.isPainted = false;
    path.box =
      path.box === null
        ? [left, top, right, bottom]
        : [
            Math.min(path.box[0], left),
            Math.min(path.box[1], top),
            Math.max(path.box[2], right),
            Math.max(path.box[3], bottom),
          ];
  }

  #add(marks: Marks, look: string, part: string, size: string, box: Box): void {
    const [left, top, right, bottom] = box;
    if (Number.isFinite(left + top + right + bottom))
      marks.add({ look, part, size, left, top, right, bottom, text: null });
  }
}

/** Shares of a text's width, and of its font's height, from where it is written to its middle. */
const ACROSS: Record<string, number> = { left: 0.5, start: 0.5, center: 0, right: -0.5, end: -0.5 };
const DOWN: Record<string, number> = { top: 0.5, hanging: 0.5, middle: 0, bottom: -0.5, ideographic: -0.5 };
const ABOVE_BASELINE = -0.35;
/** Width of a letter as a share of the font's height: near enough to press a word. */
const LETTER = 0.5;

function middleOf(context: Context, text: string, x: number, y: number): [number, number] {
  const height = heightOf(context);
  const across = (ACROSS[context.textAlign] ?? 0.5) * LETTER * height * text.length;
  const down = (DOWN[context.textBaseline] ?? ABOVE_BASELINE) * height;
  return pointOf(context, x + across, y + down);
}

/** Undefined where the text is turned: it is on no line. */
function fontOf(context: Context): Font | undefined {
  const { a, b, d } = context.getTransform() as DOMMatrix;
  if (b !== 0) return undefined;
  return {
    name: context.font,
    height: heightOf(context) * Math.abs(d),
    scale: a,
    before: 0.5 - (ACROSS[context.textAlign] ?? 0.5),
  };
}

function heightOf(context: Context): number {
  return Number(/([\d.]+)px/.exec(context.font)?.[1] ?? 10);
}

function pointOf(context: Context, x: number, y: number): [number, number] {
  const { a, b, c, d, e, f } = context.getTransform() as DOMMatrix;
  return [a * x + c * y + e, b * x + d * y + f];
}

/** Around the rectangle of these corners, in pixels of the canvas. */
function boxOf(context: Context, x1: number, y1: number, x2: number, y2: number): Box {
  const { a, b, c, d, e, f } = context.getTransform() as DOMMatrix;
  if (b === 0 && c === 0) {
    const [left, right, top, bottom] = [a * x1 + e, a * x2 + e, d * y1 + f, d * y2 + f];
    return [Math.min(left, right), Math.min(top, bottom), Math.max(left, right), Math.max(top, bottom)];
  }
  const xs = [a * x1 + c * y1, a * x2 + c * y1, a * x1 + c * y2, a * x2 + c * y2];
  const ys = [b * x1 + d * y1, b * x2 + d * y1, b * x1 + d * y2, b * x2 + d * y2];
  return [Math.min(...xs) + e, Math.min(...ys) + f, Math.max(...xs) + e, Math.max(...ys) + f];
}

function sameBox(
  mark: { left: number; top: number; right: number; bottom: number } | undefined,
  [left, top, right, bottom]: Box,
): boolean {
  return mark?.left === left && mark.top === top && mark.right === right && mark.bottom === bottom;
}
