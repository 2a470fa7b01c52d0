/** `GameInstance`: one running copy of a single-agent game, stepped by the rollout loop under rules T1-T3 and E1. */

import { MAX_AMOUNT } from "./bounds.gen.ts";
import { type CheckedDefinition, checkedDefinition } from "./checked-definition.ts";
import type {
  Action,
  Game,
  GameDefinition,
  ObservationView,
  Out,
  StartContext,
  StartFields,
  UpdateResult,
} from "./contract.ts";
import { parameterDefaults } from "./define-game.ts";
import { createGame } from "./description.ts";
import { EpisodeTotals } from "./episode-totals.ts";
import { RuntimeError, show, thrownByGame } from "./errors.ts";
import { allocateEntry, ObservationReader, observationEntries, observationView } from "./observation.ts";
import { createSequentialRandom, type SequentialRandom, STREAM } from "./random.ts";
import {
  amountError,
  bareObservation,
  checkMask,
  checkReward,
  isPromise,
  noResultError,
  promiseError,
  readFlag,
  rewardError,
} from "./results.ts";
import { actionMaskSize, createNamer, type NamedAction, namedMask } from "./spaces.ts";

/** Why an episode ended (rule E1): by the game or its time limit, or `cut` by its caller. */
export type EndReason = "terminated" | "time_limit" | "game_truncated" | "cut";

export interface InstanceOptions {
  /** Identifies this instance's random streams; issued by the server. Default 0. */
  instanceId?: number;
  /** Calls of `step` that are one step to the agents: a drawn game is stepped tick by tick. Default 1. */
  callsPerStep?: number;
  /** Low and high 32 bits of the run's seed. Default 0. */
  seedLow?: number;
  seedHigh?: number;
  /** Per agent, where observations go: views into the policy's batch. Default: memory of its own. */
  views?: readonly ObservationView[];
  /** Per agent, where action masks go. Default: memory of its own. */
  masks?: readonly Uint8Array[];
}

/**
 * What a rollout loop needs of an instance, with one agent or several. Result arrays have one entry per agent, are the
 * same objects for ever, and hold until the next `step` or `start`.
 */
export interface Instance {
  readonly numAgents: number;
  readonly instanceId: number;
  readonly episode: number;
  /** The last step's reward, summed over its ticks in float64 (rule T2). */
  readonly rewards: Float64Array;
  /** 1 where the agent's trajectory ended for good; never together with `truncated`. */
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** 1 where the agent took part in the last step (rule E9). */
  readonly valid: Uint8Array;
  /** 1 where the agent takes part in the next step. */
  readonly active: Uint8Array;
  readonly executedTicks: number;
  readonly episodeOver: boolean;
  readonly endReason: EndReason | null;
  readonly episodeSteps: number;
  readonly episodeTicks: number;
  /** Tick of the episode that the game is in or came to, counted from 1; 0: in `start`. Where it fails, the tick in which it does. */
  readonly currentTick: number;
  /** Raw, undiscounted, per agent. */
  readonly episodeReturns: Float64Array;
  readonly totals: EpisodeTotals;
  readonly views: readonly ObservationView[];
  readonly masks: readonly Uint8Array[];
  readonly game: Game;
  setStream(seedLow: number, seedHigh: number, instanceId: number): void;
  start(episode: number, parameters?: Readonly<Record<string, number>>): void;
  /** Null, or what the `start` that follows, of the same episode, waits for. */
  startAhead(episode: number, parameters?: Readonly<Record<string, number>>): Promise<void> | null;
  /** Null, or what the `step` that follows, with the same action, waits for. */
  stepAhead(action: Action | ArrayLike<Action>): Promise<void> | null;
  step(action: Action | ArrayLike<Action>): void;
  /** `startAhead` and `start`: null, or what resolves once the episode has begun. */
  begin(episode: number, parameters?: Readonly<Record<string, number>>): Promise<void> | null;
  /** `stepAhead` and `step`: null, or what resolves once the step is taken; an episode that is cut meanwhile takes none. */
  take(action: Action | ArrayLike<Action>): Promise<void> | null;
  cut(): void;
}

