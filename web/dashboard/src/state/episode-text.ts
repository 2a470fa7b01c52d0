/** Recorded episodes in words. */

import type {
  EpisodeDifference,
  EpisodeEntry,
  GameEntry,
  GameReference,
  RecordedEpisode,
} from "@attract/schema";
import type { EndReason } from "attract/instance";
import { formatAge, formatNumber, plural } from "./format.ts";

/** Which episodes of a run a list shows. */
export type EpisodeFilter = "all" | "starred" | EpisodeEntry["source"];

export const FILTERS: Readonly<Record<EpisodeFilter, string>> = {
  all: "All",
  starred: "Starred",
  evaluation: "Evaluations",
  training: "Training",
  failure: "Failures",
  person: "Played by hand",
  check: "Check of the game",
  match: "Matches",
};

const SOURCES: Readonly<Record<EpisodeEntry["source"], string>> = {
  evaluation: "of an evaluation",
  training: "of the training",
  failure: "Failed",
  person: "Played by hand",
  check: "Check of the game",
  match: "Of a match",
};
/** Why an episode is over. */
export const REASONS: Readonly<Record<EndReason, string>> = {
  terminated: "Game over",
  time_limit: "Time is up",
  game_truncated: "Ended",
  cut: "Cut short",
};
const ROLES = { best: "Best", worst: "Worst", median: "Median" } as const;

/** Starred first, then as the server has them: newest first; those of a match, which come many at once, last. */
export function episodesShown(entries: readonly EpisodeEntry[], filter: EpisodeFilter): EpisodeEntry[] {
  const shown = entries.filter(
    ({ source, starred }) => filter === "all" || (filter === "starred" ? starred : source === filter),
  );
  const placeOf = ({ source, starred }: EpisodeEntry) => (starred ? 0 : source === "match" ? 2 : 1);
  return shown.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** "Best of an evaluation, version 12". */
export function episodeTitle({ source, role, policy_version: version }: EpisodeEntry): string {
  const what = role === null ? capital(SOURCES[source]) : `${ROLES[role]} ${SOURCES[source].toLowerCase()}`;
  return version === null || version === undefined ? what : `${what}, version ${version}`;
}

/** "Return 12.5, 340 steps, 22.7 s, 2 min ago", or why it cannot be played; `now` in milliseconds since 1970. */
export function episodeFacts(entry: EpisodeEntry, now: number): string {
  if (entry.problem !== null && entry.problem !== undefined) return entry.problem;
  const { episode_return: value, num_steps: steps, seconds, created_at: created } = entry;
  const length = `${plural(steps, "step")}, ${secondsText(seconds)}`;
  return `Return ${formatNumber(value)}, ${length}, ${formatAge(created, now)}`;
}

/** "12.50 s". */
export function secondsText(seconds: number): string {
  return `${seconds.toFixed(seconds < 100 ? 2 : 1)} s`;
}

/** "the policy of version 12", "a person", "random actions", "a script"; several players with commas. */
export function playersText({ seats }: Pick<RecordedEpisode, "seats">): string {
  const names = seats.map(({ player, policy_version: version, policy_id: id }) => {
    if (player === "person") return "a person";
    if (player === "random") return "random actions";
    if (player === "script") return "a script";
    const which = seats.length > 1 && id !== null && id !== undefined ? ` ${id}` : "";
    return `the policy${which} of version ${version ?? "?"}`;
  });
  return [...new Set(names)].join(", ");
}

/** How the record ended. */
export function endText({ end_reason: reason }: Pick<RecordedEpisode, "end_reason">): string {
  if (reason === "failed") return "The game failed";
  return reason === "stopped" ? "Stopped" : REASONS[reason];
}

/** Where a play differs from its record. */
export function differenceText({ step, seconds, text }: EpisodeDifference): string {
  return (
    `It differs from the record at step ${step}, second ${secondsText(seconds)}: ${text}. ` +
    "It plays on with the recorded actions."
  );
}

/** The game that `episode` can be played in; null: this server has none. The record's own checks say whether it fits. */
export function gameOf(
  episode: Pick<RecordedEpisode, "game_id" | "game_sha256">,
  run: { game_reference: GameReference | null } | null,
  games: readonly GameEntry[],
): GameReference | null {
  if (run !== null && run.game_reference !== null) return run.game_reference;
  const same = games.find(({ reference }) => reference?.sha256 === episode.game_sha256);
  // A bundled game's id is its name and a version.
  const name = episode.game_id.replace(/-v\d+$/, "").toLowerCase();
  const named = games.find((game) => game.bundled && game.name.replaceAll("-", "") === name);
  return same?.reference ?? named?.reference ?? null;
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}
