/** A report of a game that broke, cut down to what its author can use. */

import type { GameReport } from "@attract/schema";

/** A frame in our own bundles, which says nothing about the game. */
const OURS = /\/assets\/[\w-]+\.js/;

/** The error's words, with its class where they do not name it. */
export function wordsOf(report: Pick<GameReport, "kind" | "name" | "text">): string {
  const isNamed = report.kind === "check" || report.text.includes(report.name);
  return isNamed ? report.text : `${report.name}: ${report.text}`;
}

/** The stack without the frames of Attract's own code; the whole of it when nothing else is there. */
export function ownStack(stack: string): string {
  const lines = stack.split("\n");
  const own = lines.filter((line) => !OURS.test(line));
  const hidden = lines.length - own.length;
  if (hidden === 0 || !own.some((line) => line.trim().startsWith("at "))) return stack;
  return [...own, `    (and ${hidden} of Attract's own)`].join("\n");
}

/** What the bundler says, as one line and its place: `Expected ";" but found "x" (game.ts:2:75)`. */
export function shortError(text: string): string {
  const what = /\[ERROR\] (.*)/.exec(text)?.[1];
  const where = /^\s+(\S+:\d+:\d+):/m.exec(text)?.[1];
  if (what === undefined) return text.split("\n")[0];
  return where === undefined ? what : `${what} (${where})`;
}

/** The text of a notice without the ids of rules that it cites. */
export function withoutRules(text: string): string {
  return text.replace(/(?<!\w)[A-Z]\d+: /g, "");
}
