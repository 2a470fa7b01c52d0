/** What an agent sees of a page that it sees by its pixels: the canvas, small, with the pictures of the steps before. */

import type { PageWindow } from "../page-adapter.ts";
import type { PixelSettings } from "../page-pixels.ts";
import { findPicture, type Picture } from "./layers.ts";

/** How many pixels may become one other than by halving. */
const MAX_UNEVENNESS = 1.5;
const FINENESS = [1, 2, 4];
/** What may change which canvases are seen, and where. */
const WATCHED = {
  subtree: true,
  childList: true,
  attributes: true,
  attributeFilter: ["class", "style", "hidden", "width", "height"],
};

/** The pictures of one page; allocates nothing per step but the bytes that the browser hands out. */
export class PixelReader {
  /** [size, size, channels] bytes as `pixelSpace` has them; the same array for every step. */
  readonly stacked: Uint8Array;
  readonly #window: PageWindow;
  readonly #settings: PixelSettings;
  readonly #check: ((canvas: HTMLCanvasElement) => void) | null;
  readonly #changes: MutationObserver;
  #picture: Picture | null = null;

  /** @param check throws where a canvas of the picture cannot be read. */
  constructor(
    window: PageWindow,
    settings: PixelSettings,
    check: ((canvas: HTMLCanvasElement) => void) | null = null,
  ) {
    this.#window = window;
    this.#settings = settings;
    this.#check = check;
    const { size, grey, stack } = settings;
    this.stacked = new Uint8Array(size * size * stack * (grey ? 1 : 3));
    this.#changes = new MutationObserver((records) => this.#note(records));
    this.#changes.observe(window.document, WATCHED);
  }

  /** An episode begins: all pictures are the one that is there now. @throws ConfigurationError when there is none. */
  begin(): void {
    this.#picture = null;
    const bytes = this.#read();
    for (let i = 0; i < this.#settings.stack; i++) this.#push(bytes);
  }

  /** A step has passed: the newest picture is the one that is there now. @throws as `begin`. */
  look(): void {
    this.#push(this.#read());
  }

  #note(records: readonly MutationRecord[]): void {
    if (this.#picture === null) return;
    for (const { type, addedNodes, removedNodes } of records) {
      // A rewritten score is a text, and moves no canvas.
      if (type === "childList" && !hasElement(addedNodes) && !hasElement(removedNodes)) continue;
      this.#picture = null;
      return;
    }
  }

  /** [size, size, 4] bytes: red, green, blue, opaque. */
  #read(): Uint8ClampedArray {
    this.#note(this.#changes.takeRecords());
    const { size, canvas } = this.#settings;
    if (this.#picture === null) {
      this.#picture = findPicture(this.#window, canvas);
      for (const layer of this.#picture.layers) this.#check?.(layer.canvas);
    }
    let width = nextSide(this.#picture.width, size);
    let height = nextSide(this.#picture.height, size);
    let context = surface(width, height);
    paint(this.#picture, context, width, height);
    while (context.canvas.width !== size || context.canvas.height !== size) {
      width = nextSide(context.canvas.width, size);
      height = nextSide(context.canvas.height, size);
      const smaller = surface(width, height);
      smaller.drawImage(context.canvas, 0, 0, width, height);
      context = smaller;
    }
    return context.getImageData(0, 0, size, size).data;
  }

  #push(bytes: Uint8ClampedArray): void {
    const { stacked } = this;
    const { grey, size, stack } = this.#settings;
    const channels = grey ? 1 : 3;
    // Every picture one place on: what crosses to the pixel before it is where its newest is written.
    stacked.copyWithin(0, channels);
    let to = (stack - 1) * channels;
    for (let from = 0; from < 4 * size * size; from += 4, to += stack * channels) {
      if (grey) {
        // Luma of Rec. 601 in 256ths.
        stacked[to] = (77 * bytes[from] + 150 * bytes[from + 1] + 29 * bytes[from + 2] + 128) >> 8;
      } else {
        stacked[to] = bytes[from];
        stacked[to + 1] = bytes[from + 1];
        stacked[to + 2] = bytes[from + 2];
      }
    }
  }
}

function paint(
  { ground, layers }: Picture,
  context: OffscreenCanvasRenderingContext2D,
  width: number,
  height: number,
): void {
  for (const color of ground) {
    context.fillStyle = color;
    context.fillRect(0, 0, width, height);
  }
  for (const { canvas, left, top, width: share, height: part, background } of layers) {
    const place = [left * width, top * height, share * width, part * height] as const;
    if (background !== null) {
      context.fillStyle = background;
      context.fillRect(...place);
    }
    context.drawImage(canvas, ...place);
  }
}

/**
 * The next size on the way from `side` to `size`. Bilinear drawing to half the size is the mean of each four; to other sizes
 * pixels count unevenly: that happens once, at up to four times `size`, and by no more than `MAX_UNEVENNESS`. Half of an
 * odd side is exact, too; its last half pixel is cut off.
 */
function nextSide(side: number, size: number): number {
  if (side === 4 * size || side === 2 * size || side > 4 * MAX_UNEVENNESS * size) return side / 2;
  return size * (FINENESS.find((times) => side <= times * MAX_UNEVENNESS * size) ?? 1);
}

/** Shared by all pages of this thread: each use overwrites the whole surface. */
const surfaces = new Map<string, OffscreenCanvasRenderingContext2D>();

function surface(drawnWidth: number, drawnHeight: number): OffscreenCanvasRenderingContext2D {
  const [width, height] = [Math.floor(drawnWidth), Math.floor(drawnHeight)];
  const key = `${width}x${height}`;
  const known = surfaces.get(key);
  if (known !== undefined) return known;
  const options = { willReadFrequently: true, alpha: false };
  const made = new OffscreenCanvas(width, height).getContext("2d", options)!;
  made.imageSmoothingQuality = "low";
  surfaces.set(key, made);
  return made;
}

function hasElement(nodes: NodeList): boolean {
  for (const { nodeType } of nodes) if (nodeType === 1) return true;
  return false;
}
