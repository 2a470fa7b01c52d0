/** Episodes of random play, all recorded, and the reports of those that failed. */

import type { Lease, RecordedEpisode } from "@attract/schema";
import type { FailureReport } from "@attract/worker/game/failures";
import type { PageFrames } from "@attract/worker/page/page-frames";
import { RandomPolicy } from "@attract/worker/policy/policy";
import { evaluate } from "@attract/worker/rollout/evaluate";
import { Yielder } from "@attract/worker/rollout/yielding";
import type { GameDefinition } from "attract/contract";
import { lease } from "./counting-game.ts";

export async function played(
  definition: GameDefinition,
  count: number,
  fields: Partial<Lease> = {},
  frames: PageFrames | null = null,
) {
  const numAgents = definition.numAgents ?? 1;
  const recorded: RecordedEpisode[] = [];
  const reports: FailureReport[] = [];
  const order = lease({
    purpose: "evaluate",
    record: "all",
    seats: Array.from({ length: numAgents }, () => lease().seats[0]),
    episodes: Array.from({ length: count }, (_, index) => ({ index })),
    max_episode_steps: 300,
    ...fields,
  });
  const yielder = new Yielder();
  await evaluate(order, [new RandomPolicy("main", 0, count * numAgents, 0)], {
    definition: frames?.definition ?? definition,
    preloaded: frames,
    yieldTurn: () => yielder.yield(),
    now: () => performance.now(),
    stateSize: 0,
    failed: (report) => reports.push(report),
    recorded: (episode) => recorded.push(episode),
    isVoid: () => false,
    progressed: () => undefined,
  });
  yielder.close();
  return { recorded, reports };
}
