/** `GroupInstance`: one running copy of a game with several agents, which may end and come back one by one (rule E9). */

import { MAX_AMOUNT } from "./bounds.gen.ts";
import type { Action, GameDefinition, ObservationValue, StartFields, UpdateResult } from "./contract.ts";
import { GameError, RuntimeError, show } from "./errors.ts";
import { GameInstance, type Instance, InstanceBase, type InstanceOptions } from "./instance.ts";
import {
  amountError,
  bareObservation,
  checkReward,
  isPromise,
  promiseError,
  readFlag,
  rewardError,
} from "./results.ts";

/** An instance of `definition`, whether it has one agent or several. Raises ConfigurationError, GameError. */
export function createInstance(definition: GameDefinition, options: InstanceOptions = {}): Instance {
  return (definition.numAgents ?? 1) === 1
    ? new GameInstance(definition, options)
    : new GroupInstance(definition, options);
}

/**
 * One copy of a game of several agents. An agent that has ended takes part again once the game says `active` for it; one that
 * is no longer active without having terminated was truncated.
 * The episode ends when the game ends itself (a single `terminated`, `done` or `truncated`), when no agent is active, or at the time limit.
 */
export class GroupInstance extends InstanceBase {
  step(actions: ArrayLike<Action>): void {
    if (this.episodeOver) throw new RuntimeError("step() expects a running episode: call start() first");
    const { ticksPerStep, hasMetrics, maxSteps } = this.checked;
    this.rewards.fill(0);
    // Who takes part is settled where a step begins, however many calls it is made of.
    if (this.episodeSteps % this.callsPerStep === 0) {
      this.terminated.fill(0);
      this.truncated.fill(0);
      this.valid.set(this.active);
    }
    let ticks = 0;
    let isEnded = false;
    let isTruncated = false;
    let result: UpdateResult;
    do {
      result = this.tick(actions);
      if (isPromise(result)) throw promiseError("update");
      ticks++;
      this.#addRewards(result);
      if (hasMetrics && result.info !== undefined) this.totals.addInfo(result.info);
      isEnded = this.#readEnds(result);
      isTruncated = readFlag("truncated", result.truncated);
      this.#readActive(result.active, "update");
      isEnded ||= this.#isNobodyActive();
    } while (ticks < ticksPerStep && !isEnded && !isTruncated);
    // Once: of a game that lives in a page it is only now looked for.
    const { observation } = result;
    if (observation !== undefined) this.#writeObservations("update", observation);
    for (const reader of this.readers) reader.checkFinite("update");
    if (!isEnded && !isTruncated && this.episodeSteps + 1 !== maxSteps) this.checkMasks("update");
    this.executedTicks = ticks;
    this.episodeTicks += ticks;
    this.episodeSteps += 1;
    const isStepOver = this.episodeSteps % this.callsPerStep === 0;
    for (let agent = 0; agent < this.numAgents; agent++) {
      const total = this.episodeReturns[agent] + this.rewards[agent];
      if (!(Math.abs(total) <= MAX_AMOUNT))
        throw amountError(`reward[${agent}]`, this.rewards[agent], "return", total);
      this.episodeReturns[agent] = total;
      // Sent away without an end of its own: it was stopped, what would follow is estimated (rule E1).
      if (isStepOver && this.active[agent] === 0 && this.#isPlaying(agent)) this.truncated[agent] = 1;
    }
    if (isEnded) this.endReason = "terminated";
    else if (isTruncated) this.endReason = "game_truncated";
    else if (this.episodeSteps === maxSteps) this.endReason = "time_limit";
    if (this.endReason !== null) this.#end();
  }

  protected readStart(result: StartFields | undefined): void {
    const observation = bareObservation(result, this.checked.definition);
    if (observation !== undefined) this.#writeObservations("start", observation);
    if (result !== undefined && result !== null && !Array.isArray(result))
      this.#readActive(result.active, "start");
  }

  /** Rewards count for agents that took part from the step's start and have not ended within it. */
  #addRewards(result: UpdateResult): void {
    const rewards = result.reward as ArrayLike<number> | undefined;
    const { rewardRange } = this.checked;
    const terms = this.checked.hasTerms
      ? (result.rewardTerms as ArrayLike<Record<string, number>> | undefined)
      : undefined;
    if (rewards === undefined && terms === undefined) throw rewardError("reward", undefined);
    this.#checkLength("update", "reward", rewards);
    this.#checkLength("update", "rewardTerms", terms);
    for (let agent = 0; agent < this.numAgents; agent++) {
      if (!this.#isPlaying(agent)) continue;
      const fromTerms = terms === undefined ? undefined : this.totals.addTerms(terms[agent] ?? {});
      const reward = rewards === undefined ? fromTerms : rewards[agent];
      if (typeof reward !== "number" || !Number.isFinite(reward))
        throw rewardError(`reward[${agent}]`, reward);
      if (rewardRange !== null) checkReward(`reward[${agent}]`, reward, rewardRange);
      this.rewards[agent] += reward;
    }
  }

  /** Takes in who ended in this tick; returns whether the game ended itself. */
  #readEnds(result: UpdateResult): boolean {
    const { terminated } = result;
    if (typeof terminated !== "object" || terminated === null) {
      return readFlag("terminated", terminated) || readFlag("done", result.done);
    }
    this.#checkLength("update", "terminated", terminated);
    for (let agent = 0; agent < this.numAgents; agent++) {
      const isEnded = readFlag(`terminated[${agent}]`, terminated[agent]);
      if (isEnded && this.#isPlaying(agent)) this.terminated[agent] = 1;
      if (isEnded) this.active[agent] = 0;
    }
    return readFlag("done", result.done);
  }

  #readActive(active: ArrayLike<boolean> | undefined, method: "start" | "update"): void {
    if (active === undefined) return;
    this.#checkLength(method, "active", active);
    for (let agent = 0; agent < this.numAgents; agent++) {
      this.active[agent] = readFlag(`active[${agent}]`, active[agent]) ? 1 : 0;
    }
  }

  #isPlaying(agent: number): boolean {
    return this.valid[agent] === 1 && this.terminated[agent] === 0;
  }

  #isNobodyActive(): boolean {
    for (let agent = 0; agent < this.numAgents; agent++) if (this.active[agent] === 1) return false;
    return true;
  }

  /** Ends the whole episode: agents still playing end the same way (rule E1: terminated wins). */
  #end(): void {
    this.episodeOver = true;
    const isTerminal = this.endReason === "terminated";
    for (let agent = 0; agent < this.numAgents; agent++) {
      if (!this.#isPlaying(agent)) continue;
      this.terminated[agent] = isTerminal ? 1 : 0;
      this.truncated[agent] = isTerminal ? 0 : 1;
    }
    this.active.fill(0);
  }

  #writeObservations(method: "start" | "update", value: unknown): void {
    this.#checkLength(method, "observation", value);
    for (let agent = 0; agent < this.numAgents; agent++) {
      this.readers[agent].write(method, (value as ArrayLike<ObservationValue>)[agent]);
    }
  }

  #checkLength(method: "start" | "update", field: string, value: unknown): void {
    if (value === undefined) return;
    const length = (value as ArrayLike<unknown> | null)?.length;
    if (length === this.numAgents) return;
    const came = typeof length === "number" ? `${length} entries` : show(value);
    const text = `${method}() returned ${field} with ${came}, expected an array of ${this.numAgents}, one entry per agent`;
    throw new GameError("shape", method, field, text);
  }
}
