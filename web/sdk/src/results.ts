/** What a game's methods return, read and checked; every refusal names method and field, what came and what is right. */

import { MAX_AMOUNT } from "./bounds.gen.ts";
import type { GameDefinition, RewardRange, StartFields } from "./contract.ts";
import { GameError, show } from "./errors.ts";

/** The flag as a boolean; left out means false. Raises GameError (`flag`). */
export function readFlag(field: string, value: unknown): boolean {
  if (value === undefined || value === false) return false;
  if (value === true) return true;
  throw new GameError(
    "flag",
    "update",
    field,
    `update() returned ${field} = ${show(value)}, expected true or false`,
  );
}

export function rewardError(field: string, value: unknown): GameError {
  if (typeof value === "number") {
    return new GameError(
      "nan",
      "update",
      field,
      `update() returned ${field} = ${value}, expected a finite number`,
    );
  }
  const kind = value === undefined ? "missing" : "shape";
  const hint = value === undefined ? " (or declare rewardTerms and return them)" : "";
  return new GameError(
    kind,
    "update",
    field,
    `update() returned ${field} = ${show(value)}, expected a number${hint}`,
  );
}

/** Raises GameError (`shape`) for a reward that the game does not declare. */
export function checkReward(field: string, reward: number, range: RewardRange | null): void {
  if (range === null || (reward >= range.low && reward <= range.high)) return;
  const text = `update() returned ${field} = ${reward}, but defineGame() declares reward: ${range.low} to ${range.high}`;
  throw new GameError("shape", "update", field, text);
}

/** An amount of an episode has grown beyond what travels to the trainer; `field` is what `update` returned last for it. */
export function amountError(field: string, value: number, what: string, amount: number): GameError {
  const text =
    `update() returned ${field} = ${value}, which makes the episode's ${what} ${amount}; ` +
    `expected at most ${MAX_AMOUNT} either way`;
  return new GameError("shape", "update", field, text);
}

/** The observation in what `start` returned, whether bare or inside an object; undefined when `out` was filled. */
export function bareObservation(result: StartFields | undefined, definition: GameDefinition): unknown {
  if (result === undefined || result === null) return undefined;
  if (typeof result !== "object") {
    throw new GameError(
      "shape",
      "start",
      "observation",
      `start() returned ${show(result)}, expected an observation`,
    );
  }
  const isBare =
    typeof (result as ArrayLike<number>).length === "number" ||
    (definition.observation.kind === "dict" && !("observation" in result) && !("active" in result));
  return isBare ? result : result.observation;
}

export function isPromise(value: unknown): value is Promise<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as PromiseLike<unknown>).then === "function"
  );
}

export function promiseError(method: "start" | "update"): GameError {
  const text = `${method}() returned a promise; a game is stepped thousands of times a second and cannot wait: remove async`;
  return new GameError("promise", method, "", text);
}

export function noResultError(result: unknown): GameError {
  const text = `update() returned ${show(result)}, expected an object such as { reward: 1, terminated: false }`;
  return new GameError("missing", "update", "", text);
}

export function checkMask(method: "start" | "update", mask: Uint8Array, groups: readonly number[]): void {
  let i = 0;
  for (let g = 0; g < groups.length; g++) {
    let allowed = 0;
    for (const end = i + groups[g]; i < end; i++) {
      if (mask[i] > 1) {
        const text = `${method}() left actionMask[${i}] = ${mask[i]}, expected 0 or 1`;
        throw new GameError("mask", method, `actionMask[${i}]`, text);
      }
      allowed += mask[i];
    }
    if (allowed === 0) {
      throw new GameError(
        "mask",
        method,
        "actionMask",
        `${method}() allows no action at all, expected at least one 1 in actionMask`,
      );
    }
  }
}
