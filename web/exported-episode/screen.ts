/** Where an episode is seen: a canvas that the game draws on, or the page that the game lives in. */

import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { PageFrames } from "../worker/src/page/page-frames.ts";

/** What a game draws with until it chooses a colour: black would be lost on the dark screen. */
const INK = "#e8eaf3";

/** Owned by the page. */
export class Screen {
  /** The game to play: in its page, if it lives in one. */
  readonly definition: GameDefinition;
  /** Null where the game lives in no page. */
  readonly pages: PageFrames | null;
  readonly #element: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  #size = "";

  /** @param page of a game that lives in one: where its copy is, from this document. */
  constructor(element: HTMLElement, canvas: HTMLCanvasElement, definition: GameDefinition, page: string) {
    this.#element = element;
    this.#canvas = canvas;
    if (definition.page === undefined) {
      this.definition = definition;
      this.pages = null;
      return;
    }
    const [width, height] = definition.page.size;
    element.style.aspectRatio = `${width} / ${height}`;
    // As wide as its height allows, so that nothing lies beside the page.
    element.style.maxWidth = `calc(70vh * ${width / height})`;
    canvas.hidden = true;
    this.pages = new PageFrames(
      { ...definition, page: { ...definition.page, page } },
      { base: document.baseURI, maxCopies: 1, draws: true, isSeen: true, host: element },
    );
    this.definition = this.pages.definition;
  }

  /** Fits its size to the document's; whether that is another than before. */
  resize(): boolean {
    const { clientWidth: width, clientHeight: height } = this.#element;
    const size = `${width} ${height} ${devicePixelRatio}`;
    if (size === this.#size) return false;
    this.#size = size;
    this.pages?.fit(width, height);
    this.#canvas.width = Math.max(1, Math.round(width * devicePixelRatio));
    this.#canvas.height = Math.max(1, Math.round(height * devicePixelRatio));
    return true;
  }

  /** The game as it stands. Raises what its `draw` throws. */
  draw({ game }: Instance): void {
    if (this.pages !== null) return;
    const context = this.#canvas.getContext("2d") as CanvasRenderingContext2D;
    const { clientWidth: width, clientHeight: height } = this.#element;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = context.strokeStyle = INK;
    game.draw?.(context, width, height);
  }
}
