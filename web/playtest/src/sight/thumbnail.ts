/** Arithmetic on small pictures of a game's frames: whether one is blank, a flicker between two others, or another one moved. */

export const WIDTH = 64;
export const HEIGHT = 48;
const CELLS = WIDTH * HEIGHT;

/** RGBA, row by row: `4 * WIDTH * HEIGHT` bytes. */
export type Thumbnail = Uint8ClampedArray;

/** Colours of one picture that differ by more are two; of 255. */
const SAME = 6;
/** Cells that differ by more show something else. */
const OTHER = 20;
/** Of a flicker: what remains of the difference between the frame before and the one after. */
const SETTLED = 0.4;
/** Of a flicker: share of the picture that is another, or share of what is drawn that is gone. */
const APPEARED = 0.25;
const VANISHED = 0.6;
/** Fewer cells are one thing that blinks. */
const MIN_CELLS = 24;
/** A frame whose colours follow from those of the frame before has a veil over it: a flash. */
const VEIL = 0.9;

/** How far two cells are apart in the channel where they are farthest. */
function apart(a: Thumbnail, i: number, b: Thumbnail, j: number): number {
  let most = 0;
  for (let c = 0; c < 3; c++) most = Math.max(most, Math.abs(a[4 * i + c] - b[4 * j + c]));
  return most;
}

/** Whether it is of one colour, as far as an eye can tell. */
export function isBlank(picture: Thumbnail): boolean {
  for (let i = 1; i < CELLS; i++) if (apart(picture, i, picture, 0) > SAME) return false;
  return true;
}

export function isSame(a: Thumbnail, b: Thumbnail): boolean {
  for (let i = 0; i < CELLS; i++) if (apart(a, i, b, i) > 2) return false;
  return true;
}

/** Number of cells that show something else. */
export function numChanged(a: Thumbnail, b: Thumbnail): number {
  let changed = 0;
  for (let i = 0; i < CELLS; i++) if (apart(a, i, b, i) > OTHER) changed++;
  return changed;
}

/** 1 for each cell that differs from the picture's commonest colour. */
export function busyCells(picture: Thumbnail): Uint8Array {
  const counts = new Uint16Array(1 << 15);
  let ground = 0;
  let most = 0;
  for (let i = 0; i < CELLS; i++) {
    const key = ((picture[4 * i] >> 3) << 10) | ((picture[4 * i + 1] >> 3) << 5) | (picture[4 * i + 2] >> 3);
    if (++counts[key] <= most) continue;
    most = counts[key];
    ground = i;
  }
  return Uint8Array.from({ length: CELLS }, (_, i) => Number(apart(picture, i, picture, ground) > OTHER));
}

/**
 * Whether `middle` is unlike both its neighbours, which agree: most of what is drawn is gone in it, or a quarter of the picture is another.
 * A picture that shook is not, nor is one with a veil over it.
 */
export function isFlicker(before: Thumbnail, middle: Thumbnail, after: Thumbnail): boolean {
  if (numChanged(before, middle) < MIN_CELLS || numChanged(after, middle) < MIN_CELLS) return false;
  let [gone, other] = [0, 0];
  const busy = busyCells(before);
  const range = new Range(middle);
  for (let i = 0; i < CELLS; i++) {
    const away = Math.min(apart(before, i, middle, i), apart(after, i, middle, i));
    if (away <= OTHER || apart(before, i, after, i) > SETTLED * away || range.holds(before, i, i)) continue;
    other++;
    gone += busy[i];
  }
  const drawn = busy.reduce((sum, one) => sum + one, 0);
  const isGone = gone >= MIN_CELLS && gone >= VANISHED * drawn;
  return (isGone || other >= APPEARED * CELLS) && !isVeiled(before, middle);
}

/** Whether all colours of `b` follow from those of `a`, in a straight line. */
function isVeiled(a: Thumbnail, b: Thumbnail): boolean {
  let [n, sa, sb, saa, sbb, sab] = [0, 0, 0, 0, 0, 0];
  for (let k = 0; k < a.length; k++) {
    if (k % 4 === 3) continue;
    n++;
    sa += a[k];
    sb += b[k];
    saa += a[k] * a[k];
    sbb += b[k] * b[k];
    sab += a[k] * b[k];
  }
  const [va, vb] = [saa - (sa * sa) / n, sbb - (sb * sb) / n];
  return va > 0 && vb > 0 && Math.abs(sab - (sa * sb) / n) >= VEIL * Math.sqrt(va * vb);
}

/** Colours around each cell: what has moved by less than a cell is within them. */
class Range {
  readonly #low = new Uint8ClampedArray(4 * CELLS);
  readonly #high = new Uint8ClampedArray(4 * CELLS);

