/** Elements of a page as things: where they are laid out, and how they have moved since they were looked at before. */

import type { PageWindow } from "../../page-adapter.ts";
import { elements } from "../elements.ts";
import { type DrawnThing, moved, type Shares, sharesOf } from "./movement.ts";

interface Look {
  /** In frames of the page. */
  readonly at: number;
  readonly shares: readonly Shares[];
}

export class ElementThings {
  readonly #window: PageWindow;
  readonly #frames: { readonly numFrames: number };
  readonly #looks = new Map<string, { now: Look; before: Look | null }>();

  constructor(window: PageWindow, frames: { readonly numFrames: number }) {
    this.#window = window;
    this.#frames = frames;
  }

  forget(): void {
    this.#looks.clear();
  }

  /** Elements of a selector that have a size, in document order. Forces layout. */
  things(selector: string): DrawnThing[] {
    const { innerWidth, innerHeight } = this.#window;
    const shares: Shares[] = [];
    for (const element of elements(this.#window, selector)) {
      const box = element.getBoundingClientRect();
      if (box.width > 0 && box.height > 0) shares.push(sharesOf(box, innerWidth, innerHeight));
    }
    const at = this.#frames.numFrames;
    const known = this.#looks.get(selector);
    // Twice in a frame is one look.
    const before = known === undefined ? null : known.now.at === at ? known.before : known.now;
    this.#looks.set(selector, { now: { at, shares }, before });
    return shares.map((one) => moved(one, before?.shares ?? [], Math.max(1, at - (before?.at ?? at))));
  }
}
