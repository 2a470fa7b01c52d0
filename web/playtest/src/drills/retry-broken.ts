/** Whether an episode after others in the same copy is the same as in a new copy: whether a second try begins as the first. */

import type { PlaytestAlarm } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { observedRow } from "attract/observed";
import type { EpisodeScript } from "../../../worker/src/episode/episode-script.ts";
import { hashed } from "../../../worker/src/episode/seen-hash.ts";
import { episodeError, isGameError } from "../../../worker/src/game/failures.ts";
import { restartText } from "../../../worker/src/page/page-frame.ts";
import { NOT_AGAIN } from "../alarms.ts";
import { DrillCopy, type EpisodeName, holding } from "./drill-copy.ts";
import type { Drilled, Move } from "./drill-failures.ts";
import { alarmOf, clean, type Drill, found, stepSeconds, stepText, unfinished } from "./drill-options.ts";
import { scriptsOf } from "./scripts.ts";

/** Steps of an episode that are compared. */
const MAX_STEPS = 600;
/** Steps for which an action is pressed to see what it does, and from press to press. */
const PRESSED_STEPS = 60;
const PRESS_STEPS = 4;
const MAX_HELD_ACTIONS = 8;
/** Inputs that do the same where they should not. */
const MIN_ALIKE = 3;
/** New copies, each of another seed, by which it is known what chance decides at the start. */
const NUM_STARTS = 3;
/** Numbers that are kept of what is seen in a step: pictures are many more. */
const MAX_ROW = 2_000;

/** In a page, numbers are the same within this share of what they go through in the episode, or of the largest. */
const SAME_SPREAD = 0.05;
const SAME_SHARE = 0.01;
/** Game time after a slight difference in which a larger one is no consequence of it, if it lasts for so many steps: a ball bounces
 * elsewhere within a second. */
const WATCHED_SECONDS = 0.25;
const LASTING_STEPS = 3;

/** What was seen of an episode, row by row, and how the game failed. */
interface Play {
  rows: number[][];
  /** What is drawn at the start; of a page it is not looked at. */
  picture: number;
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
  if (page?.reset === "reload") return clean({ episodes: 0 });
  const scripts = await scriptsOf(definition, episodes);
  if (scripts.length === 0) return unfinished("no episode of this game was given to be played");
  const isMenu = page?.reset === "over";
  const opening = isMenu ? await openingOf(definition, scripts, options) : null;
  if (isMenu && opening === null)
    return unfinished("no episode came to its end, after which its menu restarts it");
  // The first once more: of a single one there is then a second try.
  const sequence = [...scripts, scripts[0]];
  const kind = { isFresh: true, opening } as const;
  const { compared, broken, drawnAlike, problem } = await comparison(definition, sequence, kind, options);
  if (problem !== null) return unfinished(problem);
  if (broken === null) {
    if (compared < 2)
      return unfinished(`only ${compared} of ${sequence.length} episodes were compared in the time given`);
    const deaf = opening === null ? null : await deafness(definition, opening, options);
    return deaf === null
      ? clean({ episodes: compared, ...(drawnAlike === null ? {} : { drawn_alike: drawnAlike }) })
      : found(deaf, { episodes: compared, first: 0, last: scripts.length });
  }
  const { number, difference, error } = broken;
  const before = await shortest(definition, sequence, broken, options);
  const earlier = number > 0 ? sequence[number - 1] : opening;
  const last = number === 0 || before.first === number - 1 ? (earlier?.episode ?? null) : null;
  const alarm =
    error === null || last === null
      ? alarmAt(definition, number % scripts.length, before.text, difference)
      : // As where the crowd meets it.
        alarmOf("retry-broken", `${NOT_AGAIN}: ${error}`, { step: last.num_steps });
  const numbers: Drilled["numbers"] = { episodes: compared, first: before.first, last: number };
  if (page !== undefined && !isMenu && error === null) {
    // A page may begin otherwise when it has come up than whenever it restarts: then all restarts are alike.
    const restarted = await comparison(definition, sequence, { isFresh: "restarted", opening }, options);
    const isPlayed = restarted.problem === null && restarted.compared === sequence.length;
    if (restarted.broken !== null) numbers.restarts_alike = 0;
    else if (isPlayed) numbers.restarts_alike = 1;
  }
  return found(alarm, numbers, error === null ? null : last);
}

interface Broken {
  number: number;
  difference: Difference;
  expected: Play;
  /** See `firstDifference`. */
  isFixed: readonly boolean[] | null;
  error: string | null;
}

