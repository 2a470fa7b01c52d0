/** Where a thing is and how it has moved: from the nearest of its look that was there before. */

/** Something that is to be seen now; numbers are shares of its canvas's width and height, of an element the window's. */
export interface DrawnThing {
  /** Position of its middle, in [0, 1] while it is visible. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** How far it has moved since the frame before; 0 where it was not there. */
  readonly dx: number;
  readonly dy: number;
}

/** Where something is; shares of what it stands in. */
export interface Shares {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Nothing moves further in a frame. */
const FARTHEST = 0.15;

export function sharesOf(
  { left, top, right, bottom }: { left: number; top: number; right: number; bottom: number },
  width: number,
  height: number,
): Shares {
  return {
    x: rounded((left + right) / 2 / width),
    y: rounded((top + bottom) / 2 / height),
    width: rounded((right - left) / width),
    height: rounded((bottom - top) / height),
  };
}

/** @param frames since `earlier`, at least 1. */
export function moved(now: Shares, earlier: readonly Shares[], frames: number): DrawnThing {
  let [dx, dy, nearest] = [0, 0, (FARTHEST * frames) ** 2];
  // Squares: for the hundreds of tiles of a map each is compared with each.
  for (const { x, y } of earlier) {
    const [across, down] = [now.x - x, now.y - y];
    const square = across * across + down * down;
    if (square < nearest) [dx, dy, nearest] = [across, down, square];
  }
  return { ...now, dx: rounded(dx / frames), dy: rounded(dy / frames) };
}

/** What is as wide at one place as at another is so to the last digit. */
function rounded(share: number): number {
  return Math.round(share * 1e6) / 1e6;
}
