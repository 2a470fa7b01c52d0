/** The conformance kit: plays a game at random and says what would keep it from being trained. */

import type { Action, BoxView, GameDefinition } from "./contract.ts";
import { drawActions, type Meters, measureTicks, type TickCost } from "./cost.ts";
import { describe, type GameDescription } from "./description.ts";
import { drawOnce } from "./draw-check.ts";
import { countForbiddenCalls } from "./forbidden-globals.ts";
import { createInstance } from "./group-instance.ts";
import type { EndReason, Instance } from "./instance.ts";
import { observationEntries } from "./observation.ts";
import { RandomPlayer } from "./random-play.ts";
import { leafLimits } from "./spaces.ts";

export interface Finding {
  /** An `error` keeps the game from being trained; a `warning` is worth a look. */
  severity: "error" | "warning";
  /** What was checked: one word per check, as in `CHECKS`. */
  check: (typeof CHECKS)[number];
  message: string;
}

export const CHECKS = [
  "description",
  "contract",
  "end",
  "bounds",
  "determinism",
  "clock",
  "variety",
  "reward",
  "parameters",
  "draw",
] as const;

export interface GameReport {
  id: string;
  /** No finding is an error. */
  isTrainable: boolean;
  description: GameDescription | null;
  findings: Finding[];
  /** Of the random play; null if it did not come to an end without an error. */
  play: PlayMeasurements | null;
}

export interface PlayMeasurements extends TickCost {
  steps: number;
  ticks: number;
  episodes: number;
  endReasons: Partial<Record<EndReason, number>>;
  /** Mean over finished episodes, raw, of agent 0. */
  returnMean: number;
  lengthMean: number;
}

export interface CheckOptions extends Meters {
  /** Steps of random play; more are played if the time limit lies beyond. Default 10,000. */
  steps?: number;
}

const MOST_STEPS = 200_000;
const MEASURED_STEPS = 20_000;
const DETERMINISM_STEPS = 1_000;
const PARAMETER_STEPS = 200;

/** Everything found out about `definition`; never throws because of the game. */
export function checkGame(definition: GameDefinition, options: CheckOptions): GameReport {
  const findings: Finding[] = [];
  const report = (severity: Finding["severity"], check: Finding["check"], message: string): void => {
    findings.push({ severity, check, message });
  };
  const result = (description: GameDescription | null, play: PlayMeasurements | null): GameReport => ({
    id: typeof definition?.id === "string" ? definition.id : "",
    isTrainable: findings.every(({ severity }) => severity !== "error"),
    description,
    findings,
    play,
  });
  let description: GameDescription;
  try {
    description = describe(definition);
  } catch (error) {
    report("error", "description", textOf(error));
    return result(null, null);
  }
  let play: PlayMeasurements | null = null;
  try {
    const calls = countForbiddenCalls(() => checkDeterminism(definition, report));
    for (const [name, count] of calls) {
      report(
        "error",
        "clock",
        `the game called ${name} (${count} times): draw from start's random, count ticks for time`,
      );
    }
    play = playAtRandom(definition, description, options, report);
    checkParameters(definition, report);
    if (description.has_draw) drawOnce(definition, (message) => report("error", "draw", message));
    else report("warning", "draw", "there is no draw(): the game cannot be watched or played by hand");
  } catch (error) {
    report("error", "contract", textOf(error));
  }
  return result(description, play);
}

type Report = (severity: Finding["severity"], check: Finding["check"], message: string) => void;

function playAtRandom(
  definition: GameDefinition,
  description: GameDescription,
  options: CheckOptions,
  report: Report,
): PlayMeasurements {
  const steps = Math.min(MOST_STEPS, Math.max(options.steps ?? 10_000, (description.max_steps ?? 0) + 1));
  const instance = createInstance(definition, { seedLow: 1 });
  const player = new RandomPlayer(description.action, 1);
  const endReasons: PlayMeasurements["endReasons"] = {};
  const rewards = new Set<number>();
  let ticks = 0;
  let episodes = 0;
  let returns = 0;
  let lengths = 0;
  let isOutside = false;
  const look = (when: string): void => {
    if (!isOutside) isOutside = checkBounds(instance, definition, when, report);
  };
  instance.start(0);
  look("at the start of episode 0");
  for (let step = 0; step < steps; step++) {
    instance.step(drawActions(instance, player));
    ticks += instance.executedTicks;
    if (rewards.size < 2) rewards.add(instance.rewards[0]);
    look(`in step ${step}`);
    if (!instance.episodeOver) continue;
    const reason = instance.endReason as EndReason;
    endReasons[reason] = (endReasons[reason] ?? 0) + 1;
    episodes++;
    returns += instance.episodeReturns[0];
    lengths += instance.episodeSteps;
    instance.start(episodes);
    look(`at the start of episode ${episodes}`);
  }
  if (episodes === 0) {
    report(
      "error",
      "end",
      `no episode ended within ${steps} steps of random play: return terminated, or set maxSeconds`,
    );
  }
  if (rewards.size < 2) {
    report(
      "warning",
      "reward",
      `the reward was ${[...rewards][0]} in every step: an agent learns nothing from it but to last`,
    );
  }
  return {
    steps,
    ticks,
    episodes,
    endReasons,
    returnMean: returns / episodes,
    lengthMean: lengths / episodes,
    ...measureTicks(definition, Math.min(steps, MEASURED_STEPS), options),
  };
}