/** State and checks common to games of one agent and of several. Owned by one rollout loop. */
export abstract class InstanceBase implements Instance {
  readonly numAgents: number;
  readonly game: Game;
  readonly rewards: Float64Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly valid: Uint8Array;
  readonly active: Uint8Array;
  readonly episodeReturns: Float64Array;
  readonly totals: EpisodeTotals;
  readonly views: readonly ObservationView[];
  readonly masks: readonly Uint8Array[];
  instanceId: number;
  episode = 0;
  executedTicks = 0;
  episodeOver = true;
  endReason: EndReason | null = null;
  episodeSteps = 0;
  episodeTicks = 0;
  currentTick = 0;
  protected readonly out: Out;
  protected readonly readers: ObservationReader[];
  protected readonly checked: CheckedDefinition;
  protected readonly callsPerStep: number;
  readonly #random: SequentialRandom;
  /** Random numbers of the next episode. */
  readonly #nextRandom: SequentialRandom;
  /** What the game is given for a flat action; null: the same. */
  readonly #named: ((action: Action | ArrayLike<Action>) => NamedAction | NamedAction[]) | null = null;
  readonly #update: (action: Action | ArrayLike<Action>) => UpdateResult;
  /** The same object for every start. */
  readonly #context: StartContext;
  readonly #parameters: Record<string, number>;
  readonly #parameterDefaults: Record<string, number>;
  readonly #parameterNames: readonly string[];
  #seedLow: number;
  #seedHigh: number;

  constructor(definition: GameDefinition, options: InstanceOptions) {
    this.checked = checkedDefinition(definition);
    this.numAgents = this.checked.numAgents;
    this.instanceId = options.instanceId ?? 0;
    this.callsPerStep = options.callsPerStep ?? 1;
    this.#seedLow = options.seedLow ?? 0;
    this.#seedHigh = options.seedHigh ?? 0;
    this.game = createGame(definition);
    this.rewards = new Float64Array(this.numAgents);
    this.terminated = new Uint8Array(this.numAgents);
    this.truncated = new Uint8Array(this.numAgents);
    this.valid = new Uint8Array(this.numAgents);
    this.active = new Uint8Array(this.numAgents);
    this.episodeReturns = new Float64Array(this.numAgents);
    this.totals = new EpisodeTotals(definition);
    this.views = options.views ?? ownViews(definition, this.numAgents);
    const maskSize = definition.actionMask === true ? actionMaskSize(definition.action) : 0;
    this.masks = options.masks ?? Array.from(this.views, () => new Uint8Array(maskSize));
    const isSingle = this.numAgents === 1;
    this.readers = this.views.map(
      (view, i) =>
        new ObservationReader(definition.observation, view, isSingle ? "observation" : `observation[${i}]`),
    );
    const { action: space } = definition;
    const masks = space.kind === "mixed" ? this.masks.map((mask) => namedMask(space, mask)) : this.masks;
    this.out = {
      observation: isSingle ? this.views[0] : this.views,
      actionMask: (maskSize > 0 ? (isSingle ? masks[0] : masks) : null) as Out["actionMask"],
    };
    if (space.kind === "mixed") {
      const namers = this.views.map(() => createNamer(space));
      this.#named = (action) =>
        isSingle
          ? namers[0](action as ArrayLike<number>)
          : namers.map((namer, agent) => namer((action as ArrayLike<Action>)[agent] as ArrayLike<number>));
    }
    const named = this.#named;
    const { game, out } = this;
    const { tickSeconds } = this.checked;
    // A constant of a closure is handed on as it is; V8 boxes a fraction read from a field again in every call. A game's own
    // annotation says which actions it takes, and its space that it gets those: hence `never`.
    this.#update =
      named === null
        ? (action) => game.update(tickSeconds, action as never, out)
        : (action) => game.update(tickSeconds, named(action) as never, out);
    this.#random = createSequentialRandom(STREAM.game);
    this.#nextRandom = createSequentialRandom(STREAM.game);
    this.#parameterDefaults = parameterDefaults(definition);
    this.#parameterNames = Object.keys(this.#parameterDefaults);
    this.#parameters = { ...this.#parameterDefaults };
    this.#context = { random: this.#random.random, parameters: this.#parameters, out: this.out };
  }

  /** Binds the instance to the streams of (seed, instance) from the next `start` on. */
  setStream(seedLow: number, seedHigh: number, instanceId: number): void {
    this.#seedLow = seedLow;
    this.#seedHigh = seedHigh;
    this.instanceId = instanceId;
  }