interface Comparison {
  /** Episodes that were played in both copies. */
  compared: number;
  /** The first that differs, how it goes in a new copy, and of one that does not even begin, what is thrown. */
  broken: Broken | null;
  /** Whether each begins with the same picture; null: that is not known. */
  drawnAlike: 0 | 1 | null;
  problem: string | null;
}

/** The shortest that ends the game of a new page: some were recorded where a broken restart soon did. */
async function openingOf(
  definition: GameDefinition,
  scripts: readonly EpisodeScript[],
  options: Drill["options"],
): Promise<EpisodeScript | null> {
  const copy = new DrillCopy(definition, { isFresh: "restarted" }, options);
  try {
    for (const script of scripts.toSorted((one, other) => one.numSteps - other.numSteps))
      if ((await play(copy, script, options)).isWhole && copy.instance.episodeOver) return script;
    return null;
  } finally {
    copy.close();
  }
}

/** Whether inputs that go otherwise in a new page all do the same in the game that a menu restarts: all restarts are alike then. */
async function deafness(
  definition: GameDefinition,
  opening: EpisodeScript,
  options: Drill["options"],
): Promise<PlaytestAlarm | null> {
  const copy = new DrillCopy(definition, { isFresh: false }, options);
  const rest = holding(definition, options.held[0]);
  /** What is seen while each is pressed again and again, since a first press may only begin; null: there was no time. */
  const seenBy = async (actions: readonly Action[], isRestarted: boolean): Promise<string[][] | null> => {
    const seen: string[][] = [];
    for (const action of actions) {
      copy.renew();
      if (isRestarted) await play(copy, opening, options);
      const hold = holding(definition, action);
      const mover = (instance: Instance, step: number): Move =>
        (step % PRESS_STEPS === PRESS_STEPS - 1 ? rest : hold)(instance);
      const { rows, isWhole } = await playSteps(copy, opening.episode, PRESSED_STEPS, options, mover);
      if (!isWhole) return null;
      seen.push(rows.map(String));
    }
    return seen;
  };
  try {
    const actions = options.held.slice(0, MAX_HELD_ACTIONS);
    const again = await seenBy(actions, true);
    if (again === null) return null;
    const all = again.map((rows) => rows.join("\n"));
    const isDeaf = new Set(all).size === 1;
    // The first one does nothing, as a rule. Of two keys one may be ignored: a snake does not turn back.
    const groups = all.map((rows) => actions.filter((_, i) => (isDeaf || i > 0) && all[i] === rows));
    const [members] = groups.toSorted((one, other) => other.length - one.length);
    if (!isDeaf && members.length < MIN_ALIKE) return null;
    const steps = again[actions.indexOf(members[members.length - 1])].length - 1;
    const fresh = await seenBy(members, false);
    const ways = new Set(fresh?.map((rows) => rows.slice(0, steps + 1).join("\n")));
    if (isDeaf ? ways.size < 2 : ways.size < members.length) return null;
    const text =
      `after a restart by its menu ${members.length} inputs do the same, each pressed for ${steps} steps; in a new copy they go ` +
      `${ways.size} ways`;
    return alarmOf("retry-broken", text);
  } finally {
    copy.close();
  }
}

interface Fresh {
  isFresh: true | "restarted";
  /**
   * What a page that is restarted by its menu once it is over plays before each: what it has when it has come up may well be
   * otherwise than after any restart. Null: a new copy plays at once.
   */
  opening: EpisodeScript | null;
}

