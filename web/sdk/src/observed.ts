/** Everything that agents see of a game, as one row of numbers with a name for each. */

import type { BoxView, GameDefinition } from "./contract.ts";
import type { Instance } from "./instance.ts";
import { observationEntries } from "./observation.ts";

/** The parts of one agent's observation in the order of the wire. */
export function observationParts(definition: GameDefinition, instance: Instance, agent: number): BoxView[] {
  const view = instance.views[agent];
  return observationEntries(definition.observation).map(({ name }) =>
    name === "" ? (view as BoxView) : (view as Record<string, BoxView>)[name],
  );
}

/** `observation[2]`, `observation.goal[0]`, or with several agents `observation[agent].goal[0]`. */
export function observationName(entry: string, index: number, agent: number | null = null): string {
  const label = agent === null ? "observation" : `observation[${agent}]`;
  return entry === "" ? `${label}[${index}]` : `${label}.${entry}[${index}]`;
}

/** Observations, masks, and what the last step brought, of all agents. */
export function observedRow(definition: GameDefinition, instance: Instance): number[] {
  const values: number[] = [];
  for (let agent = 0; agent < instance.numAgents; agent++) {
    for (const part of observationParts(definition, instance, agent))
      for (let i = 0; i < part.length; i++) values.push(part[i]);
    for (const allowed of instance.masks[agent]) values.push(allowed);
    values.push(instance.rewards[agent], instance.terminated[agent], instance.truncated[agent]);
    values.push(instance.active[agent]);
  }
  return values;
}

/**
 * What number `index` of an `observedRow` is.
 *
 * @param known what the first numbers are read of. Default: they are known by their places.
 */
export function observedName(
  definition: GameDefinition,
  instance: Instance,
  index: number,
  known: readonly { readonly text: string; readonly numbers: number }[] = [],
): string {
  let left = index;
  for (const { text, numbers } of known) {
    if (left < numbers) return `what is seen of ${text}`;
    left -= numbers;
  }
  const isSingle = instance.numAgents === 1;
  left = index;
  for (let agent = 0; agent < instance.numAgents; agent++) {
    const which = isSingle ? null : agent;
    for (const { name, size } of observationEntries(definition.observation)) {
      if (left < size) return observationName(name, left, which);
      left -= size;
    }
    const mask = instance.masks[agent].length;
    const suffix = isSingle ? "" : ` of agent ${agent}`;
    if (left < mask) return `actionMask[${left}]${suffix}`;
    left -= mask;
    if (left < 4) return `${["reward", "terminated", "truncated", "active"][left]}${suffix}`;
    left -= 4;
  }
  return `number ${index}`;
}
