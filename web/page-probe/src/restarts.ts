/** Functions by which a page begins anew: called in a game that lives, and after its end, they are seen to work or not. */

import type { PageWindow } from "attract/page-adapter";
import type { EngineHooks } from "./engines.ts";
import type { Heeded } from "./inputs.ts";
import { attempt, isForeign, NOTED, type Place, type Root } from "./places.ts";
import { chance, randomly } from "./playing.ts";
import type { Reading } from "./readings.ts";
import { BY_ITSELF, type Starter, start } from "./starters.ts";
import { differing, type Input, NOTHING, type PageToProbe, type Samples, Trial } from "./trial.ts";

const NAMES =
  /^(?:re_?start(?:_?game)?|re_?set(?:_?game)?|new_?game|start_?(?:new_?)?game|play_?again|retry|begin|start|play|init_?game|setup_?game)$/i;
const ORDER = ["new_?game", "restart", "again|retry", "reset", "begin", "start", ""];
const MOST_TRIED = 8;
/** Frames played before: in one game nothing has ended yet, in the other it most likely has. */
const BEFORE = [20, 900];
/** Frames played after it. */
const AFTER = 30;
const SEEDED = 77;

export interface RestartSearch {
  page: PageToProbe;
  heeded: Heeded;
  reading: Reading;
  roots: readonly Root[];
  hooks: EngineHooks | null;
  placesOf(window: PageWindow): readonly Place[];
  isTimeUp(): boolean;
}

export interface Restart {
  /** An expression of `w` that begins anew. */
  readonly text: string;
  /** Whether it does so from the menu too; else the game is begun first. */
  readonly isEnough: boolean;
}

/** How the page begins anew; null: no way was found. */
export async function findRestart(search: RestartSearch): Promise<Restart | null> {
  const fresh = await freshScore(search);
  for (const text of await candidates(search)) {
    if (search.isTimeUp()) return null;
    const own = search.heeded.starter;
    if (!(await works(text, search, own, BEFORE, fresh))) continue;
    return { text, isEnough: own.kind === "none" || (await works(text, search, BY_ITSELF, [0], fresh)) };
  }
  return null;
}

/** What is scored in the first moments of a fresh game; 0 without a score. */
async function freshScore({ page, heeded, reading: { score } }: RestartSearch): Promise<number> {
  const trial = await Trial.open(page, SEEDED);
  try {
    await start(trial, heeded.starter);
    await trial.play(() => NOTHING, AFTER, []);
    return Number(score?.place.read(trial.window) ?? 0);
  } finally {
    trial.close();
  }
}

async function candidates({ page, heeded: { starter }, roots, hooks }: RestartSearch): Promise<string[]> {
  const trial = await Trial.open(page);
  try {
    await start(trial, starter);
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
    const rank = (text: string): number => ORDER.findIndex((word) => new RegExp(word, "i").test(text));
    const sorted = [...new Set(found)].sort((a, b) => rank(a) - rank(b)).slice(0, MOST_TRIED);
    return typeof scene === "string" && hooks !== null ? [hooks.begin(scene), ...sorted] : sorted;
  } finally {
    trial.close();
  }
}

function methodsOf(window: PageWindow, value: unknown): string[] {
  // A canvas's context, a form and a sound begin anew as well, and no game with them.
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

/** Whether the game plays on from its beginning after the call, so many frames after `starter`: a move does something. */
async function works(
  text: string,
  search: RestartSearch,
  starter: Starter,
  before: readonly number[],
  fresh: number,
): Promise<boolean> {
  const [move] = search.heeded.moves;
  if (move === undefined) return false;
  for (const ticks of before) {
    const call = { text, starter, ticks, fresh };
    const pressed = await afterwards(search, call, move.input);
    const idle = pressed === null ? null : await afterwards(search, call, NOTHING);
    if (pressed === null || idle === null) return false;
    const responding = [...differing(pressed, idle)].filter(
      ({ kind, text: where }) => kind !== "truth" && !NOTED.test(where),
    );
    if (responding.length === 0) return false;
  }
  return true;
}

/** What came after the call; null where the game was over, or not back at its beginning. */
async function afterwards(
  { page, heeded, reading: { end, score }, roots, placesOf }: RestartSearch,
  { text, starter, ticks, fresh }: { text: string; starter: Starter; ticks: number; fresh: number },
  input: Input,
): Promise<Samples | null> {
  const trial = await Trial.open(page, SEEDED);
  try {
    await start(trial, starter);
    const { window } = trial;
    await trial.play(randomly(heeded.moves, chance(5)), ticks, []);
    const variables = roots.filter((root) => root.text.startsWith("w.lookInside().")).map(({ name }) => name);
    if (text.includes("w.lookInside()"))
      window.lookInside = window.eval(`() => ({ ${variables.join(", ")} })`);
    const { errors } = trial.seen;
    if (attempt(() => [window.Function("w", text)(window)]) === undefined) return null;
    await trial.play(() => NOTHING, 2, []);
    if (trial.isSpent || trial.seen.errors.length > errors.length) return null;
    // At once: a move at the wrong moment may end it soon.
    if (end?.isOver(end.place.read(window))) return null;
    const script = (tick: number): Input => (tick >= 4 && tick < 24 ? input : NOTHING);
    const samples = await trial.play(script, AFTER, placesOf(window), 3);
    const isBack = score === null || Number(score.place.read(window) ?? 0) <= fresh + 1 + Math.abs(fresh) / 2;
    return isBack ? samples : null;
  } finally {
    trial.close();
  }
}
