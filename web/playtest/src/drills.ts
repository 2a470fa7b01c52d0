/** Drills of a playtest: tests of a game that begin in its recorded episodes, or play it for one measurement. */

import type { PlaytestDrill, PlaytestDrilled } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { deadKey } from "./drills/dead-key.ts";
import type { Drilled } from "./drills/drill-failures.ts";
import { DrillFailures } from "./drills/drill-failures.ts";
import { type Drill, type DrillOptions, unfinished } from "./drills/drill-options.ts";
import { leak } from "./drills/leak.ts";
import { retryBroken } from "./drills/retry-broken.ts";
import { sight } from "./drills/sight.ts";
import { slow } from "./drills/slow.ts";
import { softLock } from "./drills/soft-lock.ts";

export type { DrillOptions } from "./drills/drill-options.ts";

const DRILLS: Readonly<Record<PlaytestDrill["kind"], (drill: Drill) => Promise<Drilled>>> = {
  "dead-key": deadKey,
  leak,
  "retry-broken": retryBroken,
  sight,
  slow,
  "soft-lock": softLock,
};

/** What comes of a drill in a loaded game, in copies of its own; never rejects because of the game. */
export async function drillGame(
  { kind, episodes, last_step: lastStep }: PlaytestDrill,
  definition: GameDefinition,
  options: DrillOptions,
): Promise<PlaytestDrilled> {
  const failures = new DrillFailures();
  let drilled: Drilled;
  try {
    drilled = await DRILLS[kind]({ definition, episodes, lastStep, options: { ...options, failures } });
  } catch (error) {
    drilled = unfinished(error instanceof Error ? error.message : String(error));
  }
  return { kind, ...failures.addTo(drilled) };
}
