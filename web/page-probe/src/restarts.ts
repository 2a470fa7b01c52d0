/** Finds functions that restart a game, by calling them during a game and after its end. */

import type { PageWindow } from "attract/page-adapter";
import { gameOf } from "../../sdk/src/page/phaser.ts";
import type { End } from "./ends.ts";
import type { EngineHooks } from "./engines.ts";
import type { ResponsiveInputs } from "./moves.ts";
import { chance, randomly } from "./moves.ts";
import { attempt, isForeign, type Place, type Root, type Value } from "./places.ts";
import type { Reading } from "./readings.ts";
import { NOTED, RESTART_NAMES, RESTART_ORDER } from "./rules.ts";
import {
  BY_ITSELF,
  FIRST_WAIT,
  pressesOf,
  pressKey,
  type StartAction,
  start,
  startActionsOf,
} from "./start-actions.ts";
import { differing, type Input, isSame, NOTHING, type PageToProbe, type Samples, Trial } from "./trial.ts";

const MAX_CANDIDATES = 8;
const MAX_SCENES = 2;
/** Values of an object in which a restart is looked for. */
const MAX_HELD = 40;
const MAX_MOVES = 4;
/** Frames played before the call: early in a game, and late, when it is probably over or far from its start. */
const LATE = 900;
const BEFORE = [20, LATE];
/** Frames played after it. */
const AFTER = 30;
/** Frames within which a game played at random has probably ended. */
const MAX_PLAYED_TICKS = 1_500;
/** Ticks for which an end menu is pressed: some ignore input for a second. */
const AGAIN_TICKS = 96;
const SEEDED = 77;

export interface RestartSearch {
  page: PageToProbe;
  inputs: ResponsiveInputs;
  reading: Reading;
  roots: readonly Root[];
  hooks: EngineHooks | null;
  /** Names of the engine's scenes seen in random play; the game's own scene comes first. */
  scenes: readonly string[];
  placesOf(window: PageWindow): readonly Place[];
  isTimeUp(): boolean;
}

/** A search that knows what is scored in the first moments of a fresh game. */
interface Search extends RestartSearch {
  readonly fresh: number;
}

/** The scenes of random play; the scene before the end comes first. */
export function scenesOf(plays: readonly Samples[], hooks: EngineHooks, end: End | null): string[] {
  const text = hooks.roots[0].text;
  const before: string[] = [];
  const others: string[] = [];
  for (const { places, rows } of plays) {
    const at = places.findIndex((place) => place.text === text);
    const names = at < 0 ? [] : rows.map((row) => row[at]).filter((name) => typeof name === "string");
    const isOver = (name: string): boolean => end?.place.text === text && end.isOver(name);
    names.forEach((name, i) => {
      if (isOver(name)) return;
      others.push(name);
      if (names[i + 1] !== undefined && isOver(names[i + 1])) before.push(name);
    });
  }
  return [...new Set([...before, ...others.reverse()])];
}

export interface Restart {
  /** An expression of `w` that restarts the game. */
  readonly text: string;
  /** Whether it works from the menu, too; else the game is started first. */
  readonly isEnough: boolean;
}

/** What may begin the next game; whether it could be tried in the page. */
type Way = (trial: Trial) => Promise<boolean>;

/** A page at a moment of its game; null: it was not reached. */
type Moment = (search: RestartSearch) => Promise<Trial | null>;

/** A player's action once the game is over. */
interface Again {
  /** Begins the next game; null: none was found. */
  readonly again: StartAction | null;
  /** Begins one that goes on by itself and hears no input: a fault of the page, or another thing than its game. */
  readonly deaf: StartAction | null;
}

const NO_WAY: Again = { again: null, deaf: null };

/**
 * What begins the next game: a call, or a player's action once it is over. Of the two the first that is found.
 *
 * @param isShort whether the page is tested: the player's action is looked for first, of which there are fewer to try, since in a
 *   short time a call is seldom found; and where nothing else begins a game, one that hears no input is played, and judged.
 */
export async function findNext(
  search: RestartSearch,
  isShort: boolean,
): Promise<{ restart: Restart | null; again: StartAction | null }> {
  const early = isShort && !search.isTimeUp() ? await findAgain(search) : NO_WAY;
  const restart = early.again !== null || search.isTimeUp() ? null : await findRestart(search);
  if (isShort) return { restart, again: early.again ?? (restart === null ? early.deaf : null) };
  const late = restart === null && !search.isTimeUp() ? await findAgain(search) : NO_WAY;
  return { restart, again: late.again };
}

