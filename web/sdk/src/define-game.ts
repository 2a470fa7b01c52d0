/** `defineGame`: checks a definition where it is written, so that mistakes point at the game's own file. */

import { checkGameBounds } from "./bounds.ts";
import { type ActionName, CONTRACT_VERSION, type GameDefinition, type GameOptions } from "./contract.ts";
import { ConfigurationError, show } from "./errors.ts";
import { nearestName } from "./nearest-name.ts";
import {
  type ActionSpace,
  actionMaskSize,
  checkSpace,
  leafLimits,
  type MixedSpace,
  mixedParts,
  numActionComponents,
  numChoices,
} from "./spaces.ts";

/** How far `secondsPerStep / tickSeconds` may be from a whole number (rule T1). */
const WHOLE_TICKS_TOLERANCE = 1e-6;
const METRIC_REDUCTIONS = ["last", "sum", "mean", "max"];
const KNOWN_OPTIONS = [
  "id",
  "tickSeconds",
  "secondsPerStep",
  "maxSeconds",
  "numAgents",
  "observation",
  "action",
  "actionMask",
  "keys",
  "idle",
  "parameters",
  "metrics",
  "reward",
  "rewardTerms",
  "pictureStacks",
  "page",
  "create",
];

/** Returns `options` checked and stamped with `contract_version`. Raises ConfigurationError naming the option to change. */
export function defineGame(options: GameOptions): GameDefinition {
  const definition: GameDefinition = { ...options, contract_version: CONTRACT_VERSION };
  checkDefinition(definition);
  return definition;
}

/** Raises ConfigurationError unless `definition` is something a worker can run. Does not call `create`. */
export function checkDefinition(definition: unknown): asserts definition is GameDefinition {
  if (typeof definition !== "object" || definition === null) {
    const given = show(definition);
    const hint = given.startsWith("the class ")
      ? `; write export default defineGame({ ..., create: () => new ${given.slice("the class ".length)}() })`
      : given === "undefined"
        ? "; write export default defineGame({ ... })"
        : "";
    throw new ConfigurationError("default export", `must be defineGame({...}), got ${given}${hint}`);
  }
  const game = definition as GameDefinition;
  if (game.contract_version !== CONTRACT_VERSION) {
    const came = show(game.contract_version);
    throw new ConfigurationError(
      "contract_version",
      `expected ${CONTRACT_VERSION}, got ${came}; wrap it in defineGame()`,
    );
  }
  const { contract_version: _stamp, ...options } = game;
  checkOptionNames(options, KNOWN_OPTIONS);
  if (typeof game.id !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(game.id)) {
    throw new ConfigurationError("id", `1 to 64 letters, digits, "-", "_" or ".", got ${show(game.id)}`);
  }
  if (typeof game.create !== "function")
    throw new ConfigurationError("create", "must be a function that returns a game");
  const secondsPerStep = game.secondsPerStep ?? game.tickSeconds;
  const ticks = ticksPerStep(game.tickSeconds, secondsPerStep);
  const steps = maxSteps(game);
  const numAgents = game.numAgents ?? 1;
  if (!Number.isInteger(numAgents) || numAgents < 1) {
    throw new ConfigurationError("numAgents", `must be a whole number >= 1, got ${show(numAgents)}`);
  }
  checkSpace("observation", game.observation);
  checkSpace("action", game.action);
  if (game.actionMask === true) actionMaskSize(game.action);
  for (const [code, action] of Object.entries(game.keys ?? {}))
    resolveAction(`keys.${code}`, game.action, action);
  if (game.idle !== undefined) resolveAction("idle", game.action, game.idle);
  checkNumbers(game);
  checkGameBounds({
    id: ["id", game.id],
    tick_seconds: ["tickSeconds", game.tickSeconds],
    seconds_per_step: ["secondsPerStep", secondsPerStep],
    ticks_per_step: ["secondsPerStep / tickSeconds", ticks],
    max_steps: ["maxSeconds / secondsPerStep", steps],
    num_agents: ["numAgents", numAgents],
    metrics: ["metrics", game.metrics],
    reward_terms: ["rewardTerms", game.rewardTerms],
    page: ["page", game.page?.page],
    picture_stacks: ["pictureStacks", game.pictureStacks],
  });
}

/** Raises ConfigurationError for an unknown option, with the name that was probably meant; `under`: what it is one of. */
export function checkOptionNames(options: object, known: readonly string[], under = ""): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    const hint = near === null ? "" : `did you mean ${near}? `;
    throw new ConfigurationError(`${under}${name}`, `unknown option; ${hint}known: ${known.join(", ")}`);
  }
}

/** What each parameter is unless an episode sets it. */
export function parameterDefaults({ parameters = {} }: GameDefinition): Record<string, number> {
  return Object.fromEntries(Object.entries(parameters).map(([name, range]) => [name, range.default]));
}

/** Whole ticks per step (rule T1). Raises ConfigurationError naming the nearest values that work. */
export function ticksPerStep(tickSeconds: number, secondsPerStep: number): number {
  checkPositive("tickSeconds", tickSeconds);
  checkPositive("secondsPerStep", secondsPerStep);
  const ratio = secondsPerStep / tickSeconds;
  const whole = Math.round(ratio);
  if (whole >= 1 && Math.abs(ratio - whole) <= WHOLE_TICKS_TOLERANCE) return whole;
  const below = Math.floor(ratio);
  const working = [below, below + 1].filter((ticks) => ticks >= 1);
  const steps = working
    .map((ticks) => `${short(ticks * tickSeconds)} (${plural(ticks, "tick")})`)
    .join(" or ");
  const nearest = Math.max(1, whole);
  throw new ConfigurationError(
    "secondsPerStep",
    `${short(secondsPerStep)} is ${short(ratio)} ticks of ${short(tickSeconds)}, but an action is held for whole ticks. ` +
      `The nearest that work: secondsPerStep ${steps}, or tickSeconds ${short(secondsPerStep / nearest)} (${plural(nearest, "tick")})`,
  );
}

