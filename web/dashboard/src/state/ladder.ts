/** Who played whom, as text: players by name, shares with their intervals. */

import type { Estimate, LadderRow } from "@attract/schema";

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
