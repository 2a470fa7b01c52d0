/** A canvas as games want it: sized in CSS pixels, sharp on any screen. */

import type { Instance } from "attract/instance";
import type { PlayerOptions } from "attract/page/play";

/** More would cost a phone's battery for nothing anyone sees. */
const MAX_PIXEL_RATIO = 2;

/** What a game draws with until it chooses a colour. */
const INK = "#e8eaf3";

/** What a player draws on: `canvas`, whose backing store follows its size on the page. */
export function screenOf(canvas: HTMLCanvasElement): PlayerOptions["canvas"] {
  const getContext = (): CanvasRenderingContext2D | null => {
    const ratio = Math.min(window.devicePixelRatio || 1, MAX_PIXEL_RATIO);
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    if (context !== null) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      // A game that chooses no colour would draw black on the dark stage.
      context.fillStyle = INK;
      context.strokeStyle = INK;
    }
    return context;
  };
  return {
    get width() {
      return canvas.clientWidth;
    },
    get height() {
      return canvas.clientHeight;
    },
    getContext: getContext as HTMLCanvasElement["getContext"],
  };
}

/** Draws a game that does not move, such as before its start. */
export function drawStill(canvas: HTMLCanvasElement, instance: Instance): void {
  const screen = screenOf(canvas);
  const context = screen.getContext("2d");
  if (context === null || screen.width === 0 || screen.height === 0) return;
  context.clearRect(0, 0, screen.width, screen.height);
  instance.game.draw?.(context, screen.width, screen.height);
}
