/** Whether an episode after others in the same copy is the same as in a new copy: whether a second try begins as the first. */

import type { PlaytestAlarm } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { observedName, observedRow } from "attract/observed";
import type { EpisodeScript } from "../../episode/episode-script.ts";
import { episodeError, isGameError } from "../../game/failures.ts";
import { DrillCopy } from "./drill-copy.ts";
import { clean, type Drill, type Drilled, stepText, unfinished } from "./drill-options.ts";
import { hashed } from "./picture.ts";
import { scriptsOf } from "./scripts.ts";

/** Steps of an episode that are compared. */
const MAX_STEPS = 600;
/** Numbers that are kept of what is seen in a step: pictures are many more. */
const MAX_ROW = 2_000;

/** What was seen of an episode, row by row, and how the game failed. */
interface Play {
  rows: number[][];
  error: string | null;
  /** Whether it was played as far as it was to be. */
  isWhole: boolean;
}

interface Difference {
  step: number;
  text: string;
}

export async function retryBroken({ definition, episodes, options }: Drill): Promise<Drilled> {
  const { page } = definition;
  // There is no copy that could be kept.
  if (page !== undefined && page.reset !== "own") return clean({ episodes: 0 });
  const scripts = await scriptsOf(definition, episodes);
  if (scripts.length === 0) return unfinished("no episode of this game was given to be played");
  const kept = new DrillCopy(definition, { isFresh: false }, options);
  const fresh = new DrillCopy(definition, { isFresh: true }, options);
  // The first once more: of a single one there is then a second try.
  const sequence = [...scripts, scripts[0]];
  let compared = 0;
  try {
    for (const [number, script] of sequence.entries()) {
      const expected = await play(fresh, script, options);
      const came = await play(kept, script, options);
      if (!expected.isWhole || !came.isWhole) break;
      compared++;
      const difference = firstDifference(kept, expected, came);
      if (difference === null) continue;
      const again = await play(fresh, script, options);
      const chance = again.isWhole ? firstDifference(fresh, expected, again) : null;
      if (chance !== null)
        return unfinished(
          `the game is not deterministic: episode ${number % scripts.length} differs between two new copies at ` +
            `${stepText(definition, chance.step)}: ${chance.text}`,
        );
      if (!again.isWhole) break;
      const before = await shortest(definition, sequence, number, expected, options);
      const alarm = alarmOf(definition, number % scripts.length, before, difference);
      return { ...clean({ episodes: compared }), alarms: [alarm], recorded: [null] };
    }
  } finally {
    kept.close();
    fresh.close();
  }
  return compared >= 2
    ? clean({ episodes: compared })
    : unfinished(`only ${compared} of ${sequence.length} episodes were compared in the time given`);
}

/** What has to be played before episode `number` for it to differ, in words. */
async function shortest(
  definition: GameDefinition,
  sequence: readonly EpisodeScript[],
  number: number,
  expected: Play,
  options: Drill["options"],
): Promise<string> {
  if (number === 0) return "played by the game's own restart";
  const all = number === 1 ? "after episode 0" : `after episodes 0 to ${number - 1}`;
  const copy = new DrillCopy(definition, { isFresh: false }, options);
  try {
    await play(copy, sequence[number - 1], options);
    const came = await play(copy, sequence[number], options);
    const isEnough = came.isWhole && firstDifference(copy, expected, came) !== null;
    return isEnough ? `after episode ${number - 1}` : all;
  } finally {
    copy.close();
  }
}

function alarmOf(
  definition: GameDefinition,
  number: number,
  before: string,
  { step, text }: Difference,
): PlaytestAlarm {
  return {
    oracle: "retry-broken",
    text:
      `episode ${number}, ${before} in the same copy, differs from the same episode in a new copy ` +
      `at ${stepText(definition, step)}: ${text}`,
    stack: null,
    method: null,
    step,
    tick: 0,
  };
}

async function play(copy: DrillCopy, script: EpisodeScript, { deadline }: Drill["options"]): Promise<Play> {
  const rows: number[][] = [];
  try {
    await copy.start(script.episode);
    const { instance } = copy;
    rows.push(rowOf(copy, instance));
    const steps = Math.min(script.numSteps, MAX_STEPS);
    for (let step = 0; step < steps && !instance.episodeOver; step++) {
      if (deadline.isOver) return { rows, error: null, isWhole: false };
      await copy.step(script.action(step, instance));
      rows.push(rowOf(copy, instance));
    }
    return { rows, error: null, isWhole: true };
  } catch (error) {
    if (!isGameError(error)) throw error;
    return { rows, error: episodeError(error, copy.instance).text, isWhole: true };
  }
}

/** Everything seen, or where that is much a hash of it, and whether the episode is over. */
function rowOf({ definition }: DrillCopy, instance: Instance): number[] {
  const seen = observedRow(definition, instance);
  const row = seen.length <= MAX_ROW ? seen : [hashed(0, seen.join())];
  return [...row, Number(instance.episodeOver)];
}

function firstDifference({ definition, instance }: DrillCopy, expected: Play, came: Play): Difference | null {
  const length = Math.max(expected.rows.length, came.rows.length);
  for (let step = 0; step < length; step++) {
    const [was, is] = [expected.rows[step], came.rows[step]];
    if (was === undefined || is === undefined) {
      const { error } = was === undefined ? expected : came;
      const which = was === undefined ? "only the new copy" : "the game";
      return { step, text: error === null ? "one of the two had ended" : `${which} failed: ${error}` };
    }
    const at = was.findIndex((value, i) => !Object.is(value, is[i]));
    if (at < 0) continue;
    if (at === was.length - 1) return { step, text: is[at] === 1 ? "it is over" : "it goes on" };
    if (was.length === 2) return { step, text: "the agents see something else" };
    const name = observedName(definition, instance, at);
    return { step, text: `${name} is ${short(is[at])} instead of ${short(was[at])}` };
  }
  if (expected.error === came.error) return null;
  return { step: length, text: `the game failed: ${came.error ?? expected.error}` };
}

function short(value: number): string {
  return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
}
