/** Finds functions that restart a game, by calling them during a game and after its end. */

import type { PageWindow } from "attract/page-adapter";
import { gameOf } from "../../sdk/src/page/phaser.ts";
import type { End } from "./ends.ts";
import type { EngineHooks } from "./engines.ts";
import type { ResponsiveInputs } from "./inputs.ts";
import { attempt, isForeign, NOTED, type Place, type Root, type Value } from "./places.ts";
import { chance, randomly } from "./playing.ts";
import type { Reading } from "./readings.ts";
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

const NAMES =
  /^(?:re_?start(?:_?game)?|re_?set(?:_?game)?|new_?game|start_?(?:new_?)?game|play_?again|retry|begin|start|play|init_?game|setup_?game)$/i;
const ORDER = ["new_?game", "restart", "again|retry", "reset", "begin", "start", ""];
const MAX_CANDIDATES = 8;
const MAX_SCENES = 2;
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

/** The call that restarts the game; null: none was found. */
export async function findRestart(search: RestartSearch): Promise<Restart | null> {
  const fresh = await freshScore(search);
  for (const text of await candidates(search)) {
    if (search.isTimeUp()) return null;
    const own = search.inputs.startAction;
    if (!(await works(text, search, own, BEFORE, fresh)) || (await staysOver(text, search, fresh))) continue;
    return { text, isEnough: own.kind === "none" || (await works(text, search, BY_ITSELF, [0], fresh)) };
  }
  return null;
}

/**
 * The action by which a player restarts the game once it is over: the start action, or one that the page offers then. Null: none
 * was found, or no end was reached.
 */
export async function findAgain(search: RestartSearch): Promise<StartAction | null> {
  const { end } = search.reading;
  const { startAction } = search.inputs;
  if (end === null || end.place.text === "false" || end.text.startsWith("fell(")) return null;
  const ended = await toItsEnd(search);
  if (ended === null) return null;
  const written = ended.written;
  const found = startActionsOf(ended.window, search.page.size, written).filter(
    ({ kind, ticks }) => kind !== "none" && ticks === FIRST_WAIT,
  );
  ended.close();
  const own = startAction.kind === "none" ? [] : [startAction];
  const fresh = await freshScore(search);
  for (const candidate of [...own, ...found]) {
    if (search.isTimeUp()) return null;
    if (!isPressable(candidate, startAction)) continue;
    const again = { ...candidate, ticks: AGAIN_TICKS };
    const afterwards = async (input: Input): Promise<Samples | null> => {
      const trial = await toItsEnd(search);
      if (trial === null) return null;
      try {
        await start(trial, again, () => !isEnded(search, trial.window));
        // As in training: the first frame may still show the previous game.
        await trial.play(() => NOTHING, 1, []);
        if (trial.isReloadDue || isEnded(search, trial.window)) return null;
        if (!isScoreBack(search, trial.window, fresh)) return null;
        const script = (tick: number): Input => (tick >= 4 && tick < 24 ? input : NOTHING);
        return await trial.play(script, AFTER, search.placesOf(trial.window), 3);
      } finally {
        trial.close();
      }
    };
    const idle = await afterwards(NOTHING);
    if (idle === null) continue;
    for (const { input } of search.inputs.moves.slice(0, MAX_MOVES)) {
      const pressed = await afterwards(input);
      if (pressed !== null && hasChanged(pressed, idle)) return { ...candidate, ticks: FIRST_WAIT };
    }
  }
  return null;
}

/** Whether the call does not restart a game that is over: it is still over, or keeps its score. */
async function staysOver(text: string, search: RestartSearch, fresh: number): Promise<boolean> {
  const trial = await toItsEnd(search);
  if (trial === null) return false;
  try {
    call(text, trial.window, search);
    await trial.play(() => NOTHING, 2, []);
    return isEnded(search, trial.window) || !isScoreBack(search, trial.window, fresh);
  } finally {
    trial.close();
  }
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
function isScoreBack({ reading: { score } }: RestartSearch, window: PageWindow, fresh: number): boolean {
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
      if (isOwn(window, value) && NAMES.test(root.name) && value.length === 0) found.push(`${root.text}()`);
      found.push(...methodsOf(window, value).map((name) => `${root.text}.${name}()`));
      // Held by a class, or by an object of the game's: one step further.
      if ((typeof value !== "object" && typeof value !== "function") || value === null) continue;
      for (const key of (attempt(() => Object.keys(value)) ?? []).slice(0, 40))
        found.push(
          ...methodsOf(
            window,
            attempt(() => value[key]),
          ).map((name) => `${root.text}.${key}.${name}()`),
        );
    }
    if (isSketch(window)) found.push("(w.setup(), w.loop())");
    const rank = (text: string): number => ORDER.findIndex((word) => new RegExp(word, "i").test(text));
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
      if (isOwn(window, method) && method.length === 0 && NAMES.test(name)) names.push(name);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return names;
}