/** Plays one after another in a kept copy, and each in one that is new as `isFresh` says. */
async function comparison(
  definition: GameDefinition,
  sequence: readonly EpisodeScript[],
  { isFresh, opening }: Fresh,
  options: Drill["options"],
): Promise<Comparison> {
  const isModule = definition.page === undefined;
  const { observed = [] } = options;
  const isSingle = observed.flatMap(({ numbers }) => Array.from({ length: numbers }, () => numbers === 1));
  const sees = isModule ? "drawn" : undefined;
  const kept = new DrillCopy(definition, { isFresh: false, sees }, options);
  const fresh = new DrillCopy(definition, { isFresh: opening === null && isFresh, sees }, options);
  const open = async (copy: DrillCopy): Promise<void> => {
    if (opening === null) return;
    copy.renew();
    await play(copy, opening, options);
  };
  const playFresh = async (script: EpisodeScript): Promise<Play> => {
    await open(fresh);
    return play(fresh, script, options);
  };
  /** Whether each number of a first row is one by itself, and the same in new copies of other seeds. */
  const fixedAtStart = async ({ episode }: EpisodeScript): Promise<boolean[]> => {
    const rows: number[][] = [];
    try {
      for (let i = 0; i < NUM_STARTS; i++) {
        await open(fresh);
        await fresh.start({ ...episode, episode: episode.episode + i });
        rows.push(rowOf(fresh, fresh.instance));
      }
    } catch (error) {
      if (!isGameError(error)) throw error;
      return [];
    }
    return rows[0].map((value, at) => isSingle[at] && rows.every((row) => Object.is(row[at], value)));
  };
  // A best score that is shown from then on is meant: another build decides.
  const result: Comparison = { compared: 0, broken: null, drawnAlike: isModule ? 1 : null, problem: null };
  try {
    await open(kept);
    for (const [number, script] of sequence.entries()) {
      const expected = await playFresh(script);
      if (opening !== null && isUnbegun(expected) && isUnbegun(await playFresh(script))) {
        const difference = { step: 0, text: `the game failed: ${expected.error}` };
        result.compared++;
        result.broken = { number, difference, expected, isFixed: null, error: expected.error };
        break;
      }
      const came = await play(kept, script, options);
      if (!expected.isWhole || !came.isWhole) break;
      result.compared++;
      let difference = firstDifference(kept, expected, came);
      const isFixed = difference === null || observed.length === 0 ? null : await fixedAtStart(script);
      if (isFixed !== null) difference = firstDifference(kept, expected, came, isFixed);
      const isDrawnOtherwise = result.drawnAlike === 1 && came.picture !== expected.picture;
      if (difference === null && !isDrawnOtherwise) {
        // Else the next one would have a new page.
        if (!kept.instance.episodeOver) await open(kept);
        continue;
      }
      const again = await playFresh(script);
      if (isDrawnOtherwise) result.drawnAlike = again.picture === expected.picture ? 0 : null;
      if (difference === null) continue;
      const chance = again.isWhole ? firstDifference(fresh, expected, again) : null;
      if (chance !== null)
        result.problem =
          `the game is not deterministic: episode ${number % (sequence.length - 1)} differs between two new copies at ` +
          `${stepText(definition, chance.step)}: ${chance.text}`;
      else if (again.isWhole) {
        const error = isUnbegun(came) ? came.error : null;
        result.broken = { number, difference, expected, isFixed, error };
      }
      break;
    }
  } finally {
    kept.close();
    fresh.close();
  }
  return result;
}

/** Whether it does not even begin. */
function isUnbegun({ rows, error }: Play): boolean {
  return rows.length === 0 && error !== null;
}

/** What has to be played before episode `number` for it to differ: its first episode, and in words. */
async function shortest(
  definition: GameDefinition,
  sequence: readonly EpisodeScript[],
  { number, expected, isFixed }: Broken,
  options: Drill["options"],
): Promise<{ first: number; text: string }> {
  if (number === 0) return { first: 0, text: `played by ${restartText(definition.page)}` };
  const all = number === 1 ? "after episode 0" : `after episodes 0 to ${number - 1}`;
  const copy = new DrillCopy(definition, { isFresh: false }, options);
  try {
    await play(copy, sequence[number - 1], options);
    const came = await play(copy, sequence[number], options);
    const isEnough = came.isWhole && firstDifference(copy, expected, came, isFixed) !== null;
    return isEnough ? { first: number - 1, text: `after episode ${number - 1}` } : { first: 0, text: all };
  } finally {
    copy.close();
  }
}

function alarmAt(
  definition: GameDefinition,
  number: number,
  before: string,
  { step, text }: Difference,
): PlaytestAlarm {
  const once = definition.page?.reset === "over" ? "after a short one " : "";
  const where =
    `episode ${number}, ${before} in the same copy, differs from the same episode ${once}in a new copy ` +
    `at ${stepText(definition, step)}: ${text}`;
  return alarmOf("retry-broken", where, { step });
}

function play(copy: DrillCopy, script: EpisodeScript, options: Drill["options"]): Promise<Play> {
  const steps = Math.min(script.numSteps, MAX_STEPS);
  return playSteps(copy, script.episode, steps, options, (instance, step) => script.action(step, instance));
}