/** The call that restarts the game; null: none was found. */
async function findRestart(given: RestartSearch): Promise<Restart | null> {
  const { startAction } = given.inputs;
  const [early, late] = BEFORE.map((ticks) => playedFor(startAction, ticks));
  const search: Search = { ...given, fresh: await freshScore(given) };
  let isEndReached: boolean | null = null;
  for (const text of await candidates(search)) {
    if (search.isTimeUp()) return null;
    const way = callOf(text, search);
    if (!(await beginsAnew(search, way, early)) || !(await beginsAnew(search, way, late, true))) continue;
    isEndReached ??= await endIsReached(search);
    if (isEndReached && (await playedOn(search, way, toItsEnd, NOTHING)) === null) continue;
    const isEnough = startAction.kind === "none" || (await beginsAnew(search, way, playedFor(BY_ITSELF, 0)));
    return { text, isEnough };
  }
  return null;
}

/** The action by which a player restarts the game once it is over: the start action, or that with what the page offers then. */
async function findAgain(given: RestartSearch): Promise<Again> {
  const { end } = given.reading;
  const { startAction } = given.inputs;
  if (end === null || end.place.text === "false" || end.text.startsWith("fell(")) return NO_WAY;
  const ended = await toItsEnd(given);
  if (ended === null) return NO_WAY;
  const found = startActionsOf(ended.window, given.page, ended.written).filter(
    ({ kind, ticks }) => kind !== "none" && ticks === FIRST_WAIT,
  );
  ended.close();
  const search: Search = { ...given, fresh: await freshScore(given) };
  const isBegunByItself = startAction.kind === "none";
  let deaf: StartAction | null = null;
  for (const candidate of [...(isBegunByItself ? [] : [startAction]), ...found]) {
    if (search.isTimeUp()) return { again: null, deaf };
    const again = withPress(startAction, candidate);
    if (again === startAction && candidate !== startAction) continue;
    const goesOn = (trial: Trial): boolean => !isEnded(search, trial.window);
    const way = pressing({ ...again, ticks: AGAIN_TICKS }, goesOn);
    const { idle, isHeard } = await playedAnew(search, way, toItsEnd);
    if (!isHeard && (deaf !== null || idle === null || !movesIn(search, idle))) continue;
    // The adapter's menu presses all of it, also in a fresh page.
    const isEnough = again === startAction || isBegunByItself;
    if (!isEnough && !(await beginsAnew(search, pressing(again), playedFor(BY_ITSELF, 0)))) continue;
    if (isHeard) return { again, deaf: null };
    deaf = again;
  }
  return { again: null, deaf };
}

/** Whether something that is observed moves without input. */
function movesIn({ reading: { seen } }: Search, { places, rows }: Samples): boolean {
  const texts = new Set(seen.map(({ place }) => place.text));
  return places.some(({ text }, at) => texts.has(text) && rows.some((row) => !isSame(row[at], rows[0][at])));
}

/** The start action with one press more, unless it has that already. */
function withPress(startAction: StartAction, candidate: StartAction): StartAction {
  if (startAction.kind === "none") return candidate;
  const known = pressesOf(startAction);
  const added = pressesOf(candidate).filter(
    (press) => !known.some((own) => pressKey(own) === pressKey(press)),
  );
  return added.length === 0
    ? startAction
    : { ...startAction, further: [...(startAction.further ?? []), ...added] };
}

/** @param isBegun ends the presses. */
function pressing(startAction: StartAction, isBegun?: (trial: Trial) => boolean): Way {
  return async (trial) => {
    await start(trial, startAction, isBegun && (() => isBegun(trial)));
    return true;
  };
}

/** A call as an adapter makes it. */
function callOf(text: string, search: RestartSearch): Way {
  return async (trial) => {
    const { errors } = trial.seen;
    if (call(text, trial.window, search) === undefined) return false;
    await trial.play(() => NOTHING, 1, []);
    return trial.seen.errors.length === errors.length;
  };
}

/**
 * Whether the game plays on from its beginning afterwards: a move does something.
 *
 * @param isLate whether the game is far from its start, so that it must play otherwise than without the way.
 */
