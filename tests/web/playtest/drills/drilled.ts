/** Drills of games in this thread, and episodes of random play for them to begin in. */

import type { PlaytestDrill, PlaytestDrilled, RecordedEpisode } from "@attract/schema";
import type { PageFrames } from "@attract/worker/page/page-frames";
import { Yielder } from "@attract/worker/rollout/yielding";
import type { Action, GameDefinition } from "attract/contract";
import { leafLimits, numActionComponents, numChoices } from "attract/spaces";
import { Deadline } from "../../../../web/check/src/check-finding.ts";
import type { DrillOptions } from "../../../../web/playtest/src/drills/drill-options.ts";
import { drillGame } from "../../../../web/playtest/src/drills.ts";
import { SEED } from "../../worker/support/counting-game.ts";
import { played as playedAtRandom } from "../../worker/support/played.ts";

/** Episodes of random play, stopped after `maxSteps`. */
export async function played(
  definition: GameDefinition,
  count: number,
  maxSteps: number,
  frames: PageFrames | null = null,
): Promise<RecordedEpisode[]> {
  const { recorded } = await playedAtRandom(definition, count, { max_episode_steps: maxSteps }, frames);
  // As a stopped episode of a playtest is.
  return recorded.map((episode) =>
    episode.end_reason === "cut" ? { ...episode, end_reason: "stopped" } : episode,
  );
}

/** What is held of this game: each choice, or of numbers the lowest and the highest. */
export function heldOf({ action }: GameDefinition): Action[] {
  const size = numActionComponents(action);
  const choices = numChoices(action, 0);
  if (size === 1 && choices !== null) return Array.from({ length: choices }, (_, choice) => choice);
  const of = (end: 0 | 1): number[] =>
    Array.from({ length: size }, (_, c) => {
      const low = numChoices(action, c) === null ? leafLimits(action, c)[0] : 0;
      const high =
        numChoices(action, c) === null ? leafLimits(action, c)[1] : (numChoices(action, c) ?? 1) - 1;
      return end === 0 ? low : high;
    });
  return [of(0), of(1)];
}

export async function drilled(
  kind: PlaytestDrill["kind"],
  definition: GameDefinition,
  episodes: RecordedEpisode[] = [],
  fields: Partial<DrillOptions> & { seconds?: number } = {},
): Promise<PlaytestDrilled> {
  const { seconds = 60, ...options } = fields;
  const yielder = new Yielder();
  const now = options.now ?? (() => performance.now());
  const result = await drillGame({ kind, episodes, last_step: null }, definition, {
    seed: SEED,
    parameters: {},
    held: heldOf(definition),
    deadline: new Deadline(now, now() + 1000 * seconds),
    yieldTurn: () => yielder.yield(),
    now,
    ...options,
  });
  yielder.close();
  return result;
}
