/** How often each action does what no other does: an action that never does any more has lost its key. */

import type { Action } from "attract/contract";
import type { EpisodeScript } from "../../../worker/src/episode/episode-script.ts";
import { type DrillCopy, holding, isAllowed, steadyCopy } from "./drill-copy.ts";
import type { Drilled } from "./drill-failures.ts";
import { clean, type Drill, stepSeconds, unfinished } from "./drill-options.ts";
import { scriptsOf } from "./scripts.ts";

const STATES = 32;
/** Fewer say nothing. */
const MIN_STATES = 20;
/** An action is held for so long, in game time, but for some steps at least and at most. */
const HELD_SECONDS = 0.25;
const HELD_STEPS: readonly [least: number, most: number] = [3, 15];
/** States lie within so many first steps of an episode: each is played to once per action. */
const LATEST_STEP = 300;
/** Actions compared; of a board of many cells the first ones. */
const MAX_ACTIONS = 24;

export async function deadKey({ definition, episodes, options }: Drill): Promise<Drilled> {
  const { deadline, held } = options;
  const scripts = (await scriptsOf(definition, episodes)).filter(({ numSteps }) => numSteps > 1);
  if (scripts.length === 0) return unfinished("no episode of this game was given to begin in");
  const actions = held.slice(0, MAX_ACTIONS);
  if (actions.length < 2) return clean({ states: 0 });
  const copy = await steadyCopy(definition, scripts, options, true);
  if (copy === null)
    return unfinished(
      deadline.isOver
        ? "there was no time left for it"
        : "the game does not play its episodes again as they were recorded",
    );
  const tried = actions.map(() => 0);
  const differed = actions.map(() => 0);
  let states = 0;
  try {
    // Some are taken twice where actions are forbidden in them, or the episode ends.
    for (let number = 0; number < 2 * STATES && states < STATES && !deadline.isOver; number++) {
      const script = scripts[number % scripts.length];
      const traces = await tracesAt(copy, script, stepOf(script, number), actions);
      if (traces === null || traces.filter((trace) => trace !== null).length < 2) continue;
      states++;
      for (const [k, trace] of traces.entries()) {
        if (trace === null) continue;
        tried[k]++;
        if (!traces.some((other, j) => j !== k && other === trace)) differed[k]++;
      }
    }
  } finally {
    copy.close();
  }
  if (states < MIN_STATES)
    return unfinished(`only ${states} of ${MIN_STATES} states were looked at in the time given`, { states });
  const shares = actions.flatMap((_, k) =>
    tried[k] === 0 ? [] : [[`action ${k}`, differed[k] / tried[k]] as const],
  );
  return clean({ states, ...Object.fromEntries(shares) });
}

/** Spread over the first steps of the episode, the same for each build. */
function stepOf({ numSteps }: EpisodeScript, number: number): number {
  const golden = (number * 0.6180339887498949) % 1;
  return Math.floor(golden * Math.min(numSteps - 1, LATEST_STEP));
}

/** What each action leads to if it is held from step `at` on; null of one that is forbidden there, and of all where there is none. */
async function tracesAt(
  copy: DrillCopy,
  script: EpisodeScript,
  at: number,
  actions: readonly Action[],
): Promise<(string | null)[] | null> {
  const [least, most] = HELD_STEPS;
  const steps = Math.min(most, Math.max(least, Math.round(HELD_SECONDS / stepSeconds(copy.definition))));
  const traces: (string | null)[] = [];
  for (const action of actions) {
    let isFree = true;
    const mover = holding(copy.definition, action);
    const fork = await copy.fork(
      script,
      at,
      (instance) => {
        if (instance.episodeSteps === at) isFree = isAllowed(copy.definition, instance, action);
        return mover(instance);
      },
      steps,
      1,
    );
    if (fork === null) return null;
    traces.push(isFree ? fork.pictures.join() : null);
  }
  return traces;
}
