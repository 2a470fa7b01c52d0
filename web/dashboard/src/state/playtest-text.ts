/** What `attract ci` found in a game, in words. */

import type { PlaytestFinding, PlaytestReport } from "@attract/schema";
import { secondsText } from "./episode-text.ts";
import { formatAge, plural } from "./format.ts";

/** An episode is shown from so long before it happens. */
const BEFORE_SECONDS = 2;

/** "2 findings, 1 warning in 64 episodes, 3 h ago", or why nothing was played; `now` in milliseconds since 1970. */
export function reportText(report: PlaytestReport, now: number): string {
  const { verdict, findings, episodes, problem, written_at: written } = report;
  const age = formatAge(written, now);
  if (verdict === "not_played") return `Not played, ${age}: ${problem ?? "no reason is known"}`;
  const warnings = findings.filter(({ level }) => level === "warn").length;
  const counted = Object.entries({ finding: findings.length - warnings, warning: warnings })
    .filter(([, count]) => count > 0)
    .map(([noun, count]) => plural(count, noun));
  const what = counted.length === 0 ? "Nothing wrong" : counted.join(", ");
  return `${what} in ${plural(episodes, "episode")}, ${age}`;
}

export function titleOf({ id, level, text }: PlaytestFinding): string {
  return `${level === "warn" ? "Warning, " : ""}${id}: ${text}`;
}

/** "src/game.ts:41, played by random, step 21, 2.10 s": what is known of where it is. */
export function placeText({ file, line, player, step, seconds }: PlaytestFinding): string {
  return [
    file !== null && (line === null ? file : `${file}:${line}`),
    player !== null && `played by ${player}`,
    step !== null && `step ${step}`,
    seconds !== null && secondsText(seconds),
  ]
    .filter((part) => part !== false)
    .join(", ");
}

/** The second from which its episode is shown. */
export function beginOf({ seconds }: PlaytestFinding): number {
  return Math.max(0, (seconds ?? 0) - BEFORE_SECONDS);
}

/** The finding whose episode is in that file; undefined: a later report may have taken its place. */
export function findingIn(
  reports: readonly PlaytestReport[],
  folder: string,
  file: string,
): PlaytestFinding | undefined {
  return reports
    .find((report) => report.folder === folder)
    ?.findings.find(({ episode_file: name }) => name === file);
}
