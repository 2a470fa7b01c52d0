/** Who played whom, as text: players by name, shares with their intervals. */

import type { Estimate, LadderRow, MatchPlayer } from "@attract/schema";

/** A row's player by name; `newest`: the version that the policy has now. */
export function playerText({ player, policy_version: version }: LadderRow, newest: number): string {
  if (player === "newest") return `Version ${newest}, the newest`;
  if (version !== null) return `Version ${version}`;
  return player === "random" ? "Random play" : player.replace(/^script:/, "");
}

/** 0.524 -> "52 %"; unknown: an en dash. */
export function shareText(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`;
}

/** The 95 % interval of a share, such as "43 to 62 %". */
export function intervalText({ low, high }: Estimate): string {
  return `${Math.round(100 * (low ?? 0))} to ${shareText(high ?? 1)}`;
}

/** Which version of which run a player of a match is, where its name does not say it; null: none of a run. */
export function meantText({ player, run_id: run, policy_version: version }: MatchPlayer): string | null {
  return run === null || player === `${run}:${version}` ? null : `${run}:${version}`;
}
