/** What stands on one canvas: the marks that were drawn there and nothing has covered since. */

/** One thing or text that was drawn; places in pixels of its canvas. */
export interface Mark {
  /** How it was drawn: "bird.png", "rect #ff0000", "shape #00ff00", "text". */
  readonly look: string;
  /** The part of an image that was drawn, as "@x,y"; empty for other marks. */
  readonly part: string;
  /** As it was asked for, before any rotation: "34x24". */
  readonly size: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  /** What is written; null of things. */
  readonly text: string | null;
  /** The middle of a text, which stands where it begins. */
  readonly middle?: readonly [x: number, y: number];
  /** How a text that is not turned is written, from `left`. */
  readonly font?: Font;
}

export interface Font {
  /** As a canvas has it: "10px sans-serif". */
  readonly name: string;
  /** Its height in pixels of the canvas. */
  readonly height: number;
  /** Pixels of the canvas for one of the text's own, along the line. */
  readonly scale: number;
  /** Share of the text's width that lies before `left`. */
  readonly before: number;
}

/** Older ones go: of a page that never clears, and of one that draws single pixels. */
const MAX_MARKS = 400;
/** In pixels: smoothing and strokes reach so far. */
const TOLERANCE = 1;
const WHOLE = 0.95;
/** Side of a cell, in pixels: a tile is compared with what begins in the cells it touches. */
const CELL = 64;

export class Marks {
  /** The newest, unless it is covered. */
  last: Mark | undefined;
  /** In the order in which they were drawn. */
  readonly #all = new Set<Mark>();
  /** The same by the cells in which they begin, row by row. */
  readonly #cells: (Set<Mark> | undefined)[] = [];
  /** What was there a drawn frame ago. */
  before: readonly Mark[] = [];
  #atTurn: readonly Mark[] = [];
  #isChanged = false;
  /** Size of the canvas, in its pixels: reading it from the canvas would take longer than all else. */
  #width = 0;
  #height = 0;

  constructor(canvas: { readonly width: number; readonly height: number }) {
    this.resize(canvas);
  }

  /** The canvas has this size now, and is empty. */
  resize({ width, height }: { readonly width: number; readonly height: number }): void {
    this.clear();
    this.#width = width;
    this.#height = height;
  }

  /** What is there now, in the order in which it was drawn. */
  get now(): Mark[] {
    return [...this.#all];
  }

  add(mark: Mark): void {
    if (mark.right < 0 || mark.bottom < 0 || mark.left > this.#width || mark.top > this.#height) return;
    this.#change();
    this.#all.add(mark);
    this.last = mark;
    const cell = this.#row(mark.top) * this.#columns + this.#column(mark.left);
    this.#cells[cell] ??= new Set();
    this.#cells[cell].add(mark);
    if (this.#all.size <= MAX_MARKS) return;
    const [oldest] = this.#all;
    this.#remove(oldest);
  }

  /** What lies within the box is now hidden. */
  cover(left: number, top: number, right: number, bottom: number): void {
    const [first, last] = [this.#column(left - TOLERANCE), this.#column(right + TOLERANCE)];
    const end = this.#row(bottom + TOLERANCE);
    for (let row = this.#row(top - TOLERANCE); row <= end; row++)
      for (let column = first; column <= last; column++) {
        const cell = this.#cells[row * this.#columns + column];
        if (cell === undefined) continue;
        for (const mark of cell)
          if (
            mark.left >= left - TOLERANCE &&
            mark.top >= top - TOLERANCE &&
            mark.right <= right + TOLERANCE &&
            mark.bottom <= bottom + TOLERANCE
          )
            this.#remove(mark);
      }
  }

  clear(): void {
    if (this.#all.size > 0) this.#change();
    this.#all.clear();
    this.#cells.length = 0;
    this.last = undefined;
  }

  isWhole(left: number, top: number, right: number, bottom: number): boolean {
    return this.shareOf(left, top, right, bottom) >= WHOLE;
  }

  /** Share of the canvas that the box covers, in [0, 1]. */
  shareOf(left: number, top: number, right: number, bottom: number): number {
    const across = Math.min(right, this.#width) - Math.max(left, 0);
    const down = Math.min(bottom, this.#height) - Math.max(top, 0);
    return (Math.max(0, across) * Math.max(0, down)) / Math.max(1, this.#width * this.#height);
  }

  /** A frame is over. */
  turn(): void {
    if (this.#isChanged) this.#atTurn = this.now;
    this.#isChanged = false;
  }

  /** Forget earlier positions. */
  forget(): void {
    this.before = [];
    this.#atTurn = [];
  }

  #remove(mark: Mark): void {
    this.#change();
    this.#all.delete(mark);
    this.#cells[this.#row(mark.top) * this.#columns + this.#column(mark.left)]?.delete(mark);
    if (mark === this.last) this.last = undefined;
  }

  get #columns(): number {
    return Math.floor(this.#width / CELL) + 1;
  }

  /** What begins outside of the canvas is in the cells at its edge. */
  #column(x: number): number {
    return Math.floor(Math.min(Math.max(x, 0), this.#width) / CELL);
  }

  #row(y: number): number {
    return Math.floor(Math.min(Math.max(y, 0), this.#height) / CELL);
  }

  #change(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    this.before = this.#atTurn;
  }
}
