/** A report of a game that broke, cut down to what its author can use. */

import type { GameReport } from "@attract/schema";

/** The error's words, with its class where they do not name it. */
export function wordsOf(report: Pick<GameReport, "kind" | "name" | "text">): string {
  const isNamed = report.kind === "check" || report.text.includes(report.name);
  return isNamed ? report.text : `${report.name}: ${report.text}`;
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
