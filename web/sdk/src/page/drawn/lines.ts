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

/**
 * The lines of two texts or more, each as it is read.
 *
 * @param widthOf of a text in a font, in pixels; asked only of texts that are as high as another.
 */
export function linesOf(marks: readonly Mark[], widthOf: (font: string, text: string) => number): string[] {
  const written = marks.flatMap(({ text, middle, left, font }) =>
    text === null || middle === undefined || font === undefined ? [] : [{ text, y: middle[1], left, font }],
  );
  const spans = written
    .filter((one) => written.some((other) => other !== one && isLevel(other.y, one.y, one.font.height)))
    .map(({ text, y, left, font: { name, height, scale, before } }) => {
      const width = widthOf(name, text) * scale;
      return { text, y, height, from: left - before * width, to: left + (1 - before) * width };
    });
  const lines: Line[] = [];
  for (const { text, y, from, to, height } of spans.sort((a, b) => a.from - b.from)) {
    const line = lines.find((one) => {
      const gap = (from - one.end) / one.height;
      return isLevel(y, one.y, one.height) && gap >= MIN_GAP && gap <= MAX_GAP;
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

function isLevel(y: number, other: number, height: number): boolean {
  return Math.abs(y - other) <= MAX_SHIFT * height;
}
