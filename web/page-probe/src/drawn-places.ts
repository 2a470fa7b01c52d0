/** Places of what a page draws: things by their look, and written numbers and words. */

import type { PageWindow } from "attract/page-adapter";
import { type DrawnThing, drawn } from "../../sdk/src/page/drawn.ts";
import { everyIn } from "../../sdk/src/page/elements.ts";
import { numeralsOf } from "../../sdk/src/page/numerals.ts";

import { MAX_ELEMENTS, type Place, type Value } from "./places.ts";
import { withinOf } from "./roots.ts";
import { OVER_TEXTS, PROMPT } from "./rules.ts";

const FIELDS = ["x", "y", "dx", "dy", "width", "height"] as const satisfies readonly (keyof DrawnThing)[];
/** A thing that comes in more sizes, or in more parts of its image, is identified without them. */
const MAX_SIZES = 8;
const MAX_PARTS = 6;
/** Larger things are backgrounds; a share of the canvas. */
const LARGEST = 0.25;
/** A share of the canvas in a frame: what moves less stands still. */
const STILL = 1e-4;
/** Frames in which a size was there before it says how it moves. */
const MIN_SEEN = 10;
const MAX_LOOKS = 60;
const MAX_TEXTS = 40;
const MAX_SELECTORS = 20;
const LONGEST_TEXT = 60;
const CALL = "drawn(w).";

export function isDrawnThing({ text, kind }: Place): boolean {
  return kind === "list" && text.startsWith(CALL);
}

/** Whether an adapter that has this text needs `drawn`. */
export function usesDrawn(text: string): boolean {
  return text.includes(CALL);
}

/**
 * Places of what is drawn now, and of texts written at any time.
 *
 * @param written texts so far, once each.
 */
export function drawnIn(window: PageWindow, written: Iterable<string> = []): Place[] {
  const eyes = drawn(window);
  const now = textsOf(window, eyes.texts());
  const known = new Set(now.map(({ text }) => text));
  const earlier = [...written].flatMap((text) => textsOf(window, [text]));
  return [
    ...thingsOf(window, [...narrowest(eyes.looks()), ...elementsOf(window)]),
    ...now,
    ...earlier.filter(({ text }) => !known.has(text)),
  ];
}

/** How the things of each look move, from all samples of their places: "left", "right", "up" and "down". */
export class Movements {
  readonly #ways = new Map<string, Set<string>>();
  readonly #numSeen = new Map<string, number>();

  /** @param rows of samples of `places`. */
  add(places: readonly Place[], rows: readonly (readonly Value[])[]): void {
    places.forEach((place, at) => {
      if (!isDrawnThing(place)) return;
      const ways = this.#ways.get(place.name) ?? new Set();
      this.#ways.set(place.name, ways);
      for (const row of rows) {
        const [count = 0, ...numbers] = (row[at] ?? []) as readonly number[];
        if (count > 0) this.#numSeen.set(place.name, (this.#numSeen.get(place.name) ?? 0) + 1);
        for (let i = 0; i < numbers.length; i += FIELDS.length) {
          const [, , dx, dy] = numbers.slice(i, i + FIELDS.length);
          if (Math.abs(dx) > STILL) ways.add(dx > 0 ? "right" : "left");
          if (Math.abs(dy) > STILL) ways.add(dy > 0 ? "down" : "up");
        }
      }
    });
  }