/** The same seed and actions must give the same play, in a new game and in one that has played before. */
function checkDeterminism(definition: GameDefinition, report: Report): void {
  const first = createInstance(definition, { seedLow: 2 });
  const player = new RandomPlayer(definition.action, 2);
  const actions: (Action | ArrayLike<Action>)[] = [];
  const original = record(first, () => {
    const drawn = drawActions(first, player);
    actions.push(drawn);
    return drawn;
  });
  const repeats: [string, Instance][] = [
    ["a new game", createInstance(definition, { seedLow: 2 })],
    ["the same game, played before", first],
  ];
  for (const [where, instance] of repeats) {
    let next = 0;
    const again = record(instance, () => actions[next++]);
    const at = original.findIndex((row, i) => row.some((value, j) => !Object.is(value, again[i]?.[j])));
    if (at >= 0) {
      const text = `the same seed and actions played differently in ${where}: first at record ${at} of ${original.length}`;
      report("error", "determinism", `${text}, ${firstDifference(original[at], again[at])}`);
    }
  }
  const other = createInstance(definition, { seedLow: 3 });
  other.start(0);
  first.start(0);
  const isSame = JSON.stringify(snapshot(first)) === JSON.stringify(snapshot(other));
  if (isSame) report("warning", "variety", "two seeds start alike: agents may learn one game by heart");
}

/** Rows of everything visible, one after each start and step, over whole episodes of the stream. */
function record(instance: Instance, choose: () => Action | ArrayLike<Action>): number[][] {
  const rows: number[][] = [];
  let episode = 0;
  instance.start(episode);
  rows.push(snapshot(instance));
  for (let step = 0; step < DETERMINISM_STEPS; step++) {
    instance.step(choose());
    rows.push([...snapshot(instance), ...instance.rewards, ...instance.terminated, ...instance.truncated]);
    if (!instance.episodeOver) continue;
    instance.start(++episode);
    rows.push(snapshot(instance));
  }
  return rows;
}

function snapshot(instance: Instance): number[] {
  const values: number[] = [];
  for (const view of instance.views) for (const part of partsOf(view)) values.push(...part);
  for (const mask of instance.masks) values.push(...mask);
  return values;
}

/** Whether something of what the agents see now is outside its box; `when` is how the finding says it. */
function checkBounds(instance: Instance, definition: GameDefinition, when: string, report: Report): boolean {
  const space = definition.observation;
  for (const entry of observationEntries(space)) {
    for (const view of instance.views) {
      const values = entry.name === "" ? (view as BoxView) : (view as Record<string, BoxView>)[entry.name];
      for (let i = 0; i < entry.size; i++) {
        // Limits are compared as the observation is stored.
        const [low, high] = leafLimits(entry.space, i).map(Math.fround);
        if (values[i] >= low && values[i] <= high) continue;
        const name = entry.name === "" ? `observation[${i}]` : `observation.${entry.name}[${i}]`;
        report("error", "bounds", `${name} was ${values[i]} ${when}, outside its box of ${low} to ${high}`);
        return true;
      }
    }
  }
  return false;
}

/** Every declared parameter at both ends of its range. */
function checkParameters(definition: GameDefinition, report: Report): void {
  for (const [name, range] of Object.entries(definition.parameters ?? {})) {
    for (const value of [range.low, range.high]) {
      const instance = createInstance(definition, { seedLow: 4 });
      const player = new RandomPlayer(definition.action, 4);
      try {
        instance.start(0, { [name]: value });
        for (let step = 0; step < PARAMETER_STEPS && !instance.episodeOver; step++) {
          instance.step(drawActions(instance, player));
        }
      } catch (error) {
        report("error", "parameters", `with ${name} = ${value}: ${textOf(error)}`);
      }
    }
  }
}

function partsOf(view: Instance["views"][number]): BoxView[] {
  return ArrayBuffer.isView(view) ? [view as BoxView] : Object.values(view as Record<string, BoxView>);
}

function firstDifference(expected: readonly number[], came: readonly number[] | undefined): string {
  const i = expected.findIndex((value, j) => !Object.is(value, came?.[j]));
  return `number ${i} was ${expected[i]} and then ${came?.[i]}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
