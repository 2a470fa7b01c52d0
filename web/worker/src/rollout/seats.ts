/** The agents of many games at work: what they see, who decides for them, and what was decided (rules C5, E9). */

import type { Lease, Seed } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { ActionRandom } from "attract/random";
import { actionMaskSize } from "attract/spaces";
import { ObservationBatch } from "../game/observation-batch.ts";
import type { ActionSampler } from "../policy/action-sampler.ts";
import { GameActions } from "../policy/game-actions.ts";
import type { Policy } from "../policy/policy.ts";
import { createSampler } from "../policy/sampler.ts";
import { type ControllerGroup, Controllers } from "./controllers.ts";

/**
 * Owned by one rollout loop or evaluation. Slots are instance-major: slot = instance * numAgents + agent. Allocates nothing
 * per step.
 */
export class Seats {
  readonly numAgents: number;
  readonly numInstances: number;
  readonly batch: ObservationBatch;
  readonly sampler: ActionSampler;
  readonly controllers: Controllers;
  /** [slots], V(observation) of the last `decide` or `readValues`; 0 for who does not play. */
  readonly values: Float32Array<ArrayBuffer>;
  readonly #random: ActionRandom;
  /** [slots]: the instance of each. */
  readonly #instanceOf: Int32Array;
  readonly #actions: GameActions;

  constructor(definition: GameDefinition, numInstances: number, stateSize: number) {
    this.numAgents = definition.numAgents ?? 1;
    this.numInstances = numInstances;
    const numSlots = numInstances * this.numAgents;
    const maskSize = definition.actionMask === true ? actionMaskSize(definition.action) : 0;
    this.batch = new ObservationBatch(definition.observation, numSlots, { maskSize, stateSize });
    this.sampler = createSampler(definition.action, numSlots);
    this.controllers = new Controllers(definition.observation, this.batch, this.numAgents);
    this.values = new Float32Array(numSlots);
    this.#random = new ActionRandom(numSlots, this.sampler.numDraws);
    this.#instanceOf = Int32Array.from({ length: numSlots }, (_, slot) => Math.floor(slot / this.numAgents));
    this.#actions = new GameActions(this.sampler, this.numAgents);
  }

  /** Memory for instance `i` of the batch: what it fills instead of returning it. */
  memory(i: number): ReturnType<ObservationBatch["memory"]> {
    return this.batch.memory(i * this.numAgents, this.numAgents);
  }

  /** See `Controllers.assign`. */
  assign(lease: Lease, policies: readonly Policy[]): void {
    this.controllers.assign(lease, policies);
  }

  /** Binds the agents of instance `i` to the action streams of the episode that begins. */
  setEpisode(i: number, seed: Seed, instanceId: number, episode: number): void {
    for (let agent = 0; agent < this.numAgents; agent++) {
      const slotId = instanceId * this.numAgents + agent;
      this.#random.setEpisode(i * this.numAgents + agent, seed.low, seed.high, slotId, episode);
    }
  }

  /** Has the programs outside decide for the agents that play, one program after the other; null: none plays. */
  think(instances: readonly (Instance | null)[]): Promise<void> | null {
    const { groups } = this.controllers;
    for (let g = 0; g < groups.length; g++)
      if (groups[g].policy.ask !== undefined) return this.#askAll(instances);
    return null;
  }

  /**
   * Takes an action for every agent that plays, from the policies' last runs; nothing is drawn for the others (rule E9).
   *
   * @param instances those that are not there, or over, are left out. @throws Error when a policy's numbers are not finite.
   */
  decide(instances: readonly (Instance | null)[]): void {
    const { groups } = this.controllers;
    for (let g = 0; g < groups.length; g++) {
      this.#fillUniforms(groups[g], instances);
      this.#decideGroup(groups[g], instances);
    }
  }

  /**
   * Repeats recorded actions: row `step * numAgents + agent` of `actions`, [rows, numComponents]. For a single instance; inactive
   * agents get none.
   */
  repeat(actions: ArrayLike<number>, step: number, game: Instance): void {
    for (let agent = 0; agent < this.numAgents; agent++) {
      const isActive = this.numAgents === 1 || game.active[agent] === 1;
      if (isActive) this.sampler.give(actions, step * this.numAgents + agent, agent);
      else this.sampler.rest(agent);
    }
  }

  async #askAll(instances: readonly (Instance | null)[]): Promise<void> {
    for (const { policy, slots } of this.controllers.groups) {
      if (policy.ask === undefined) continue;
      const asked = Array.from(slots).filter((slot) => {
        const game = instances[this.#instanceOf[slot]];
        return game !== null && (this.numAgents === 1 || game.active[slot % this.numAgents] === 1);
      });
      if (asked.length > 0) await policy.ask(this.batch, asked);
    }
  }

  /** In a pass of its own, which the compiler can make one piece of code of. */
  #fillUniforms(group: ControllerGroup, instances: readonly (Instance | null)[]): void {
    const { slots } = group;
    const { uniforms, numDraws } = this.sampler;
    for (let row = 0; row < slots.length; row++) {
      const slot = slots[row];
      const game = instances[this.#instanceOf[slot]];
      if (game !== null) this.#random.fill(slot, game.episodeSteps, uniforms, slot * numDraws);
    }
  }

  #decideGroup(group: ControllerGroup, instances: readonly (Instance | null)[]): void {
    const { sampler, values, numAgents } = this;
    const { masks } = this.batch;
    const { logProbs } = sampler;
    const { policy, slots, isDeterministic } = group;
    const { outputs, isRandom, values: policyValues } = policy;
    const isScript = policy.decide !== undefined;
    for (let row = 0; row < slots.length; row++) {
      const slot = slots[row];
      const i = this.#instanceOf[slot];
      const game = instances[i];
      // A single agent always plays: its game starts again within the step that ends it (rule E3).
      if (game === null || (numAgents > 1 && game.active[slot - i * numAgents] === 0)) {
        sampler.rest(slot);
        values[slot] = 0;
        continue;
      }
      if (isRandom) sampler.sampleUniform(masks, slot);
      else if (isScript) {
        sampler.give(policy.decide!(this.batch, slot, sampler.uniforms[slot * sampler.numDraws]), 0, slot);
      } else if (isDeterministic[row] === 1) sampler.choose(outputs, row, masks, slot);
      else sampler.sample(outputs, row, masks, slot);
      values[slot] = policyValues[row];
      // NaN - NaN and Infinity - Infinity are both NaN.
      if (logProbs[slot] - logProbs[slot] !== 0 || values[slot] - values[slot] !== 0) {
        throw notFinite(policy, slot);
      }
    }
  }

  /** What instance `i` is stepped with. */
  action(i: number): Action | readonly Action[] {
    return this.#actions.of(i);
  }

  /**
   * Takes in what the last step did to slot `slot`: its state advances. To be called for steps that were valid only; then
   * `forget` where its trajectory ended.
   */
  advance(slot: number): void {
    this.controllers.advance(slot);
  }

  /** The trajectory of slot `slot` ended: what follows begins without memory (rule S4). */
  forget(slot: number): void {
    this.batch.clearState(slot);
  }
}

function notFinite(policy: Policy, slot: number): Error {
  const { policyId, policyVersion } = policy;
  return new Error(
    `version ${policyVersion} of the policy ${policyId} gave a number that is not finite (row ${slot} of the batch)`,
  );
}
