/** What a page or an adapter writes to its console. */

import type { LookLine } from "../../schema/src/api.gen.ts";
import { jsonOf, wordsOf } from "./json-value.ts";
import { attempt } from "./places.ts";

const LEVELS = ["log", "info", "warn", "error", "debug"] as const;
const MAX_LINES = 200;

/**
 * Notes in `lines` what is written to `console` from now on, the first lines.
 *
 * @returns what ends it.
 */
export function noteConsole(console: Console, by: LookLine["by"], lines: LookLine[]): () => void {
  const before = LEVELS.map((level) => console[level]);
  for (const [i, level] of LEVELS.entries())
    console[level] = (...given: unknown[]) => {
      // Its console throws nothing at the page: the window of another origin lets nothing be read.
      const text = wordsOf(given.map((value) => attempt(() => said(value)) ?? "[unreadable]").join(" "));
      const last = lines.at(-1);
      if (last !== undefined && last.text === text && last.level === level && last.by === by) last.times++;
      else if (lines.length < MAX_LINES) lines.push({ by, level, text, times: 1 });
      before[i].apply(console, given);
    };
  return () => {
    for (const [i, level] of LEVELS.entries()) console[level] = before[i];
  };
}

function said(value: unknown): string {
  if (typeof value === "string" || value === undefined) return String(value);
  if (isError(value)) return `${String(value.name)}: ${value.message}`;
  return JSON.stringify(jsonOf(value));
}

/** Whether it is an error, of whatever window. Throws where that window lets nothing be read. */
export function isError(value: unknown): value is Error {
  if (typeof value !== "object" || value === null) return false;
  return typeof (value as Partial<Error>).message === "string" && "stack" in value;
}
