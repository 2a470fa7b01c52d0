/** Whether actions do anything: the same moment is played several times, each time with another action. */

import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { methodSource } from "attract/method-source";
import { observedRow } from "attract/observed";
import { drawActions, RandomPlayer } from "attract/random-play";
import {
  type ActionSpace,
  isScalarAction,
  leafLimits,
  maskGroups,
  mixedParts,
  numActionComponents,
  numChoices,
} from "attract/spaces";
import type { Deadline, Report } from "./check-finding.ts";
import { labelComparisons } from "./label-comparisons.ts";

/** Moments played at most; with fewer than the minimum nothing is reported. */
const MAX_MOMENTS = 60;
const MIN_MOMENTS = 12;
/** Moments lie at most so far into an episode. */
const LATEST_STEP = 200;
/** An action is held for so many steps, and then so many are watched, under actions that are the same each time. */
const HELD_STEPS = 8;
const WATCHED_STEPS = 40;
/** Components of an action beyond these are not tried. */
const MAX_COMPONENTS = 16;
const MAX_CHOICES = 32;

/** Where the text of the game's module is, to look for labels that are compared with; `name` as in a stack. */
export interface ModuleText {
  name: string;
  text: string;
}

/** `rewind` makes what a game should not depend on repeat itself. Raises GameError as the game does. */
export function checkActions(
  definition: GameDefinition,
  report: Report,
  deadline: Deadline,
  module: ModuleText | null,
  rewind: () => void,
): void {
  const components = componentsOf(definition.action);
  const instance = createInstance(definition, { seedLow: 7 });
  const alike = components.map((choices) => new Alike(choices.length));
  let moments = 0;
  for (let number = 0; number < MAX_MOMENTS && (number === 0 || !deadline.isOver); number++) {
    rewind();
    const moment = findMoment(definition, instance, number, deadline);
    if (moment === null) continue;
    components.forEach((choices, component) => {
      const traces = choices.map((choice) => {
        if (!isAllowed(definition.action, moment.mask, component, choice)) return null;
        rewind();
        return traceOf(definition, instance, moment, component, choice, deadline);
      });
      alike[component].compare(traces);
    });
    moments++;
    // Nothing more can be found out.
    if (alike.every((one) => one.areAllDifferent)) return;
  }
  if (moments < MIN_MOMENTS) return;
  new ActionFindings(definition, instance, report, module, moments).reportAll(alike);
}

/** Which choices of one component have done the same every time they could be compared. */
class Alike {
  readonly #differ = new Set<number>();
  readonly #compared = new Set<number>();
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  get areAllDifferent(): boolean {
    return this.#differ.size === (this.#n * (this.#n - 1)) / 2;
  }

  /** @param traces null for a choice that was not allowed. */
  compare(traces: readonly (string | null)[]): void {
    for (let a = 0; a < this.#n; a++) {
      for (let b = a + 1; b < this.#n; b++) {
        if (traces[a] === null || traces[b] === null) continue;
        this.#compared.add(a * this.#n + b);
        if (traces[a] !== traces[b]) this.#differ.add(a * this.#n + b);
      }
    }
  }

  /** Groups of at least two choices, each like the first of its group. */
  groups(): number[][] {
    const groups: number[][] = [];
    const taken = new Set<number>();
    for (let a = 0; a < this.#n; a++) {
      if (taken.has(a)) continue;
      const group = [a];
      for (let b = a + 1; b < this.#n; b++) {
        const pair = a * this.#n + b;
        if (taken.has(b) || !this.#compared.has(pair) || this.#differ.has(pair)) continue;
        group.push(b);
        taken.add(b);
      }
      if (group.length > 1) groups.push(group);
    }
    return groups;
  }
}

class ActionFindings {
  readonly #definition: GameDefinition;
  readonly #instance: Instance;
  readonly #report: Report;
  readonly #module: ModuleText | null;
  readonly #moments: number;

  constructor(
    definition: GameDefinition,
    instance: Instance,
    report: Report,
    module: ModuleText | null,
    moments: number,
  ) {
    this.#definition = definition;
    this.#instance = instance;
    this.#report = report;
    this.#module = module;
    this.#moments = moments;
  }

