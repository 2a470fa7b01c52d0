/** What a page draws, as things and texts: an agent's eyes where a game keeps its state to itself. */

import type { PageWindow } from "../page-adapter.ts";
import { ElementThings } from "./drawn/elements.ts";
import { linesOf } from "./drawn/lines.ts";
import type { Mark } from "./drawn/marks.ts";
import { type DrawnThing, moved, type Shares, sharesOf } from "./drawn/movement.ts";
import { DrawRecorder } from "./drawn/recorder.ts";
import { kaplayTexts } from "./kaplay.ts";
import { made } from "./made.ts";
import { numeralsOf } from "./numerals.ts";
import { PHASER, phaserTexts, type Spot } from "./phaser.ts";

export type { DrawnThing };

/** The look of an image that was loaded from a file. */
const FILE = /\.\w{2,5}$/;

/** What is to be seen on the page's 2D canvases, and of its elements. */
export interface Drawn {
  /**
   * Things of a look, in the order in which they were drawn.
   *
   * @param look "bird.png", "rect #ff0000" or "shape #ff0000", as narrow as is wanted: "sheet.png 16x16", "sheet.png 16x16 @32,0";
   *   or a selector of elements, which begins with "." or "#", in the document's order.
   */
  things(look: string): DrawnThing[];
  /**
   * A number that is written there.
   *
   * @param pattern the text with "#" in the place of each number: "Score: #".
   * @param which of its numbers, from 0, of several such texts one after the other. Default: the first.
   * @returns what was written last, while nothing is; undefined before it was written for the first time.
   */
  number(pattern: string, which?: number): number | undefined;
  /** Whether this is written there now, alone or in a longer text. */
  says(text: string): boolean;
  /** Looks of the things that are there, as specific as they can be distinguished. */
  looks(): string[];
  /** Texts that are there, on every visible canvas; at the end each line that several of them make up: "Score: " and "12" are "Score: 12", too. */
  texts(): string[];
  /** The same with the middle of each, in pixels of the page's window. */
  written(): Spot[];
  /** Images that are there, by their files' names, with the middle of each, in pixels of the page's window. */
  pictures(): Spot[];
  /** Another episode begins: forget earlier positions and numbers. */
  forget(): void;
}

/**
 * What the page in `window` draws, from the first call on: make one in `prepare`, before the page has drawn.
 *
 * Each drawing call of the page costs some microseconds more from then on. WebGL is not followed, but for the texts of a Phaser 3 that is a script of its own, and of a KAPLAY whose functions are the page's globals.
 */
export function drawn(window: PageWindow): Drawn {
  if (window.attractDrawn === undefined)
    Object.defineProperty(window, "attractDrawn", { value: new Eyes(window), configurable: true });
  return window.attractDrawn;
}

class Eyes implements Drawn {
  readonly #window: PageWindow;
  readonly #recorder: DrawRecorder;
  readonly #elements: ElementThings;
  readonly #written = new Map<string, number>();

  constructor(window: PageWindow) {
    made(window, PHASER);
    this.#window = window;
    this.#recorder = new DrawRecorder(window);
    this.#elements = new ElementThings(window, this.#recorder);
  }

  things(look: string): DrawnThing[] {
    if (/^[.#]/.test(look)) return this.#elements.things(look);
    return this.#recorder.shown().flatMap(({ canvas, marks }) => {
      const isMeant = (mark: Mark): boolean => mark.text === null && isOf(mark, look);
      const { width, height } = canvas;
      const place = (mark: Mark): Shares => sharesOf(mark, width, height);
      const now = marks.now.filter(isMeant);
      const earlier = now.length === 0 ? [] : marks.before.filter(isMeant).map(place);
      return now.map((mark) => moved(place(mark), earlier, 1));
    });
  }

  number(pattern: string, which = 0): number | undefined {
    const numerals = numeralsOf(this.#window);
    const read = this.texts().map((text) => numerals.read(text));
    const numbers = read.flatMap((one) => (one.pattern === pattern ? one.numbers : []));
    const key = `${pattern} ${which}`;
    if (which < numbers.length) this.#written.set(key, numbers[which]);
    return this.#written.get(key);
  }

  says(text: string): boolean {
    return this.texts().some((one) => one.includes(text));
  }

  forget(): void {
    this.#written.clear();
    this.#elements.forget();
    this.#recorder.forget();
  }

  looks(): string[] {
    return this.#recorder
      .shown()
      .flatMap(({ marks }) => marks.now)
      .filter(({ text }) => text === null)
      .map(({ look, size, part }) => [look, size, part].filter((word) => word !== "").join(" "));
  }

  texts(): string[] {
    const objects = this.#objects().map(({ name }) => name);
    const canvases = this.#recorder.read();
    const texts = canvases.flatMap(({ marks }) =>
      marks.now.flatMap(({ text }) => (text === null ? [] : [text])),
    );
    const widthOf = this.#recorder.widthOf.bind(this.#recorder);
    return [...texts, ...objects, ...canvases.flatMap(({ marks }) => linesOf(marks.now, widthOf))];
  }

  written(): Spot[] {
    const marked = this.#spots(({ text, middle }) =>
      text === null || middle === undefined ? null : { name: text.trim(), place: middle },
    );
    return [...marked, ...this.#objects()];
  }

  pictures(): Spot[] {
    return this.#spots(({ look, left, top, right, bottom }) =>
      FILE.test(look) ? { name: look, place: [(left + right) / 2, (top + bottom) / 2] } : null,
    );
  }

  /** @param spotOf places in pixels of the mark's canvas; null: it is none. */
  #spots(spotOf: (mark: Mark) => Spot | null): Spot[] {
    return this.#recorder.read().flatMap(({ canvas, marks }) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const [across, down] = [width / canvas.width, height / canvas.height];
      return marks.now.flatMap((mark) => {
        const found = spotOf(mark);
        if (found === null) return [];
        const [x, y] = found.place;
        return [{ name: found.name, place: [left + x * across, top + y * down] as const }];
      });
    });
  }

  #objects(): Spot[] {
    return [...phaserTexts(this.#window), ...kaplayTexts(this.#window)];
  }
}

function isOf({ look, size, part }: Mark, wanted: string): boolean {
  if (!wanted.startsWith(look)) return false;
  const narrower = wanted.slice(look.length);
  return narrower === "" || narrower === ` ${size}` || narrower === ` ${size} ${part}`;
}
