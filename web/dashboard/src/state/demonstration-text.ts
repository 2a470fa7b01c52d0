/** A recorded episode in one line. */

import type { DemonstrationEntry } from "@attract/schema";
import { formatAge, formatNumber } from "./format.ts";

/** "Score 12.5, 340 steps, 2 min ago", or what is wrong with the file; `now` in milliseconds since 1970. */
export function demonstrationTitle(entry: DemonstrationEntry, now: number): string {
  if (entry.problem !== null) return `${entry.id}: ${entry.problem}`;
  const steps = `${entry.num_steps.toLocaleString("en-US")} ${entry.num_steps === 1 ? "step" : "steps"}`;
  const who = entry.player === "person" ? "" : `, ${entry.player}`;
  return `Score ${formatNumber(entry.returns[entry.agent] ?? null)}, ${steps}${who}, ${formatAge(entry.created_at, now)}`;
}
