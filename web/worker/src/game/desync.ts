/** Spreads the phases of episodes by cutting each instance's first one (rule E7). */

import type { Seed } from "@attract/schema";
import { philox4x32 } from "attract/random";

/** Stream of the numbers that spread the first episodes; the SDK's streams are 1 to 5. */
const DESYNC_STREAM = 6;

/** The step at which instance `instanceId`'s first episode is cut, 0 for never. */
export function cutStep(seed: Seed, instanceId: number, desyncSteps: number): number {
  if (desyncSteps === 0) return 0;
  const words = new Uint32Array(4);
  philox4x32(0, 0, instanceId, (DESYNC_STREAM << 24) >>> 0, seed.low, seed.high, words, 0);
  return 1 + Math.floor((words[0] >>> 8) * 2 ** -24 * desyncSteps);
}