  reportAll(alike: readonly Alike[]): void {
    const { action } = this.#definition;
    const groups = alike.map((one) => one.groups());
    const sizes = componentsOf(action).map(({ length }) => length);
    const areAllIgnored = groups.every((found, c) => sizes[c] < 2 || found[0]?.length === sizes[c]);
    if (areAllIgnored && sizes.some((size) => size > 1)) {
      this.#reportIgnored();
      return;
    }
    groups.forEach((found, component) => {
      for (const group of found) this.#reportAlike(component, group);
    });
  }

  #reportIgnored(): void {
    const { action } = this.#definition;
    const labels = action.kind === "discrete" ? (action.labels ?? []) : [];
    const compared = this.#comparisons(labels);
    this.#report({
      id: "ignored-actions",
      severity: "error",
      text:
        `no action changes anything: at ${this.#moments} moments each action was tried, ` +
        `and the outcome was the same${compared === null ? "" : `; the game compares with the label ${compared.labels}`}`,
      fix: compared === null ? this.#noEffectFix() : labelFix(labels, compared.first),
      stack: compared?.stack ?? null,
      method: methodSource(this.#instance.game, "update"),
    });
  }

  #reportAlike(component: number, group: readonly number[]): void {
    const { action } = this.#definition;
    const labels = action.kind === "discrete" ? (action.labels ?? []) : [];
    const compared = this.#comparisons(group.map((choice) => labels[choice]).filter(Boolean));
    const names = group.map((choice) => choiceName(action, component, choice));
    this.#report({
      id: "action-without-effect",
      severity: "warning",
      text:
        `${names.join(" and ")} had the same effect at all ${this.#moments} moments at which both were tried` +
        (compared === null ? "" : `; the game compares with the label ${compared.labels}`),
      fix:
        compared === null
          ? "check that update() handles each of them; rare effects may be missed here"
          : labelFix(labels, compared.first),
      stack: compared?.stack ?? null,
      method: methodSource(this.#instance.game, "update"),
    });
  }

  #noEffectFix(): string {
    const { action } = this.#definition;
    const what =
      action.kind === "discrete"
        ? `update(deltaTime, action) gets a number, 0 to ${action.n - 1}`
        : action.kind === "mixed"
          ? `update(deltaTime, action) gets an object with ${Object.keys(action.spaces).join(", ")}`
          : "update(deltaTime, action) gets an array with a number for each component";
    return `${what}: check that it reaches what it should move, and that the observation or the reward shows it`;
  }

  #comparisons(labels: readonly string[]): { labels: string; first: string; stack: string } | null {
    if (this.#module === null || labels.length === 0) return null;
    const { name, text } = this.#module;
    const found = labelComparisons(text, labels);
    if (found.length === 0) return null;
    const named = [...new Set(found.map(({ label }) => JSON.stringify(label)))].join(", ");
    const stack = found.map(({ line, column }) => `    at ${name}:${line}:${column}`).join("\n");
    return { labels: named, first: found[0].label, stack };
  }
}

function labelFix(labels: readonly string[], label: string): string {
  const index = labels.indexOf(label);
  return `an action is the number of its label: write action === ${index} for ${JSON.stringify(label)}`;
}

/** 64 bits of any numbers in their order: pictures would make long texts. */
class NumberHash {
  readonly #number = new Float64Array(1);
  readonly #words = new Uint32Array(this.#number.buffer);
  #low = 0x811c9dc5;
  #high = 0x1b873593;

  add(value: number): void {
    this.#number[0] = value;
    this.#low = Math.imul(this.#low ^ this.#words[0], 0x01000193) ^ this.#words[1];
    this.#high = Math.imul(this.#high ^ this.#words[1], 0x85ebca6b) ^ (this.#low >>> 13) ^ this.#words[0];
  }

  get text(): string {
    return `${this.#low >>> 0}/${this.#high >>> 0}`;
  }
}

interface Moment {
  seed: number;
  /** Random actions that lead to it. */
  actions: (Action | ArrayLike<Action>)[];
  /** The agent whose action is replaced. */
  agent: number;
  mask: Uint8Array;
}

