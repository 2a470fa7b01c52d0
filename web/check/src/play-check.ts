/** Random play over whole episodes: whether they end, stay within their boxes, and tell and reward anything. */

import type { Game, GameDefinition, UpdateResult } from "attract/contract";
import type { GameDescription } from "attract/description";
import { show } from "attract/errors";
import type { EndReason, Instance } from "attract/instance";
import { methodSource } from "attract/method-source";
import { nearestName } from "attract/nearest-name";
import { type ObservationEntry, observationEntries } from "attract/observation";
import { observationName, observationParts } from "attract/observed";
import { type ParameterDistribution, ParameterSampler } from "attract/parameters";
import { drawActions, RandomPlayer } from "attract/random-play";
import { leafLimits } from "attract/spaces";
import type { Deadline, Report } from "./check-finding.ts";
import { RewardWatch } from "./reward-check.ts";

/** Fewer steps than these say nothing about what never happens. */
const TELLING_STEPS = 200;
/** A game of so many steps without an end is called endless. */
const ENDLESS_STEPS = 5_000;
/** An entry of more numbers is a picture or a board: numbers of it may well never change. */
const LARGEST_VECTOR = 64;
const MAX_NAMES_SHOWN = 6;
/** Seed of the actions and of the sampled parameters. */
const SEED = 1;
const RESULT_NAMES = [
  "observation",
  "reward",
  "terminated",
  "truncated",
  "done",
  "rewardTerms",
  "info",
  "active",
] as const satisfies readonly (keyof UpdateResult)[];

/** In fewer episodes, a score that random play meets now and then may be missing by chance. */
const MIN_ALIKE = 20;
/** Relative to the return: sums of equal rewards differ by so much. */
const ROUNDING = 1e-9;

export interface PlaySummary {
  steps: number;
  ticks: number;
  episodes: number;
  endReasons: Partial<Record<EndReason, number>>;
  /** Raw, over finished episodes and their agents; NaN without one. */
  returnMean: number;
  /** Standard deviation over those episodes, each the mean over its agents; NaN without one. */
  returnStd: number;
  lengthMean: number;
  /** Returns of the first episodes, each the mean over its agents. */
  returns: readonly number[];
  /** Steps in which any agent's reward was above 0. */
  paidSteps: number;
}

/** A play that is measured and not judged. */
export interface OnlyPlay {
  /** Play until so many episodes have ended. */
  episodes: number;
  /** Drawn at each start; a parameter that is left out has its default. */
  parameters: Readonly<Record<string, ParameterDistribution>>;
  /** Whether each episode has a fresh page, of a game that lives in one. */
  isFresh?: boolean;
}

/** The wire's limit. */
const MAX_RETURNS = 100;

