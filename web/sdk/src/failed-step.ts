/** What a game that failed was given and had shown: the values that explain a failure. */

import type { GameDefinition } from "./contract.ts";
import type { GameMethod } from "./errors.ts";
import type { Instance } from "./instance.ts";
import { observationEntries } from "./observation.ts";
import { observationParts } from "./observed.ts";

const MAX_NUMBERS = 12;
const MAX_AGENTS = 4;
const MAX_CHARACTERS = 1_000;

/** One line such as `action 2 ("right"), observation [0.5, NaN, 0]`; empty where nothing had been played yet. */
export function stepValues(
  definition: GameDefinition,
  instance: Instance,
  method: GameMethod,
  action: unknown,
): string {
  if (method !== "update") return "";
  const parts: string[] = [];
  const actionGiven = actionText(definition, action);
  if (actionGiven !== "") parts.push(actionGiven);
  for (let agent = 0; agent < Math.min(MAX_AGENTS, instance.numAgents); agent++) {
    const label = instance.numAgents === 1 ? "observation" : `observation[${agent}]`;
    const views = observationParts(definition, instance, agent);
    observationEntries(definition.observation).forEach(({ name }, e) => {
      parts.push(`${name === "" ? label : `${label}.${name}`} ${numbers(views[e])}`);
    });
  }
  const text = parts.join(", ");
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}

function actionText(definition: GameDefinition, action: unknown): string {
  if (action === null || action === undefined) return "";
  if (typeof action === "number") {
    const label = definition.action.kind === "discrete" ? definition.action.labels?.[action] : undefined;
    return `action ${action}${label === undefined ? "" : ` (${JSON.stringify(label)})`}`;
  }
  const values = Array.from(action as ArrayLike<number | ArrayLike<number>>);
  const texts = values.map((value) => (typeof value === "number" ? short(value) : numbers(value)));
  return `action [${texts.slice(0, MAX_NUMBERS).join(", ")}${texts.length > MAX_NUMBERS ? ", ..." : ""}]`;
}

function numbers(values: ArrayLike<number>): string {
  const shown = Array.from({ length: Math.min(MAX_NUMBERS, values.length) }, (_, i) => short(values[i]));
  return `[${shown.join(", ")}${values.length > MAX_NUMBERS ? `, ... ${values.length} numbers` : ""}]`;
}

function short(value: number): string {
  return String(Number.isFinite(value) ? Number(value.toPrecision(4)) : value);
}