async function beginsAnew(search: Search, way: Way, moment: Moment, isLate = false): Promise<boolean> {
  return (await playedAnew(search, way, moment, isLate)).isHeard;
}

/** As `beginsAnew`, with the play without input; null: the game did not play on. */
async function playedAnew(
  search: Search,
  way: Way,
  moment: Moment,
  isLate = false,
): Promise<{ idle: Samples | null; isHeard: boolean }> {
  const idle = await playedOn(search, way, moment, NOTHING);
  if (idle === null) return { idle, isHeard: false };
  if (isLate) {
    const without = await playedOn(search, callOf("", search), moment, NOTHING);
    if (without !== null && !isOtherwise(search, idle, without)) return { idle: null, isHeard: false };
  }
  // The first may be the key of a menu, and another stand at a wall.
  for (const { input } of search.inputs.moves.slice(0, MAX_MOVES)) {
    const pressed = await playedOn(search, way, moment, input);
    if (pressed !== null && hasChanged(pressed, idle)) return { idle, isHeard: true };
  }
  return { idle, isHeard: false };
}

/** The play from the moment on; null: it was not reached, or the game was over, or not back at its start. */
async function playedOn(search: Search, way: Way, moment: Moment, input: Input): Promise<Samples | null> {
  const trial = await moment(search);
  if (trial === null) return null;
  try {
    if (trial.isReloadDue) return null;
    trial.forget();
    if (!(await way(trial))) return null;
    // As in training: the first frame may still show the previous game.
    await trial.play(() => NOTHING, 1, []);
    // At once: a move at the wrong moment may end it soon.
    if (trial.isReloadDue || isEnded(search, trial.window)) return null;
    if (!isScoreBack(search, trial.window)) return null;
    const script = (tick: number): Input => (tick >= 4 && tick < 24 ? input : NOTHING);
    const samples = await trial.play(script, AFTER, search.placesOf(trial.window), 3);
    return isScoreBack(search, trial.window) ? samples : null;
  } finally {
    trial.close();
  }
}

async function endIsReached(search: RestartSearch): Promise<boolean> {
  const trial = await toItsEnd(search);
  trial?.close();
  return trial !== null;
}

/** A game that was played at random for so many frames. */
function playedFor(startAction: StartAction, ticks: number): Moment {
  return async ({ page, inputs }) => {
    const trial = await Trial.open(page, SEEDED);
    await start(trial, startAction);
    await trial.play(randomly(inputs.moves, chance(5)), ticks, []);
    return trial;
  };
}

/** Calls a restart expression as an adapter does. Undefined if that throws. */
function call(text: string, window: PageWindow, { roots }: RestartSearch): unknown {
  const variables = roots.filter((root) => root.text.startsWith("w.lookInside().")).map(({ name }) => name);
  if (text.includes("w.lookInside()")) window.lookInside = window.eval(`() => ({ ${variables.join(", ")} })`);
  return attempt(() => [window.Function("w", "game", text)(window, gameOf)]);
}

/** A game that was played at random until it was over; null where that took too long. */
async function toItsEnd(search: RestartSearch): Promise<Trial | null> {
  const trial = await Trial.open(search.page, SEEDED);
  await start(trial, search.inputs.startAction);
  const script = randomly(search.inputs.moves, chance(5));
  for (let tick = 0; tick < MAX_PLAYED_TICKS && !trial.isReloadDue; tick++) {
    if (isEnded(search, trial.window)) return trial;
    await trial.play(script, 1, []);
  }
  trial.close();
  return null;
}

function isEnded({ reading: { end } }: RestartSearch, window: PageWindow): boolean {
  return end?.isOver(attempt(() => end.place.read(window))) ?? false;
}

/** Whether a press changed anything beside flags of the press itself. */
function hasChanged(pressed: Samples, idle: Samples): boolean {
  return [...differing(pressed, idle)].some(
    ({ kind, text: where }) => kind !== "truth" && !NOTED.test(where),
  );
}

/** Whether anything in the observation differs between the two plays. */
function isOtherwise({ reading: { seen } }: RestartSearch, first: Samples, second: Samples): boolean {
  const seriesOf = ({ places, rows }: Samples, text: string): Value[] => {
    const at = places.findIndex((place) => place.text === text);
    return at < 0 ? [] : rows.map((row) => row[at]);
  };
  return (
    seen.length === 0 ||
    seen.some(({ place: { text } }) => {
      const [one, other] = [seriesOf(first, text), seriesOf(second, text)];
      return one.length !== other.length || one.some((value, i) => !isSame(value, other[i]));
    })
  );
}