async function playSteps(
  copy: DrillCopy,
  name: EpisodeName,
  steps: number,
  { deadline }: Drill["options"],
  moveOf: (instance: Instance, step: number) => Move,
): Promise<Play> {
  const rows: number[][] = [];
  let picture = 0;
  try {
    await copy.start(name);
    const { instance } = copy;
    if (copy.definition.page === undefined) picture = copy.picture;
    rows.push(rowOf(copy, instance));
    for (let step = 0; step < steps && !instance.episodeOver; step++) {
      if (deadline.isOver) return { rows, picture, error: null, isWhole: false };
      await copy.step(moveOf(instance, step));
      rows.push(rowOf(copy, instance));
    }
    return { rows, picture, error: null, isWhole: true };
  } catch (error) {
    if (!isGameError(error)) throw error;
    return { rows, picture, error: episodeError(error, copy.instance).text, isWhole: true };
  }
}

/** Everything seen, or where that is much a hash of it, and whether the episode is over. */
function rowOf({ definition }: DrillCopy, instance: Instance): number[] {
  const seen = observedRow(definition, instance);
  const row = seen.length <= MAX_ROW ? seen : [hashed(0, seen.join())];
  return [...row, Number(instance.episodeOver)];
}

/**
 * Where two plays part; null where they do not.
 *
 * A page that begins again is seldom in the very phase of a new one: there, numbers that differ by next to nothing are the same,
 * and what follows from them later is not looked at.
 *
 * @param isFixed numbers that alone are compared at the start, and where others differ there, in all of the episode: what was
 *   guessed to begin a game may go on with its chance, with the next piece and with what is left in a bag. Null: it was not guessed.
 */
function firstDifference(
  copy: DrillCopy,
  expected: Play,
  came: Play,
  isFixed: readonly boolean[] | null = null,
): Difference | null {
  const nearly = copy.definition.page === undefined ? null : tolerances(expected.rows);
  const watched = Math.ceil(WATCHED_SECONDS / stepSeconds(copy.definition));
  const length = Math.max(expected.rows.length, came.rows.length);
  let slight = Number.POSITIVE_INFINITY;
  let lasting = 0;
  for (let step = 0; step < length && step - slight <= watched; step++) {
    const [was, is] = [expected.rows[step], came.rows[step]];
    const text =
      was === undefined || is === undefined
        ? endText(expected, came, was === undefined)
        : differenceOf(copy, was, is, nearly);
    if (text === null && was.some((value, i) => !Object.is(value, is[i]))) slight = Math.min(slight, step);
    lasting = text === null ? 0 : lasting + 1;
    // After a slight difference, what comes a step earlier or later is none.
    if (text === null || (slight <= step && lasting < LASTING_STEPS)) continue;
    if (step > 0 || isFixed === null || was === undefined || is === undefined)
      return { step: step - lasting + 1, text };
    const ofFixed = was.map((_, i) => (isFixed[i] ? (nearly?.[i] ?? -1) : Number.POSITIVE_INFINITY));
    const fixed = differenceOf(copy, was, is, ofFixed);
    return fixed === null ? null : { step: 0, text: fixed };
  }
  if (expected.error === came.error || slight < length) return null;
  return { step: length, text: `the game failed: ${came.error ?? expected.error}` };
}

function endText(expected: Play, came: Play, isLonger: boolean): string {
  const { error } = isLonger ? expected : came;
  if (error === null) return "one of the two had ended";
  return `${isLonger ? "only the new copy" : "the game"} failed: ${error}`;
}

/** Per number of a row: what counts as the same. */
function tolerances(rows: readonly number[][]): number[] {
  return (rows[0] ?? []).map((_, i) => {
    const values = rows.map((row) => row[i]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return Math.max(SAME_SPREAD * (high - low), SAME_SHARE * Math.max(Math.abs(low), Math.abs(high)));
  });
}

/** What differs between two rows, in words; null: nothing, or next to nothing. */
function differenceOf(
  copy: DrillCopy,
  was: readonly number[],
  is: readonly number[],
  nearly: readonly number[] | null,
): string | null {
  const at = was.findIndex(
    (value, i) => !Object.is(value, is[i]) && !(Math.abs(value - is[i]) <= (nearly?.[i] ?? -1)),
  );
  if (at < 0) return null;
  if (at === was.length - 1) return is[at] === 1 ? "it is over" : "it goes on";
  if (was.length === 2) return "the agents see something else";
  return `${copy.nameOf(at)} is ${short(is[at])} instead of ${short(was[at])}`;
}

function short(value: number): string {
  return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
}