  /** Whether these looks move in one way: one that was there for some frames alone is no exception. */
  areAlike(names: readonly string[]): boolean {
    const known = names.filter((name) => (this.#numSeen.get(name) ?? 0) >= MIN_SEEN);
    return new Set(known.map((name) => [...(this.#ways.get(name) ?? [])].sort().join())).size === 1;
  }
}

/**
 * Drawn things by the looks that distinguish them: by their colour or file alone where that has one size, or sizes that move alike. A
 * size that chance draws is another one each time.
 */
export function widest(places: readonly Place[], movements = new Movements()): Place[] {
  const sizes = new Map<string, string[]>();
  const wide = new Set<string>();
  for (const { name } of places.filter(isDrawnThing)) {
    const [, whole, size, part] = LOOK.exec(name) as RegExpExecArray;
    if (size === undefined && part === undefined) wide.add(whole);
    else sizes.set(whole, [...(sizes.get(whole) ?? []), name]);
  }
  for (const [whole, names] of sizes) {
    const hasParts = names.some((name) => name.includes(" @"));
    if (!hasParts && (names.length === 1 || movements.areAlike(names))) wide.add(whole);
  }
  const looks = places.map((place): Place => {
    const whole = isDrawnThing(place) ? (LOOK.exec(place.name) as RegExpExecArray)[1] : "";
    return wide.has(whole) && place.name !== whole ? thingsPlace(whole) : place;
  });
  return [...new Map(looks.map((place) => [place.text, place])).values()];
}

function thingsOf(window: PageWindow, looks: readonly string[]): Place[] {
  return looks
    .filter((look) =>
      drawn(window)
        .things(look)
        .every(({ width, height }) => width * height <= LARGEST),
    )
    .slice(0, MAX_LOOKS)
    .map(thingsPlace);
}

function thingsPlace(look: string): Place {
  return {
    text: `${CALL}things(${JSON.stringify(look)})`,
    name: look,
    kind: "list",
    fields: FIELDS,
    isShown: true,
    read: (page) => {
      const things = drawn(page).things(look);
      return [
        things.length,
        ...things.slice(0, MAX_ELEMENTS).flatMap((thing) => FIELDS.map((field) => thing[field])),
      ];
    },
  };
}

/** Selectors of positioned elements, which a game may move. */
function elementsOf(window: PageWindow): string[] {
  const found = new Set<string>();
  for (const element of everyIn(window)) {
    if (found.size === MAX_SELECTORS) break;
    const [name] = element.classList;
    const id = element.getAttribute("id");
    if (name === undefined && id === null) continue;
    const { position, transform } = window.getComputedStyle(element);
    if (!/absolute|fixed/.test(position) && transform === "none") continue;
    const within = withinOf(window, element);
    if (within !== null)
      found.add(within + (name === undefined ? `#${window.CSS.escape(id)}` : `.${window.CSS.escape(name)}`));
  }
  return [...found];
}

/** The most specific looks that things of one kind share: an animated sprite is one thing, and so is a growing bar. */
function narrowest(looks: readonly string[]): string[] {
  const names = new Map<string, Map<string, string[]>>();
  for (const look of looks) {
    const [, name, size = "", part = ""] = LOOK.exec(look) as RegExpExecArray;
    const sizes = names.get(name) ?? new Map<string, string[]>();
    names.set(name, sizes);
    sizes.set(size, [...(sizes.get(size) ?? []), part]);
  }
  return [...names].flatMap(([name, sizes]) => {
    if (sizes.size > MAX_SIZES) return [name];
    return [...sizes].flatMap(([size, parts]) => {
      const whole = size === "" ? name : `${name} ${size}`;
      const different = new Set(parts);
      // The parts of a single thing are frames of its animation.
      const isSeveral = parts.length > 1 && different.size > 1 && different.size <= MAX_PARTS;
      return isSeveral ? [...different].map((part) => `${whole} ${part}`) : [whole];
    });
  });
}

const LOOK = /^(.*?)(?: (\d+x\d+))?(?: (@-?\d+,-?\d+))?$/;

function textsOf(window: PageWindow, texts: readonly string[]): Place[] {
  const counts = new Map<string, number>();
  return texts.slice(0, MAX_TEXTS).flatMap((text): Place[] => {
    if (text.length > LONGEST_TEXT) return [];
    const { pattern, numbers } = numeralsOf(window).read(text);
    const first = counts.get(pattern) ?? 0;
    counts.set(pattern, first + numbers.length);
    if (numbers.length === 0) return OVER_TEXTS.test(text) || PROMPT.test(text) ? [wordsOf(text.trim())] : [];
    return numbers.map((_, i) => numberOf(pattern, first + i, i));
  });
}

function numberOf(pattern: string, which: number, at: number): Place {
  const words = pattern.split("#");
  const before = words[at].replace(/[^\p{L}]+/gu, " ").trim();
  const after = (words[at + 1] ?? "").replace(/[^\p{L}]+/gu, " ").trim();
  return {
    text: `${CALL}number(${JSON.stringify(pattern)}${which === 0 ? "" : `, ${which}`})`,
    name: before || after || "written",
    kind: "number",
    fields: [],
    isShown: true,
    read: (page) => drawn(page).number(pattern, which),
  };
}

function wordsOf(text: string): Place {
  return {
    text: `${CALL}says(${JSON.stringify(text)})`,
    name: text,
    kind: "truth",
    fields: [],
    isShown: true,
    read: (page) => drawn(page).says(text),
  };
}
