/** Actions that a player holds for a whole episode: numbers as they travel, those of a box in [-1, 1] (rule P6). */

import type { Action, GameDefinition } from "attract/contract";
import { resolveAction } from "attract/define-game";
import { type ActionSpace, isScalarAction, numActionComponents, numChoices } from "attract/spaces";
import { GameActions } from "../../worker/src/policy/game-actions.ts";
import { createSampler } from "../../worker/src/policy/sampler.ts";
import { recordedActions } from "../../worker/src/stage/hand-actions.ts";

/** More are thinned out evenly. `MAX_HELD` of `attract/playtest/players.py`. */
export const MAX_HELD = 24;

const ACTIVE = Uint8Array.of(1);

/**
 * Each choice of a discrete space; of several choices or switches each one other than 0 beside zeros; of a box each component at
 * its low and its high end beside zeros.
 *
 * Returns: 1 to 24 actions, each of one number per component.
 */
export function heldActions(space: ActionSpace): number[][] {
  const rest = restAction(space);
  const isScalar = isScalarAction(space);
  const held: number[][] = [];
  for (let c = 0; c < rest.length; c++) {
    const choices = numChoices(space, c);
    const first = isScalar ? 0 : 1;
    const values = choices === null ? [-1, 1] : Array.from({ length: choices - first }, (_, i) => i + first);
    for (const value of values) held.push(rest.with(c, value));
  }
  if (held.length === 0) return [rest];
  if (held.length <= MAX_HELD) return held;
  return Array.from({ length: MAX_HELD }, (_, i) => held[Math.floor((i * held.length) / MAX_HELD)]);
}

/** The same as a game takes them, for one agent. */
export function heldMoves({ action }: Pick<GameDefinition, "action">): Action[] {
  const sampler = createSampler(action, 1);
  const moves = new GameActions(sampler, 1);
  return heldActions(action).map((numbers) => {
    sampler.give(numbers, 0, 0);
    const move = moves.of(0) as Action;
    return typeof move === "number" ? move : Array.from(move);
  });
}

/** The action of an agent that does nothing: the game's own idle action, else the first choice and zeros. */
export function idleAction({ action, idle }: GameDefinition): number[] {
  return idle === undefined ? restAction(action) : asRecorded(action, resolveAction("idle", action, idle));
}

/** The action of a label, or of a person's key, as it travels. Raises ConfigurationError where there is no such. */
export function namedAction({ action, keys = {}, idle }: GameDefinition, name: string): number[] {
  return asRecorded(action, resolveAction("press", action, keys[name] ?? name, idle));
}

function restAction(space: ActionSpace): number[] {
  return asRecorded(space, new Array<number>(numActionComponents(space)).fill(0));
}

function asRecorded(space: ActionSpace, action: number | number[]): number[] {
  return [...recordedActions(space, 1, action as unknown as Action, ACTIVE)];
}