  /**
   * Begins episode `episode` on its own random stream; `parameters` override the defaults.
   *
   * Raises GameError; RangeError for a parameter the game does not declare or one out of range.
   */
  start(episode: number, parameters?: Readonly<Record<string, number>>): void {
    this.#prepare(episode, parameters);
    let result: unknown;
    try {
      result = this.game.start(this.#context);
    } catch (thrown) {
      throw thrownByGame("start", thrown);
    }
    if (isPromise(result)) throw promiseError("start");
    this.readStart(result as StartFields | undefined);
    for (const reader of this.readers) reader.checkFinite("start");
    this.checkMasks("start");
    const { ahead } = this.game;
    if (ahead?.expect === undefined) return;
    this.#nextRandom.reset(this.#seedLow, this.#seedHigh, episode + 1, this.instanceId);
    ahead.expect(this.#nextRandom.random);
  }

  startAhead(episode: number, parameters?: Readonly<Record<string, number>>): Promise<void> | null {
    const { ahead } = this.game;
    if (ahead === undefined) return null;
    this.#prepare(episode, parameters);
    return ahead.start(this.#context);
  }

  stepAhead(action: Action | ArrayLike<Action>): Promise<void> | null {
    const { ahead } = this.game;
    return ahead?.step(this.#named?.(action) ?? action, this.checked.ticksPerStep) ?? null;
  }

  begin(episode: number, parameters?: Readonly<Record<string, number>>): Promise<void> | null {
    const ahead = this.startAhead(episode, parameters);
    if (ahead !== null) return ahead.then(() => this.start(episode, parameters));
    this.start(episode, parameters);
    return null;
  }

  take(action: Action | ArrayLike<Action>): Promise<void> | null {
    const ahead = this.stepAhead(action);
    if (ahead !== null) return ahead.then(() => (this.episodeOver ? undefined : this.step(action)));
    this.step(action);
    return null;
  }

  /** Takes one decision: up to `ticks_per_step` ticks under `action` (rules T2, T3). Raises GameError. */
  abstract step(action: Action | ArrayLike<Action>): void;

  /** Ends the episode after its last step: every agent that took part in that and has not terminated is truncated (rule E1). */
  cut(): void {
    this.episodeOver = true;
    this.endReason = "cut";
    this.active.fill(0);
    for (let agent = 0; agent < this.numAgents; agent++) {
      if (this.valid[agent] === 1 && this.terminated[agent] === 0) this.truncated[agent] = 1;
    }
  }

  /** Reads what `start` returned, which is neither a promise nor checked otherwise. */
  protected abstract readStart(result: StartFields | undefined): void;

  /** One call of the game's `update`. Raises GameError if it throws or returns no object. */
  protected tick(action: Action | ArrayLike<Action>): UpdateResult {
    let result: UpdateResult;
    this.currentTick++;
    try {
      result = this.#update(action);
    } catch (thrown) {
      throw thrownByGame("update", thrown);
    }
    if (typeof result !== "object" || result === null) throw noResultError(result);
    return result;
  }

  /** Checks the masks of the agents that act next; masks of ended agents are ignored. */
  protected checkMasks(method: "start" | "update"): void {
    if (this.out.actionMask === null) return;
    for (let agent = 0; agent < this.masks.length; agent++)
      if (this.active[agent] === 1) checkMask(method, this.masks[agent], this.checked.maskGroups);
  }

  #prepare(episode: number, parameters: Readonly<Record<string, number>> | undefined): void {
    this.#resetCounters(episode);
    this.#setParameters(parameters);
    for (const reader of this.readers) reader.invalidate();
    if (this.out.actionMask !== null) for (const mask of this.masks) mask.fill(1);
    this.#random.reset(this.#seedLow, this.#seedHigh, episode, this.instanceId);
  }

  #resetCounters(episode: number): void {
    this.episode = episode;
    this.executedTicks = 0;
    this.episodeOver = false;
    this.endReason = null;
    this.episodeSteps = 0;
    this.episodeTicks = 0;
    this.currentTick = 0;
    for (let agent = 0; agent < this.numAgents; agent++) {
      this.rewards[agent] = 0;
      this.terminated[agent] = 0;
      this.truncated[agent] = 0;
      this.valid[agent] = 0;
      this.active[agent] = 1;
      this.episodeReturns[agent] = 0;
    }
    this.totals.reset();
  }

  #setParameters(parameters: Readonly<Record<string, number>> | undefined): void {
    for (const name of this.#parameterNames) this.#parameters[name] = this.#parameterDefaults[name];
    if (parameters === undefined) return;
    for (const name in parameters) {
      const range = this.checked.definition.parameters?.[name];
      const value = parameters[name];
      if (range === undefined || !(value >= range.low && value <= range.high)) {
        const known = show(this.checked.definition.parameters ?? {});
        throw new RangeError(`parameter "${name}" = ${show(value)} is not among the declared ${known}`);
      }
      this.#parameters[name] = value;
    }
  }
}

/** One copy of a single-agent game; the fast path. */
export class GameInstance extends InstanceBase {
  constructor(definition: GameDefinition, options: InstanceOptions = {}) {
    super(definition, options);
    if (this.numAgents !== 1)
      throw new RuntimeError(`GameInstance expects one agent, got ${this.numAgents}: use createInstance`);
  }

  step(action: Action): void {
    if (this.episodeOver) throw new RuntimeError("step() expects a running episode: call start() first");
    const { ticksPerStep, hasTerms, hasMetrics, rewardRange, maxSteps } = this.checked;
    const isPlain = !hasTerms && rewardRange === null;
    let reward = 0;
    let ticks = 0;
    let terminated = false;
    let truncated = false;
    let result: UpdateResult;
    do {
      result = this.tick(action);
      ticks++;
      const given = result.reward;
      if (typeof given !== "number" || !isPlain) reward += this.#checkedReward(result);
      else if (given - given === 0) reward += given;
      else throw rewardError("reward", given);
      if (hasMetrics && result.info !== undefined) this.totals.addInfo(result.info);
      terminated = readFlag("terminated", result.terminated) || readFlag("done", result.done);
      truncated = readFlag("truncated", result.truncated);
    } while (ticks < ticksPerStep && !terminated && !truncated);
    const reader = this.readers[0];
    // Once: of a game that lives in a page it is only now looked for.
    const { observation } = result;
    if (observation !== undefined) reader.write("update", observation as ArrayLike<number>);
    reader.checkFinite("update");
    if (!terminated && !truncated && this.episodeSteps + 1 !== maxSteps) this.checkMasks("update");
    this.executedTicks = ticks;
    this.episodeTicks += ticks;
    this.episodeSteps += 1;
    this.rewards[0] = reward;
    const total = this.episodeReturns[0] + reward;
    if (!(Math.abs(total) <= MAX_AMOUNT)) throw amountError("reward", reward, "return", total);
    this.episodeReturns[0] = total;
    this.valid[0] = 1;
    if (terminated) this.#end("terminated");
    else if (truncated) this.#end("game_truncated");
    else if (this.episodeSteps === maxSteps) this.#end("time_limit");
  }

  protected readStart(result: StartFields | undefined): void {
    const observation = bareObservation(result, this.checked.definition);
    if (observation !== undefined) this.readers[0].write("start", observation as ArrayLike<number>);
  }

  #end(reason: EndReason): void {
    this.episodeOver = true;
    this.endReason = reason;
    this.active[0] = 0;
    if (reason === "terminated") this.terminated[0] = 1;
    else this.truncated[0] = 1;
  }

  /** The reward of an update whose game declares terms or a range, or which gave no number. */
  #checkedReward(result: UpdateResult): number {
    const reward = this.#rewardWithTerms(result);
    checkReward("reward", reward, this.checked.rewardRange);
    return reward;
  }

  #rewardWithTerms(result: UpdateResult): number {
    const terms = result.rewardTerms as Readonly<Record<string, number>> | undefined;
    const fromTerms = this.checked.hasTerms && terms !== undefined ? this.totals.addTerms(terms) : undefined;
    const given = result.reward;
    if (given === undefined && fromTerms !== undefined) return fromTerms;
    if (typeof given === "number" && Number.isFinite(given)) return given;
    if (isPromise(result)) throw promiseError("update");
    throw rewardError("reward", given);
  }
}

function ownViews(definition: GameDefinition, numAgents: number): ObservationView[] {
  const batches = observationEntries(definition.observation).map((entry) => allocateEntry(entry, numAgents));
  return Array.from({ length: numAgents }, (_, agent) =>
    observationView(definition.observation, batches, agent),
  );
}