/** A moment somewhere in the episode of seed `number`; null where its agent does not play. */
function findMoment(
  definition: GameDefinition,
  instance: Instance,
  number: number,
  deadline: Deadline,
): Moment | null {
  const player = new RandomPlayer(definition.action, 1000 + number);
  const all: Moment["actions"] = [];
  const masks: Uint8Array[] = [];
  const agent = number % instance.numAgents;
  const isActive: boolean[] = [];
  begin(instance, number);
  while (!instance.episodeOver && all.length < LATEST_STEP) {
    if (deadline.isOver) return null;
    masks.push(instance.masks[agent].slice());
    isActive.push(instance.active[agent] === 1);
    const drawn = drawActions(instance, player);
    all.push(drawn);
    instance.step(drawn);
  }
  // Spread over the episode, its first and last steps among them.
  const step = Math.round(((number * 7) % 12) * ((all.length - 1) / 11));
  if (all.length === 0 || !isActive[step]) return null;
  return { seed: number, actions: all.slice(0, step), agent, mask: masks[step] };
}

/** What follows a moment when component `component` is `choice` for some steps; null when there is no time left. */
function traceOf(
  definition: GameDefinition,
  instance: Instance,
  moment: Moment,
  component: number,
  choice: number,
  deadline: Deadline,
): string | null {
  begin(instance, moment.seed);
  for (const action of moment.actions) {
    if (deadline.isOver) return null;
    instance.step(action as Action);
  }
  const player = new RandomPlayer(definition.action, 2000 + moment.seed);
  const hash = new NumberHash();
  for (let step = 0; step < HELD_STEPS + WATCHED_STEPS && !instance.episodeOver; step++) {
    if (deadline.isOver) return null;
    const drawn = drawActions(instance, player);
    const isHeld =
      step < HELD_STEPS &&
      (step === 0 || isAllowed(definition.action, instance.masks[moment.agent], component, choice));
    const chosen = isHeld
      ? withChoice(definition.action, drawn, instance, moment.agent, component, choice)
      : drawn;
    instance.step(chosen as Action);
    for (const value of observedRow(definition, instance)) hash.add(value);
  }
  return hash.text;
}

function begin(instance: Instance, number: number): void {
  instance.setStream(100 + number, 0, 0);
  instance.start(0);
}

/** `drawn` with one component of one agent's action replaced. */
function withChoice(
  space: ActionSpace,
  drawn: Action | ArrayLike<Action>,
  instance: Instance,
  agent: number,
  component: number,
  choice: number,
): Action | ArrayLike<Action> {
  const one = (instance.numAgents === 1 ? drawn : (drawn as ArrayLike<Action>)[agent]) as Action;
  const replaced = replaceComponent(space, one, component, choice);
  if (instance.numAgents === 1) return replaced;
  const all = Array.from(drawn as ArrayLike<Action>);
  all[agent] = replaced;
  return all;
}

function replaceComponent(space: ActionSpace, action: Action, component: number, choice: number): Action {
  const value = choiceValue(space, component, choice);
  if (isScalarAction(space)) return value;
  const given = action as ArrayLike<number>;
  const values = numChoices(space, component) === null ? Float32Array.from(given) : Array.from(given);
  values[component] = value;
  return values;
}

/** A real number is tried at its low, its middle and its high. */
function choiceValue(space: ActionSpace, component: number, choice: number): number {
  if (numChoices(space, component) !== null) return choice;
  const [low, high] = leafLimits(space, component);
  return low + ((high - low) * choice) / 2;
}

/** The choices of each component that are tried. */
function componentsOf(space: ActionSpace): number[][] {
  const count = Math.min(MAX_COMPONENTS, numActionComponents(space));
  return Array.from({ length: count }, (_, c) =>
    Array.from({ length: Math.min(MAX_CHOICES, numChoices(space, c) ?? 3) }, (_, choice) => choice),
  );
}

function isAllowed(space: ActionSpace, mask: Uint8Array, component: number, choice: number): boolean {
  if (mask.length === 0) return true;
  const offset = maskGroups(space)
    .slice(0, component)
    .reduce((sum, n) => sum + n, 0);
  return mask[offset + choice] === 1;
}

function choiceName(space: ActionSpace, component: number, choice: number): string {
  if (space.kind === "discrete") {
    const label = space.labels?.[choice];
    return label === undefined ? `action ${choice}` : `action ${choice} ${JSON.stringify(label)}`;
  }
  const value = choiceValue(space, component, choice);
  if (space.kind !== "mixed") return `action[${component}] = ${value}`;
  const part = mixedParts(space).findLast(({ from }) => from <= component);
  const label = part?.space.kind === "discrete" ? part.space.labels?.[choice] : undefined;
  const place = part?.isScalar ? "" : `[${component - (part?.from ?? 0)}]`;
  return `action.${part?.name}${place} = ${label === undefined ? value : JSON.stringify(label)}`;
}