/** Whether the score is about what a fresh game has. */
function isScoreBack({ reading: { score }, fresh }: Search, window: PageWindow): boolean {
  return score === null || Number(score.place.read(window) ?? 0) <= fresh + 1 + Math.abs(fresh) / 2;
}

/** What is scored in the first moments of a fresh game; 0 without a score. */
async function freshScore({ page, inputs, reading: { score } }: RestartSearch): Promise<number> {
  const trial = await Trial.open(page, SEEDED);
  try {
    await start(trial, inputs.startAction);
    await trial.play(() => NOTHING, AFTER, []);
    return Number(score?.place.read(trial.window) ?? 0);
  } finally {
    trial.close();
  }
}

async function candidates({
  page,
  inputs: { startAction },
  roots,
  hooks,
  scenes,
}: RestartSearch): Promise<string[]> {
  const trial = await Trial.open(page);
  try {
    await start(trial, startAction);
    const { window } = trial;
    const scene = attempt(() => hooks?.roots[0].read(window));
    const found: string[] = [];
    for (const root of roots) {
      const value = attempt(() => root.read(window)) as PageWindow;
      if (isOwn(window, value) && RESTART_NAMES.test(root.name) && value.length === 0)
        found.push(`${root.text}()`);
      // Held by a class, or by an object of the game's: one step further.
      const isHolder = (typeof value === "object" && value !== null) || typeof value === "function";
      const keys = isHolder ? (attempt(() => Object.keys(value)) ?? []).slice(0, MAX_HELD) : [];
      const holders = keys.map((key) => [`${root.text}.${key}`, attempt(() => value[key])] as const);
      for (const [text, holder] of [[root.text, value] as const, ...holders])
        found.push(...methodsOf(window, holder).map((name) => `${text}.${name}()`));
    }
    if (isSketch(window)) found.push("(w.setup(), w.loop())");
    const rank = (text: string): number =>
      RESTART_ORDER.findIndex((word) => new RegExp(word, "i").test(text));
    const sorted = [...new Set(found)].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_CANDIDATES);
    if (hooks === null) return sorted;
    const known = [...scenes, ...(typeof scene === "string" ? [scene] : [])];
    return [...new Set(known)].slice(0, MAX_SCENES).map(hooks.begin).concat(sorted);
  } finally {
    trial.close();
  }
}

/** Whether p5 runs the page's own `setup`, which makes all of a game anew in many sketches; `noLoop` may have stopped it. */
function isSketch({ p5, setup, loop }: PageWindow): boolean {
  return [p5, setup, loop].every((one) => typeof one === "function");
}

function methodsOf(window: PageWindow, value: unknown): string[] {
  // Canvas contexts, forms and sounds have such methods, too, but they restart no game.
  if (typeof value !== "object" || value === null || isForeign(window, value)) return [];
  const names: string[] = [];
  for (let holder: object | null = value; holder !== null && holder !== window.Object.prototype; ) {
    const properties: PropertyDescriptorMap =
      attempt(() => Object.getOwnPropertyDescriptors(holder as object)) ?? {};
    for (const [name, { value: method }] of Object.entries(properties))
      if (isOwn(window, method) && method.length === 0 && RESTART_NAMES.test(name)) names.push(name);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return names;
}

/** Whether it is a function of the page, not of the browser. A bound function hides its source and counts as the page's. */
function isOwn(window: PageWindow, value: unknown): value is (...given: unknown[]) => unknown {
  if (typeof value !== "function") return false;
  const text = attempt(() => String(window.Function.prototype.toString.call(value))) ?? "";
  return value.name.startsWith("bound ") || !/\{\s*\[native code\]\s*\}\s*$/.test(text);
}

/** The restart action as a noun phrase: what it presses last. */
export function againText(again: StartAction): string {
  const press = pressesOf(again).at(-1);
  if (press?.kind === "key") return `the key ${press.code}, once it is over`;
  if (press?.kind === "spot") return `a click on ${press.name}, once it is over`;
  return press?.kind === "element"
    ? `a click on ${press.text || press.selector}, once it is over`
    : "a click, once it is over";
}
