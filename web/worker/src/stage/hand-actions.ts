/** A person's actions as a policy's would travel and reach the game: their record plays the same again (rules C5, P6). */

import type { Action } from "attract/contract";
import type { Choice } from "attract/page/play";
import { type ActionSpace, leafLimits, numActionComponents, numChoices } from "attract/spaces";

/** A continuous action as a policy's would reach the game: through the unit space of its box, in 32 bits (rule P6). */
export function throughUnitBox(space: ActionSpace, action: Action): Float32Array {
  const values = typeof action === "number" ? [action] : Array.from(action);
  return Float32Array.from({ length: numActionComponents(space) }, (_, c) => {
    if (numChoices(space, c) !== null) return values[c];
    const [low, high] = leafLimits(space, c);
    return low + ((toUnit(space, values[c], c) + 1) / 2) * (high - low);
  });
}

/**
 * What the agents do in the next step, as it is recorded: [agents * components], zeros for those that do not take part.
 *
 * @param choice in the game's units: one agent's action, or one for each.
 */
export function recordedActions(
  space: ActionSpace,
  numAgents: number,
  choice: Choice,
  active: Uint8Array,
): Float64Array {
  const size = numActionComponents(space);
  const row = new Float64Array(numAgents * size);
  const actions = numAgents === 1 ? [choice as Action] : Array.from(choice as ArrayLike<Action>);
  for (const [agent, action] of actions.entries()) {
    if (active[agent] !== 1) continue;
    const values = typeof action === "number" ? [action] : Array.from(action);
    for (let c = 0; c < size; c++)
      row[agent * size + c] = numChoices(space, c) === null ? toUnit(space, values[c], c) : values[c];
  }
  return row;
}

/** In [-1, 1], as 32 bits have it. */
function toUnit(space: ActionSpace, value: number, c: number): number {
  const [low, high] = leafLimits(space, c);
  return Math.fround(Math.max(-1, Math.min(1, (2 * (value - low)) / (high - low) - 1)));
}
