/** The same seed and actions must give the same play: in a new game, and in one that has played before. */

import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { observedName, observedRow } from "attract/observed";
import { drawActions, RandomPlayer } from "attract/random-play";
import type { Deadline, Report } from "./check-finding.ts";
import type { Pause } from "./play-check.ts";

const STEPS = 1_000;
/** Fewer say nothing. */
const MIN_STEPS = 5;
const REPEATS = 2;

export interface Row {
  episode: number;
  /** Steps taken in it. */
  step: number;
  values: number[];
}

/** One stream of play that can be repeated; the seeds are those of a check, not of a run. */
export interface Play {
  rows: Row[];
  actions: (Action | ArrayLike<Action>)[];
}

/** `causes`: names of forbidden functions that the game was seen to call, which would explain a difference. */
export async function checkDeterminism(
  definition: GameDefinition,
  report: Report,
  deadline: Deadline,
  causes: () => readonly string[],
): Promise<void> {
  const first = createInstance(definition, { seedLow: 2 });
  // What is played now is played five times in all.
  const original = await play(definition, first, 2, deadline.share(0.2));
  if (original.actions.length < MIN_STEPS) return;
  let difference: string | null = null;
  for (let extra = 1; extra <= REPEATS && difference === null && (extra === 1 || !deadline.isOver); extra++) {
    // Other copies play in between, more each time: what counts games in the module must not come out even.
    for (let start = 0; start < extra; start++) createInstance(definition, { seedLow: 5 }).start(start);
    const again = await replay(definition, createInstance(definition, { seedLow: 2 }), original);
    difference = firstDifference(definition, first, original.rows, again);
  }
  if (difference !== null) {
    const called = causes();
    report({
      id: "not-reproducible",
      severity: "error",
      text: `the same seed and actions played differently in a new game: ${difference}`,
      fix:
        called.length > 0
          ? `remove ${called.join(" and ")}, the probable cause`
          : "keep all state in the game object, not in module variables or static fields, and reset all of it in start()",
    });
    return;
  }
  // `first` has played one stream and is in the middle of an episode, as when training cuts one.
  if (deadline.isOver) return;
  const fresh = createInstance(definition, { seedLow: 3 });
  const other = await play(definition, fresh, 3, deadline.share(0.3));
  first.setStream(3, 0, 0);
  const left = firstDifference(definition, first, other.rows, await replay(definition, first, other));
  if (left !== null) {
    report({
      id: "state-survives-start",
      severity: "error",
      text: `a game that has played before plays differently from a new one: ${left}`,
      fix: "reset every field in start(): it begins each episode, and the constructor runs only once",
    });
    return;
  }
  if (!deadline.isOver) await checkVariety(definition, report, original);
}

/** Whether chance plays any part: another seed under the same actions should show something else. */
async function checkVariety(definition: GameDefinition, report: Report, original: Play): Promise<void> {
  const instance = createInstance(definition, { seedLow: 4 });
  const other = await replay(definition, instance, original);
  if (firstDifference(definition, instance, original.rows, other) !== null) return;
  report({
    id: "no-variety",
    severity: "warning",
    text: "two seeds play alike under the same actions: agents may memorise one course of events",
    fix: "randomise something with `random` in start(), such as start positions; ignore this if the game is meant to be fixed",
  });
}

/** Up to `steps` steps at random from episode 0 on. */
export async function play(
  definition: GameDefinition,
  instance: Instance,
  seed: number,
  deadline: Deadline,
  steps = STEPS,
  pause?: Pause,
): Promise<Play> {
  const player = new RandomPlayer(definition.action, seed);
  const actions: Play["actions"] = [];
  const rows: Row[] = [];
  await pause?.();
  await instance.begin(0);
  rows.push(rowOf(definition, instance));
  for (let step = 0; step < steps && !deadline.isOver; step++) {
    const drawn = drawActions(instance, player);
    actions.push(drawn);
    const taken = instance.take(drawn);
    if (taken !== null) await taken;
    rows.push(rowOf(definition, instance));
    if (!instance.episodeOver) continue;
    await pause?.();
    await instance.begin(instance.episode + 1);
    rows.push(rowOf(definition, instance));
  }
  return { rows, actions };
}

/**
 * What the actions of a play bring this time; shorter when an episode ended elsewhere, or the time was up.
 */
export async function replay(
  definition: GameDefinition,
  instance: Instance,
  original: Play,
  deadline?: Deadline,
  pause?: Pause,
): Promise<Row[]> {
  const rows: Row[] = [];
  await pause?.();
  await instance.begin(0);
  rows.push(rowOf(definition, instance));
  for (const action of original.actions) {
    if (deadline?.isOver) break;
    const taken = instance.take(action);
    if (taken !== null) await taken;
    rows.push(rowOf(definition, instance));
    if (instance.episodeOver) {
      await pause?.();
      await instance.begin(instance.episode + 1);
      rows.push(rowOf(definition, instance));
    }
    if (rows.at(-1)!.episode !== original.rows[rows.length - 1]?.episode) break;
  }
  return rows;
}

function rowOf(definition: GameDefinition, instance: Instance): Row {
  return {
    episode: instance.episode,
    step: instance.episodeSteps,
    values: observedRow(definition, instance),
  };
}

/** Where two plays part, in words; null where they do not. */
export function firstDifference(
  definition: GameDefinition,
  instance: Instance,
  expected: readonly Row[],
  came: readonly Row[],
): string | null {
  for (let i = 0; i < expected.length; i++) {
    const { episode, step, values } = expected[i];
    const where = step === 0 ? `at the start of episode ${episode}` : `in step ${step} of episode ${episode}`;
    if (came[i] === undefined || came[i].episode !== episode) return `${where} one episode had ended`;
    const j = values.findIndex((value, at) => !Object.is(value, came[i].values[at]));
    if (j >= 0) {
      const name = observedName(definition, instance, j);
      return `${where} ${name} was ${short(values[j])}, then ${short(came[i].values[j])}`;
    }
  }
  return null;
}

function short(value: number): string {
  return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
}
