/** A person's actions as a policy's would travel and reach the game: their record plays the same again (rules C5, P6). */

import type { GameDescription } from "@attract/schema";
import type { Action } from "attract/contract";
import type { Choice } from "attract/page/play";
import { type ActionSpace, boxLimit, boxSize, numActionComponents } from "attract/spaces";

type Box = Extract<GameDescription["action"], { kind: "box" }>;

/** A continuous action as a policy's would reach the game: through the unit space of its box, in 32 bits (rule P6). */
export function throughUnitBox(space: Box, action: Action): Float32Array {
  const values = typeof action === "number" ? [action] : Array.from(action);
  return Float32Array.from({ length: boxSize(space) }, (_, c) => {
    const low = boxLimit(space.low, c, -1);
    return low + ((toUnit(space, values[c], c) + 1) / 2) * (boxLimit(space.high, c, 1) - low);
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
      row[agent * size + c] = space.kind === "box" ? toUnit(space, values[c], c) : values[c];
  }
  return row;
}

/** In [-1, 1], as 32 bits have it. */
function toUnit(space: Box, value: number, c: number): number {
  const low = boxLimit(space.low, c, -1);
  const range = boxLimit(space.high, c, 1) - low;
  return Math.fround(Math.max(-1, Math.min(1, (2 * (value - low)) / range - 1)));
}