/** Whole steps within the time limit, or null without one. Raises ConfigurationError if not even one fits. */
export function maxSteps(
  options: Pick<GameOptions, "tickSeconds" | "secondsPerStep" | "maxSeconds">,
): number | null {
  if (options.maxSeconds === undefined) return null;
  checkPositive("maxSeconds", options.maxSeconds);
  const secondsPerStep = options.secondsPerStep ?? options.tickSeconds;
  const steps = Math.floor(options.maxSeconds / secondsPerStep + WHOLE_TICKS_TOLERANCE);
  if (steps >= 1) return steps;
  throw new ConfigurationError(
    "maxSeconds",
    `${options.maxSeconds} is less than one step of ${secondsPerStep} s`,
  );
}

/**
 * The index or values meant by `action`: a label, an index, one number per component, or parts of a mixed action.
 *
 * @param idle names the values of what a mixed action leaves out. Default: zeros. Raises ConfigurationError.
 */
export function resolveAction(
  field: string,
  space: ActionSpace,
  action: ActionName,
  idle?: ActionName,
): number | number[] {
  if (space.kind === "mixed") {
    const zeros = new Array<number>(numActionComponents(space)).fill(0);
    const rest = idle === undefined ? zeros : resolveParts("idle", space, idle, zeros);
    return resolveParts(field, space, action, rest);
  }
  if (space.kind === "discrete") {
    const index = typeof action === "string" ? (space.labels ?? []).indexOf(action) : action;
    if (typeof index === "number" && Number.isInteger(index) && index >= 0 && index < space.n) return index;
    const legal =
      space.labels === null ? `0 to ${space.n - 1}` : space.labels.map((label) => `"${label}"`).join(", ");
    throw new ConfigurationError(field, `${show(action)} is no action; legal: ${legal}`);
  }
  const length = numActionComponents(space);
  if (!Array.isArray(action) || action.length !== length) {
    throw new ConfigurationError(
      field,
      `needs an array of ${length} numbers for ${space.kind}, got ${show(action)}`,
    );
  }
  action.forEach((value: unknown, i) => {
    if (!isLegalComponent(space, value, i))
      throw new ConfigurationError(field, `component ${i} cannot be ${show(value)}`);
  });
  return [...(action as number[])];
}

function resolveParts(field: string, space: MixedSpace, action: ActionName, rest: number[]): number[] {
  const parts = mixedParts(space);
  let given = action;
  if (typeof given === "string") {
    const label = given;
    const own = parts.filter(({ space: part }) => part.kind === "discrete" && part.labels?.includes(label));
    if (own.length === 1) given = { [own[0].name]: label };
  }
  const names = parts.map(({ name }) => name);
  if (typeof given !== "object" || Array.isArray(given))
    throw new ConfigurationError(
      field,
      `needs an object with some of ${names.join(", ")}, or the label of one choice, got ${show(action)}`,
    );
  checkOptionNames(given, names, `${field}.`);
  return parts.reduce(
    (values, { name, space: part, from, size }) => {
      const said = (given as Record<string, string | number | number[]>)[name];
      if (said !== undefined)
        values.splice(from, size, ...[resolveAction(`${field}.${name}`, part, said)].flat());
      return values;
    },
    [...rest],
  );
}

function isLegalComponent(space: ActionSpace, value: unknown, c: number): boolean {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  const [low, high] = leafLimits(space, c);
  return value >= low && value <= high && (numChoices(space, c) === null || Number.isInteger(value));
}

const NAMED_VALUES = {
  parameters: "{ speed: { default: 1, low: 0.5, high: 2 } }",
  metrics: '{ coins: "sum" }',
  reward: "{ low: -1, high: 1 }",
  rewardTerms: "{ coins: 1 }",
};

function checkNumbers(game: GameDefinition): void {
  for (const [field, example] of Object.entries(NAMED_VALUES)) {
    const given: unknown = game[field as keyof GameDefinition];
    if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given)))
      throw new ConfigurationError(field, `must be an object like ${example}, got ${show(given)}`);
  }
  for (const [name, range] of Object.entries(game.parameters ?? {})) {
    const { default: usual, low, high } = range;
    if (!(Number.isFinite(low) && Number.isFinite(high) && low <= usual && usual <= high)) {
      throw new ConfigurationError(
        `parameters.${name}`,
        `needs finite low <= default <= high, got ${show(range)}`,
      );
    }
  }
  if (game.reward !== undefined) {
    const { low, high } = game.reward;
    if (!(Number.isFinite(low) && Number.isFinite(high) && low <= high))
      throw new ConfigurationError("reward", `needs finite low <= high, got ${show(game.reward)}`);
  }
  for (const [name, reduction] of Object.entries(game.metrics ?? {})) {
    if (!METRIC_REDUCTIONS.includes(reduction)) {
      throw new ConfigurationError(
        `metrics.${name}`,
        `must be one of ${METRIC_REDUCTIONS.join(", ")}, got ${show(reduction)}`,
      );
    }
  }
  for (const [name, weight] of Object.entries(game.rewardTerms ?? {})) {
    if (!Number.isFinite(weight))
      throw new ConfigurationError(`rewardTerms.${name}`, `needs a finite weight, got ${show(weight)}`);
  }
}

function checkPositive(field: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
    throw new ConfigurationError(field, `must be a positive number of seconds, got ${show(value)}`);
  }
}

function plural(count: number, word: string): string {
  return count === 1 ? `1 ${word}` : `${count} ${word}s`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(7)));
}
