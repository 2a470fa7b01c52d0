/** Parts of pictures that a page draws and that are not there: a wrong place in a table of sprites. */

import type { PageWindow } from "attract/page-adapter";
import { lookOfImage } from "../../../sdk/src/page/drawn/looks.ts";

/** Calls `onMiss` with each call of `drawImage` that draws nothing, in words. To be called before the page's scripts run. */
export function watchPictures(
  { CanvasRenderingContext2D }: PageWindow,
  onMiss: (text: string) => void,
): void {
  const { prototype } = CanvasRenderingContext2D;
  const { drawImage } = prototype;
  prototype.drawImage = function (this: unknown, ...args: unknown[]) {
    const miss = args.length === 9 ? missOf(args) : null;
    if (miss !== null) onMiss(miss);
    return drawImage.apply(this, args);
  };
}

/** What lies beyond the right or the lower edge of its picture; null: not all of it, or no size is known. */
function missOf([image, ...numbers]: readonly unknown[]): string | null {
  const { naturalWidth, naturalHeight, videoWidth, videoHeight, width, height } = (image ??
    {}) as HTMLImageElement & HTMLVideoElement;
  const [across, down] = [naturalWidth ?? videoWidth ?? width, naturalHeight ?? videoHeight ?? height];
  const [x, y, w, h, , , drawnWidth, drawnHeight] = numbers.map(Number);
  // Before the first one there is, by a common rule, nothing: tile 0 is no tile.
  const isBeyond = (x >= across || y >= down) && x >= 0 && y >= 0;
  if (!isBeyond || !(across > 0 && down > 0 && w > 0 && h > 0 && drawnWidth * drawnHeight !== 0)) return null;
  return `drawImage() takes ${w} x ${h} pixels at ${x},${y} of ${lookOfImage(image)}, which is ${across} x ${down}`;
}
