/** The log of a run as it is read: which entries are shown, and how each is said. */

import type { LogEntry } from "@attract/schema";

export type LogLevel = LogEntry["level"];
export type LogSource = LogEntry["source"];

/** From the least on. */
export const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "error"];

export const SOURCES: Readonly<Record<LogSource, string>> = {
  server: "Server",
  learner: "Learner",
  game: "Game",
};

export interface LogFilter {
  /** The least level that is shown. */
  level: LogLevel;
  /** Null: all. */
  source: LogSource | null;
  search: string;
}

export function entriesFound(
  entries: readonly LogEntry[],
  { level, source, search }: LogFilter,
): readonly LogEntry[] {
  const least = LEVELS.indexOf(level);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) => {
    if (LEVELS.indexOf(entry.level) < least || (source !== null && entry.source !== source)) return false;
    const text = entry.text.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** "03:04:05" of an entry's time in the reader's own zone; empty: it has none. */
export function clockOf({ time }: LogEntry): string {
  const then = time === null ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "" : new Date(then).toLocaleTimeString("en-GB");
}

/** Lines for a clipboard. */
export function textOfLog(entries: readonly LogEntry[]): string {
  return entries
    .map(({ time, level, source, text }) =>
      [time, level.toUpperCase(), source, text].filter((part) => part !== null).join(" "),
    )
    .join("\n");
}