/** Plays up to `steps` steps. Rejects with GameError as the game does. */
export async function playAtRandom(
  definition: GameDefinition,
  description: GameDescription,
  instance: Instance,
  steps: number,
  report: Report,
  deadline: Deadline,
  only?: OnlyPlay,
  pause?: Pause,
): Promise<PlaySummary> {
  const player = new RandomPlayer(description.action, SEED);
  const drawn = new ParameterSampler(only?.parameters ?? {});
  const watch = new ObservationWatch(definition, instance, report);
  const unread = watchResults(instance.game);
  const earned = new RewardWatch(definition);
  const rewards = { lowest: Number.POSITIVE_INFINITY, highest: Number.NEGATIVE_INFINITY };
  const summary = {
    steps: 0,
    ticks: 0,
    episodes: 0,
    paidSteps: 0,
    endReasons: {} as PlaySummary["endReasons"],
  };
  let isNobodyReported = false;
  const returns: number[] = [];
  let lengths = 0;
  await pause?.();
  await instance.begin(0, drawn.sample(SEED, 0, 0, 0));
  watch.look("start", "at the start of episode 0");
  for (; summary.steps < steps && !deadline.isOver; summary.steps++) {
    const taken = instance.take(drawActions(instance, player));
    if (taken !== null) await taken;
    summary.ticks += instance.executedTicks;
    let isPaid = false;
    for (let agent = 0; agent < instance.numAgents; agent++) {
      if (instance.valid[agent] === 0) continue;
      rewards.lowest = Math.min(rewards.lowest, instance.rewards[agent]);
      rewards.highest = Math.max(rewards.highest, instance.rewards[agent]);
      isPaid ||= instance.rewards[agent] > 0;
    }
    if (isPaid) summary.paidSteps++;
    watch.look("update", `in step ${summary.steps}`);
    earned.look(instance);
    if (!instance.episodeOver) continue;
    if (!isNobodyReported && instance.episodeSteps === 1 && !instance.valid.includes(1)) {
      isNobodyReported = true;
      reportNobody(instance, summary.episodes, report);
    }
    const reason = instance.endReason as EndReason;
    summary.endReasons[reason] = (summary.endReasons[reason] ?? 0) + 1;
    summary.episodes++;
    returns.push(mean(instance.episodeReturns));
    lengths += instance.episodeSteps;
    if (summary.episodes === only?.episodes) {
      summary.steps++;
      break;
    }
    await pause?.();
    await instance.begin(summary.episodes, drawn.sample(SEED, 0, summary.episodes, 0));
    watch.look("start", `at the start of episode ${summary.episodes}`);
  }
  const played = {
    ...summary,
    returnMean: mean(returns),
    returnStd: deviation(returns),
    lengthMean: lengths / summary.episodes,
    returns: returns.slice(0, MAX_RETURNS),
  };
  if (
    played.episodes === 0 &&
    description.max_steps === null &&
    played.steps >= Math.min(ENDLESS_STEPS, steps)
  ) {
    report({
      id: "endless",
      severity: "error",
      text: `no episode ended within ${played.steps} steps of random play, and there is no time limit`,
      fix: "return terminated: true when the game is over, or give defineGame() a maxSeconds",
    });
  }
  unread.report(report);
  earned.report(report, instance);
  if (played.steps >= TELLING_STEPS) {
    watch.reportConstants(played);
    reportRewards(rewards, played, instance, report);
    if (rewards.lowest !== rewards.highest) reportReturns(returns, played, instance, report);
  }
  return played;
}

/** What a play waits for before each start: a game that lives in a page may need one. */
export type Pause = () => Promise<void>;

/** NaN of nothing. */
function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

/** Reads the result of the game's first update: fields with unknown names are lost. */
function watchResults(game: Game): { report(report: Report): void } {
  let names: string[] = [];
  const { update } = game;
  const heard: Game["update"] = (...given) => {
    // Restored first, so that errors and reports name the game's own method.
    Reflect.set(game, "update", update);
    const result = update.apply(game, given);
    names = Object.keys(result ?? {});
    return result;
  };
  // A frozen game is not heard.
  Reflect.set(game, "update", heard);
  return {
    report(report) {
      for (const name of names) {
        if ((RESULT_NAMES as readonly string[]).includes(name)) continue;
        const nearest = nearestName(name, RESULT_NAMES);
        report({
          id: "unread-result",
          severity: "warning",
          text: `update() returns ${show(name)}, which is not read`,
          fix: `${nearest === null ? "" : `did you mean ${nearest}? `}it may return ${RESULT_NAMES.join(", ")}; put numbers for metrics into info`,
          method: methodSource(game, "update", name),
        });
      }
    },
  };
}

/** Reports an episode that ended after its first step because no agent was active in it or in the next. */
function reportNobody(instance: Instance, episode: number, report: Report): void {
  report({
    id: "no-active-agent",
    severity: "error",
    text: `no agent is active in or after step 1 of episode ${episode}, which ends the episode: there is nothing to learn from`,
    fix: "return active for at least one agent from start() or from the first update(); run a countdown inside start()",
    method: methodSource(instance.game, "start", "active"),
  });
}

function reportRewards(
  { lowest, highest }: { lowest: number; highest: number },
  played: PlaySummary,
  instance: Instance,
  report: Report,
): void {
  if (lowest !== highest) return;
  // The same for every step is a reward all the same where play decides how many there are.
  if (lowest !== 0 && (played.endReasons.terminated ?? 0) > 0) return;
  const where = `in all of ${played.steps} steps of random play, ${played.episodes} episodes`;
  report({
    id: "constant-reward",
    severity: "warning",
    text: `the reward was ${lowest} ${where}`,
    fix:
      lowest === 0
        ? "agents learn only from rewards that they receive: reward intermediate steps, too, or start the game nearer to its goal"
        : "if the game has a goal, random play never reached it: start nearer to it, or reward progress; if it has none, all play is worth the same",
    method: methodSource(instance.game, "update", "reward"),
  });
}