/** Whether it is a function of the page's, and none of the browser's; what is bound to an object says nothing of itself. */
function isOwn(window: PageWindow, value: unknown): value is (...given: unknown[]) => unknown {
  if (typeof value !== "function") return false;
  const text = attempt(() => String(window.Function.prototype.toString.call(value))) ?? "";
  return value.name.startsWith("bound ") || !/\{\s*\[native code\]\s*\}\s*$/.test(text);
}

/** Whether the game plays on from its beginning after the call, so many frames after `startAction`: a move does something. */
async function works(
  text: string,
  search: RestartSearch,
  startAction: StartAction,
  before: readonly number[],
  fresh: number,
): Promise<boolean> {
  for (const ticks of before) {
    const call = { text, startAction, ticks, fresh };
    const idle = await afterwards(search, call, NOTHING);
    if (idle === null) return false;
    // Without the call the play is the same and not over: the call restarted nothing.
    if (ticks === LATE) {
      const without = await afterwards(search, { ...call, text: "" }, NOTHING);
      if (without !== null && !isOtherwise(search, idle, without)) return false;
    }
    let hasEffect = false;
    // The first may be the key of a menu, and another stand at a wall.
    for (const { input } of search.inputs.moves.slice(0, MAX_MOVES)) {
      const pressed = await afterwards(search, call, input);
      if (pressed === null) return false;
      hasEffect = hasChanged(pressed, idle);
      if (hasEffect) break;
    }
    if (!hasEffect) return false;
  }
  return true;
}

/** The play after the call; null if the game was over, or not back at its start. */
async function afterwards(
  search: RestartSearch,
  {
    text,
    startAction,
    ticks,
    fresh,
  }: { text: string; startAction: StartAction; ticks: number; fresh: number },
  input: Input,
): Promise<Samples | null> {
  const { page, inputs, placesOf } = search;
  const { end } = search.reading;
  const trial = await Trial.open(page, SEEDED);
  try {
    await start(trial, startAction);
    const { window } = trial;
    await trial.play(randomly(inputs.moves, chance(5)), ticks, []);
    const { errors } = trial.seen;
    if (call(text, window, search) === undefined) return null;
    await trial.play(() => NOTHING, 2, []);
    if (trial.isReloadDue || trial.seen.errors.length > errors.length) return null;
    // At once: a move at the wrong moment may end it soon.
    if (end?.isOver(end.place.read(window))) return null;
    const script = (tick: number): Input => (tick >= 4 && tick < 24 ? input : NOTHING);
    const samples = await trial.play(script, AFTER, placesOf(window), 3);
    return isScoreBack(search, window, fresh) ? samples : null;
  } finally {
    trial.close();
  }
}

/** Whether the adapter's menu can press it: one kind of thing, or those of several menus. */
function isPressable(candidate: StartAction, startAction: StartAction): boolean {
  const [first, ...others] = pressesOf(startAction);
  if (first === undefined || others.length > 0) return true;
  const isNamed = first.kind === "element" || first.kind === "spot";
  return isNamed
    ? first.kind === candidate.kind
    : pressKey(first) === pressesOf(candidate).map(pressKey).join();
}

/** The restart action as a noun phrase. */
export function againText(startAction: StartAction): string {
  if (startAction.kind === "key") return `the key ${startAction.code}, once it is over`;
  if (startAction.kind === "spot") return `a click on ${startAction.name}, once it is over`;
  return startAction.kind === "element"
    ? `a click on ${startAction.text || startAction.selector}, once it is over`
    : "a click, once it is over";
}
