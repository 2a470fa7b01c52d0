/** A canvas as games want it, in a thread: sized in CSS pixels, sharp on any screen, given away picture by picture. */

import type { PlayerOptions } from "attract/page/play";

/** What a game draws with until it chooses a colour: black would be lost on the dark stage. */
const INK = "#e8eaf3";

/** Owned by one stage. */
export class StageScreen {
  /** What the player draws on. */
  readonly canvas: PlayerOptions["canvas"];
  readonly #paper = new OffscreenCanvas(1, 1);
  #width = 0;
  #height = 0;
  #pixelRatio = 1;
  #isDrawn = false;

  constructor() {
    const screen = this;
    this.canvas = {
      get width() {
        return screen.#width;
      },
      get height() {
        return screen.#height;
      },
      getContext: (() => screen.#context()) as unknown as PlayerOptions["canvas"]["getContext"],
    };
  }

  /** Whether that is another size than before. */
  resize(width: number, height: number, pixelRatio: number): boolean {
    const isSame = width === this.#width && height === this.#height && pixelRatio === this.#pixelRatio;
    this.#width = width;
    this.#height = height;
    this.#pixelRatio = pixelRatio;
    return !isSame;
  }

  /** What was drawn since the last time; null: nothing. */
  take(): ImageBitmap | null {
    if (!this.#isDrawn) return null;
    this.#isDrawn = false;
    return this.#paper.transferToImageBitmap();
  }

  #context(): OffscreenCanvasRenderingContext2D | null {
    const ratio = this.#pixelRatio;
    const width = Math.max(1, Math.round(this.#width * ratio));
    const height = Math.max(1, Math.round(this.#height * ratio));
    if (this.#paper.width !== width) this.#paper.width = width;
    if (this.#paper.height !== height) this.#paper.height = height;
    const context = this.#paper.getContext("2d");
    if (context !== null) {
      this.#isDrawn = true;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.fillStyle = INK;
      context.strokeStyle = INK;
    }
    return context;
  }
}