/** Where two players win what the other loses, all means are the same. */
function reportReturns(
  returns: readonly number[],
  { returnMean, returnStd, lengthMean }: PlaySummary,
  instance: Instance,
  report: Report,
): void {
  if (returns.length < MIN_ALIKE || instance.numAgents > 1 || lengthMean <= 1) return;
  if (returnStd > ROUNDING * Math.abs(returnMean)) return;
  report({
    id: "constant-return",
    severity: "warning",
    text:
      `all ${returns.length} episodes of random play returned ${Number(returnMean.toPrecision(4))}: ` +
      "an agent sees nothing that is worth more",
    fix:
      "let random play meet the score at times: fewer actions that end the episode, or twins of those that do not " +
      '("wait", "wait2"), another length of a step, or a reward on the way',
    method: methodSource(instance.game, "update", "reward"),
  });
}

/** What became of each number of the observations; owned by one random play. */
class ObservationWatch {
  readonly #definition: GameDefinition;
  readonly #instance: Instance;
  readonly #report: Report;
  readonly #entries: ObservationEntry[];
  /** By entry, over all agents. */
  readonly #lowest: Float64Array[];
  readonly #highest: Float64Array[];
  readonly #limits: (readonly [number, number])[][];
  #isOutside = false;

  constructor(definition: GameDefinition, instance: Instance, report: Report) {
    this.#definition = definition;
    this.#instance = instance;
    this.#report = report;
    this.#entries = observationEntries(definition.observation);
    this.#lowest = this.#entries.map(({ size }) => new Float64Array(size).fill(Number.POSITIVE_INFINITY));
    this.#highest = this.#entries.map(({ size }) => new Float64Array(size).fill(Number.NEGATIVE_INFINITY));
    // Limits are compared as the observation is stored.
    this.#limits = this.#entries.map(({ size, space }) =>
      Array.from({ length: size }, (_, i) => leafLimits(space, i).map(Math.fround) as [number, number]),
    );
  }

  look(method: "start" | "update", when: string): void {
    for (let agent = 0; agent < this.#instance.numAgents; agent++) {
      const parts = observationParts(this.#definition, this.#instance, agent);
      for (let e = 0; e < parts.length; e++) this.#lookAt(parts[e], e, agent, method, when);
    }
  }

  #lookAt(part: ArrayLike<number>, e: number, agent: number, method: "start" | "update", when: string): void {
    const [lowest, highest, limits] = [this.#lowest[e], this.#highest[e], this.#limits[e]];
    for (let i = 0; i < part.length; i++) {
      const value = part[i];
      if (value < lowest[i]) lowest[i] = value;
      if (value > highest[i]) highest[i] = value;
      if (this.#isOutside || (value >= limits[i][0] && value <= limits[i][1])) continue;
      this.#isOutside = true;
      const which = this.#instance.numAgents === 1 ? null : agent;
      const name = observationName(this.#entries[e].name, i, which);
      this.#report({
        id: "out-of-bounds",
        severity: "error",
        text: `${name} was ${value} ${when}, outside its box of ${limits[i][0]} to ${limits[i][1]}`,
        fix: "widen the box's low and high, or scale the number so that it stays within them",
        method: methodSource(this.#instance.game, method, "observation"),
      });
    }
  }

  reportConstants({ steps, episodes }: PlaySummary): void {
    const constants: string[] = [];
    this.#entries.forEach(({ name, size, shape }, e) => {
      const still = Array.from({ length: size }, (_, i) => i).filter(
        (i) => this.#lowest[e][i] === this.#highest[e][i],
      );
      const isPicture = shape.length > 1 || size > LARGEST_VECTOR;
      if (isPicture && still.length < size) return;
      if (still.length === size && (isPicture || (size > 1 && this.#entries.length > 1))) {
        constants.push(name === "" ? "the whole observation" : `all of observation.${name}`);
      } else for (const i of still) constants.push(`${observationName(name, i)} (${this.#lowest[e][i]})`);
    });
    if (constants.length === 0) return;
    const more = constants.length > MAX_NAMES_SHOWN ? ` and ${constants.length - MAX_NAMES_SHOWN} more` : "";
    this.#report({
      id: "constant-observation",
      severity: "warning",
      text:
        `never changed in ${steps} steps of random play, ${episodes} episodes: ` +
        `${constants.slice(0, MAX_NAMES_SHOWN).join(", ")}${more}`,
      fix: "an agent learns nothing from a constant: check that it is set, or remove it",
      method: methodSource(this.#instance.game, "update", "observation"),
    });
  }
}
