/** What a game says when it is over: words that its page shows or that its scripts have ready. */

import type { PageWindow } from "attract/page-adapter";
import { drawn } from "../../sdk/src/page/drawn.ts";
import { says } from "../../sdk/src/page/readers.ts";
import type { Place } from "./places.ts";
import { LOST_WORDS, WON_WORDS } from "./rules.ts";

/** A literal on one line, whatever is in it: what ends one would begin another otherwise. */
const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\\n])*)\1/g;
const MAX_WORDS = 6;
const LONGEST = 80;

export interface EndWords {
  readonly lost: readonly string[];
  readonly won: readonly string[];
}

/** @param texts those that the page showed, and the texts of its scripts. */
export function endWordsOf(shown: Iterable<string>, scripts: readonly string[]): EndWords {
  const quoted = scripts.flatMap((script) => [...script.matchAll(QUOTED)].map(([, , text]) => text));
  const all = [...new Set([...shown, ...quoted].map((text) => text.trim()))].filter(
    (text) => text.length <= LONGEST && !/[<>{}$\\]/.test(text) && !/\.\w{2,5}$/.test(text),
  );
  return {
    lost: all.filter((text) => LOST_WORDS.test(text)).slice(0, MAX_WORDS),
    won: all.filter((text) => WON_WORDS.test(text)).slice(0, MAX_WORDS),
  };
}

/** Whether one of the words is visible, as a place; null without words. */
export function saidPlace(words: readonly string[], hasCanvas: boolean): Place | null {
  if (words.length === 0) return null;
  const list = JSON.stringify(words);
  const written = words.map((word) => `drawn(w).says(${JSON.stringify(word)})`).join(" || ");
  return {
    text: hasCanvas ? `(says(w, ${list}) || ${written})` : `says(w, ${list})`,
    name: words.join(", "),
    kind: "truth",
    fields: [],
    isShown: true,
    isQuoted: true,
    read: (page) => says(page, words) || (hasCanvas && writes(page, words)),
  };
}

function writes(window: PageWindow, words: readonly string[]): boolean {
  const texts = drawn(window).texts();
  return words.some((word) => texts.some((text) => text.includes(word)));
}
