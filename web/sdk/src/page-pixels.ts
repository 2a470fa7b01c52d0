/** What an adapter says of the pixels that its agent sees, and the space that they are. */

import { ConfigurationError, show } from "./errors.ts";
import { type BoxSpace, box } from "./spaces.ts";
import type { ObservationValue } from "./values.ts";

/** What `pixels` of an adapter may say. */
export interface PixelOptions {
  /** Rows and columns of the picture, 8 to 256. Default: 84. */
  size?: number;
  /** Brightness alone, or red, green and blue. Default: brightness. */
  grey?: boolean;
  /** How many pictures are seen, those of the last steps: 1 to 16. Default: 4. */
  stack?: number;
  /** Which canvas, as a CSS selector. Default: the largest to be seen, with those that lie over or under it. */
  canvas?: string;
  /** Only the last frame of each step is drawn: faster, and right for games that draw everything in each frame. Default: no. */
  lastTickOnly?: boolean;
  /** Whether the page gets the browser's own WebGL. Default: no, so that engines that can draw in 2D do. */
  webGl?: boolean;
}

/** The same with what is left out filled in. */
export interface PixelSettings extends Omit<Required<PixelOptions>, "canvas"> {
  readonly canvas: string | null;
}

export const PIXEL_OPTIONS = ["size", "grey", "stack", "canvas", "lastTickOnly", "webGl"] as const;

const SIZES = [8, 256] as const;
const STACKS = [1, 16] as const;

/** Raises ConfigurationError naming the option to change. */
export function pixelSettings(options: PixelOptions): PixelSettings {
  const { size = 84, grey = true, stack = 4, canvas = null, lastTickOnly = false, webGl = false } = options;
  checkWhole("size", size, SIZES);
  checkWhole("stack", stack, STACKS);
  for (const [name, value] of Object.entries({ grey, lastTickOnly, webGl }))
    if (typeof value !== "boolean")
      throw new ConfigurationError(`pixels.${name}`, `must be true or false, got ${show(value)}`);
  if (canvas !== null && (typeof canvas !== "string" || canvas === ""))
    throw new ConfigurationError("pixels.canvas", `must be a CSS selector, got ${show(canvas)}`);
  return { size, grey, stack, canvas, lastTickOnly, webGl };
}

/** Space of shape [size, size, channels]: one channel per picture if grey, else three; the oldest picture first. */
export function pixelSpace({ size, grey, stack }: PixelSettings): BoxSpace {
  return box({ dtype: "uint8", shape: [size, size, stack * (grey ? 1 : 3)] });
}

/** Adds the pixels to the observation, or to that of each agent if there are several. */
export function besidePixels<T extends ObservationValue | ObservationValue[]>(
  observed: T,
  pixels: Uint8Array,
): T {
  const both = (one: ObservationValue): ObservationValue => ({ ...(one as object), pixels });
  return (Array.isArray(observed) ? observed.map(both) : both(observed as ObservationValue)) as T;
}

function checkWhole(name: string, value: unknown, [low, high]: readonly [number, number]): void {
  if (Number.isInteger(value) && (value as number) >= low && (value as number) <= high) return;
  throw new ConfigurationError(
    `pixels.${name}`,
    `must be a whole number from ${low} to ${high}, got ${show(value)}`,
  );
}
