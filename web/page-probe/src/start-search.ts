/** Finds how a page starts: tries what its menus ask for, until the game moves and heeds keys. */

import { InputTests } from "./inputs.ts";
import { ownMoves, type ResponsiveInputs } from "./moves.ts";
import type { Place } from "./places.ts";
import {
  FIRST_WAIT,
  isWaiting,
  LONG_WAIT,
  type Press,
  pressesOf,
  pressKey,
  type StartAction,
  startActionsAfter,
} from "./start-actions.ts";
import { differing, type PageToProbe, type Samples, type Trial } from "./trial.ts";

/** Weight of a late move: two late moves and the start key count less than both moves after the start. */
const LATE_SHARE = 0.4;

/**
 * Tries the start actions one by one; returns the one after which most moves have an effect.
 *
 * @param placesIn all that is there in a trial now.
 * @param isTimeUp given whether any move is known by then.
 */
export async function findInputs(
  page: PageToProbe,
  startActions: readonly StartAction[],
  placesAt: (startAction: StartAction) => Promise<readonly Place[]>,
  placesIn: (trial: Trial) => readonly Place[],
  isTimeUp: (hasMoves: boolean) => boolean,
): Promise<ResponsiveInputs> {
  const queue = [...startActions];
  const offered = new Set(startActions.flatMap(pressesOf).map(pressKey));
  let best = null as ResponsiveInputs | null;
  const tried: ResponsiveInputs[] = [];
  let unstarted: Samples | null = null;
  /** Texts that prompt for a start while nothing is pressed. */
  let prompts: readonly string[] = [];
  /** Start actions after which the page still prompts, or counts down. */
  let waiting: InputTests[] = [];
  let hasChanged = false;
  const tryOut = async (tests: InputTests): Promise<void> => {
    const inputs = await tests.run(isTimeUp);
    tried.push(inputs);
    if (best === null || worth(inputs) > worth(best)) best = inputs;
    if (inputs.startAction.kind === "none" || hasBegun(best)) return;
    // Another menu: what it asks for is tried at once.
    const isNew = (press: Press): boolean =>
      !["element", "spot"].includes(press.kind) || !offered.has(pressKey(press));
    const presses = (await tests.presses(prompts)).filter(isNew);
    for (const press of presses) offered.add(pressKey(press));
    queue.unshift(...startActionsAfter(inputs.startAction, presses));
  };
  const tryWaiting = async (): Promise<void> => {
    for (const tests of waiting)
      if (best === null || (best.moves.length === 0 && !isTimeUp(false))) await tryOut(tests);
    waiting = [];
  };
  const known = new Set<string>();
  for (let startAction = queue.shift(); startAction !== undefined; startAction = queue.shift()) {
    if (best !== null && isTimeUp(best.moves.length > 0)) break;
    // The same menus may be reached after waits of different lengths.
    const key = JSON.stringify(startAction);
    if (known.has(key)) continue;
    known.add(key);
    if (startAction.ticks > FIRST_WAIT && prompts.length > 0 && !hasChanged) {
      // The prompt stays whatever is pressed: that is no menu.
      prompts = [];
      await tryWaiting();
    }
    // A menu reacts to keys as well: what stands still may move once a countdown is over.
    if (best !== null && hasBegun(best)) {
      if (startAction.ticks === LONG_WAIT) break;
      if (startAction.further !== undefined) continue;
    }
    const places = await placesAt(startAction);
    const tests = new InputTests(page, startAction, places, placesIn);
    const idle = await tests.idle();
    unstarted ??= idle;
    if (startAction.kind === "none") prompts = tests.prompts;
    hasChanged ||= !tests.prompts.some((text) => prompts.includes(text));
    if (isWaiting(tests.prompts, prompts)) {
      waiting.push(tests);
      continue;
    }
    // An action without effect has not started the game: all is as it would be by then without it.
    const waited = new InputTests(page, { kind: "none", ticks: startAction.ticks }, places, placesIn);
    if (
      startAction.kind !== "none" &&
      prompts.length === 0 &&
      places.length === unstarted.places.length &&
      differing(await waited.idle(), idle).size === 0 &&
      // A start button may start a game whose first step comes a second later.
      !((startAction.kind === "element" || startAction.kind === "spot") && (await tests.movesLater()))
    )
      continue;
    await tryOut(tests);
  }
  await tryWaiting();
  tried.sort((a, b) => worth(b) - worth(a));
  return { ...(best as unknown as ResponsiveInputs), tried };
}

/** Rates a start action. A game that moves has begun; what moves and reacts to no key is an intro, or decoration. */
function worth(inputs: ResponsiveInputs): number {
  const { startAction, moves, changed } = inputs;
  const own = ownMoves(startAction, moves);
  // A late move may need the start action before it.
  const count = own.reduce((sum, { isLate }) => sum + (isLate ? LATE_SHARE : 1), 0);
  return count + (hasBegun(inputs) ? 4 : 0) + Math.min(changed.size, 50) / 100;
}

/** A game that moves has begun, where keys other than its menu's have an effect. */
function hasBegun({ startAction, moves, isMoving }: ResponsiveInputs): boolean {
  return isMoving && ownMoves(startAction, moves).length > 0;
}
