/** Texts that stand side by side on one line: a label and its number are often written by two calls. */

import type { Mark } from "./marks.ts";

/** In heights of the font: how far apart middles of one line are, and how far the next text begins behind the last. */
const MAX_SHIFT = 0.3;
const MIN_GAP = -0.4;
const MAX_GAP = 1.5;
/** A gap of more than this is a space. */
const SPACE = 0.15;

interface Line {
  readonly texts: string[];
  readonly y: number;
  readonly height: number;
  end: number;
}

/** The lines of two texts or more, each as it is read. */
export function linesOf(marks: readonly Mark[]): string[] {
  const written = marks.flatMap(({ text, middle, span }) =>
    text === null || middle === undefined || span === undefined ? [] : [{ text, y: middle[1], ...span }],
  );
  if (written.length < 2) return [];
  const lines: Line[] = [];
  for (const { text, y, from, to, height } of written.sort((a, b) => a.from - b.from)) {
    const line = lines.find((one) => {
      const gap = (from - one.end) / one.height;
      return Math.abs(y - one.y) <= MAX_SHIFT * one.height && gap >= MIN_GAP && gap <= MAX_GAP;
    });
    if (line === undefined) {
      lines.push({ texts: [text], y, height, end: to });
      continue;
    }
    const isApart = from - line.end > SPACE * line.height && !/\s$/.test(line.texts.at(-1) as string);
    line.texts.push(isApart ? ` ${text}` : text);
    line.end = to;
  }
  return lines.filter(({ texts }) => texts.length > 1).map(({ texts }) => texts.join(""));
}