  constructor(picture: Thumbnail) {
    for (let y = 0; y < HEIGHT; y++)
      for (let x = 0; x < WIDTH; x++)
        for (let c = 0; c < 3; c++) {
          let [low, high] = [255, 0];
          for (let v = Math.max(0, y - 1); v <= Math.min(HEIGHT - 1, y + 1); v++)
            for (let u = Math.max(0, x - 1); u <= Math.min(WIDTH - 1, x + 1); u++) {
              const value = picture[4 * (v * WIDTH + u) + c];
              if (value < low) low = value;
              if (value > high) high = value;
            }
          this.#low[4 * (y * WIDTH + x) + c] = low;
          this.#high[4 * (y * WIDTH + x) + c] = high;
        }
  }

  /** Whether the colour of cell `i` of a picture is around cell `j`. */
  holds(picture: Thumbnail, i: number, j: number): boolean {
    for (let c = 0; c < 3; c++) {
      const value = picture[4 * i + c];
      if (value < this.#low[4 * j + c] - OTHER || value > this.#high[4 * j + c] + OTHER) return false;
    }
    return true;
  }
}

export type Shift = readonly [across: number, down: number];

/** Shares of the picture by which it must move to have jumped. */
const MIN_ACROSS = Math.ceil(0.09 * WIDTH);
const MIN_DOWN = Math.ceil(0.09 * HEIGHT);
const MAX_ACROSS = WIDTH / 2;
const MAX_DOWN = HEIGHT / 2;
/** Shares of what is drawn that is elsewhere after the jump if nothing moves back, and if all moves back by it, also of the first. */
const ELSEWHERE = 0.3;
const LEFT_OVER = 0.25;
const EXPLAINED = 0.5;
/** Cells that are compared of each picture: at least, since fewer can be alike by chance, and at most. */
const MIN_COMPARED = 30;
const MAX_COMPARED = 400;
/** A camera moves so many things: one or two may have moved by themselves. */
const MIN_THINGS = 3;

/** By how many cells, to one, the whole picture has moved from `a` to `b`; null: it has not, or by less than a tenth of its size. */
export function shiftBetween(a: Thumbnail, b: Thumbnail): Shift | null {
  const [busyA, busyB, rangeA, rangeB] = [busyCells(a), busyCells(b), new Range(a), new Range(b)];
  const [cellsA, cellsB] = [someOf(busyA), someOf(busyB)];
  const unlike = (across: number, down: number): { share: number; compared: number } => {
    let [wrong, compared] = [0, 0];
    const compare = (cells: readonly number[], from: Thumbnail, to: Range, x: number, y: number): void => {
      for (const i of cells) {
        const j = movedCell(i, x, y);
        if (j === null) continue;
        compared++;
        if (!to.holds(from, i, j)) wrong++;
      }
    };
    compare(cellsA, a, rangeB, across, down);
    compare(cellsB, b, rangeA, -across, -down);
    return { share: compared === 0 ? 1 : wrong / compared, compared };
  };
  const still = unlike(0, 0);
  if (still.compared < MIN_COMPARED || still.share < ELSEWHERE) return null;
  let best: { shift: Shift; share: number } | null = null;
  for (let down = -MAX_DOWN; down <= MAX_DOWN; down++)
    for (let across = -MAX_ACROSS; across <= MAX_ACROSS; across++) {
      const { share, compared } = unlike(across, down);
      if (compared < Math.max(MIN_COMPARED, 0.4 * still.compared)) continue;
      if (best === null || share < best.share) best = { shift: [across, down], share };
    }
  if (best === null || best.share > Math.min(LEFT_OVER, EXPLAINED * still.share)) return null;
  const [across, down] = best.shift;
  if (Math.abs(across) < MIN_ACROSS && Math.abs(down) < MIN_DOWN) return null;
  const isMoved = (i: number): boolean => {
    const j = movedCell(i, across, down);
    return j !== null && rangeB.holds(a, i, j) && !rangeB.holds(a, i, i);
  };
  return numThings(busyA, isMoved) < MIN_THINGS && cellsA.length < MAX_COMPARED / 2 ? null : best.shift;
}

/** Cells that are set, evenly: no more than `MAX_COMPARED`. */
function someOf(busy: Uint8Array): number[] {
  const cells = Array.from(busy.keys()).filter((i) => busy[i] === 1);
  const stride = Math.ceil(cells.length / MAX_COMPARED);
  return cells.filter((_, place) => place % stride === 0);
}

/** Null: outside the picture. */
function movedCell(i: number, across: number, down: number): number | null {
  const [x, y] = [(i % WIDTH) + across, Math.floor(i / WIDTH) + down];
  return x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT ? null : y * WIDTH + x;
}

/** How many patches of cells that are set have moved, for the most part. */
function numThings(busy: Uint8Array, isMoved: (i: number) => boolean): number {
  const open = new Set(Array.from(busy.keys()).filter((i) => busy[i] === 1));
  let things = 0;
  for (const first of open) {
    const patch = [first];
    open.delete(first);
    for (const i of patch)
      for (const [across, down] of [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ]) {
        const next = movedCell(i, across, down);
        if (next === null || !open.delete(next)) continue;
        patch.push(next);
      }
    if (patch.filter(isMoved).length > patch.length / 2) things++;
  }
  return things;
}
