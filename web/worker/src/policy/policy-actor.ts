/** A policy playing one game on a page, decision by decision: for watching, and for the agent inside a shipped game. */

import type { Action, BoxView } from "attract/contract";
import type { Instance } from "attract/instance";
import { createSequentialRandom, STREAM } from "attract/random";
import { actionMaskSize } from "attract/spaces";
import { ObservationBatch } from "../game/observation-batch.ts";
import type { ActionSampler } from "./action-sampler.ts";
import type { ModelPolicy } from "./policy.ts";
import type { PolicyGame } from "./policy-session.ts";
import { createSampler } from "./sampler.ts";

export { createPolicySession } from "./policy-session.ts";

export interface ActOptions {
  /** Whether to take the most probable action instead of drawing one. Default true. */
  deterministic?: boolean;
}

/** Controls every agent of one game; owned by one page. */
export class PolicyActor {
  /** One per agent, the same object for agents that share one; may be exchanged between two decisions. */
  sessions: readonly ModelPolicy[];
  readonly #sampler: ActionSampler;
  readonly #batch: ObservationBatch;
  readonly #numAgents: number;
  readonly #random = createSequentialRandom(STREAM.action);

  /**
   * @param sessions one per agent, or one for all. @param seed 32 bits, of the draws that are not deterministic.
   * @throws Error for another number of sessions.
   */
  constructor(sessions: readonly ModelPolicy[], game: PolicyGame & { num_agents: number }, seed = 0) {
    const maskSize = game.action_mask ? actionMaskSize(game.action) : 0;
    if (sessions.length !== 1 && sessions.length !== game.num_agents) {
      throw new Error(`expected a policy for each of the ${game.num_agents} agents, got ${sessions.length}`);
    }
    const { stateSize } = sessions[0];
    this.sessions = sessions;
    this.#numAgents = game.num_agents;
    this.#sampler = createSampler(game.action, game.num_agents);
    this.#batch = new ObservationBatch(game.observation, game.num_agents, { maskSize, stateSize });
    this.#random.reset(seed, 0, 0, 0);
  }

  /**
   * What the game's agents do next: an action, or with several agents an array of one each.
   *
   * @param begins per agent, 1 when a new trajectory of it begins with this decision: it is made without memory (rule S4).
   * Raises Error when a session, exchanged meanwhile, takes another state than the first.
   */
  async act(instance: Instance, begins: Uint8Array, options: ActOptions = {}): Promise<Action | Action[]> {
    const { sessions } = this;
    const batch = this.#batch;
    for (const { stateSize } of sessions) {
      if (stateSize !== batch.stateSize) {
        throw new Error(`expected a policy with a state of ${batch.stateSize}, got ${stateSize}`);
      }
    }
    for (let agent = 0; agent < this.#numAgents; agent++) {
      if (begins[agent] === 1) batch.clearState(agent);
      this.#see(instance, agent);
    }
    // A game has few agents: each policy looks at all of them, and is asked about its own.
    for (const session of new Set(sessions)) await session.run(batch, this.#numAgents);
    for (let agent = 0; agent < this.#numAgents; agent++) {
      if (instance.active[agent] === 0) this.#sampler.rest(agent);
      else this.#decide(agent, sessions[agent] ?? sessions[0], options.deterministic ?? true);
    }
    const actions = Array.from({ length: this.#numAgents }, (_, agent) => this.#sampler.gameAction(agent));
    return this.#numAgents === 1 ? actions[0] : actions;
  }

  /** Probabilities of `agent`'s last decision, as `ActionSampler.probabilities`. Not to be called during a decision. */
  probabilities(agent: number): Float64Array {
    const session = this.sessions[agent] ?? this.sessions[0];
    return this.#sampler.probabilities(session.outputs, agent, this.#batch.masks, agent);
  }

  #see(instance: Instance, agent: number): void {
    const batch = this.#batch;
    const view = instance.views[agent];
    for (let e = 0; e < batch.entries.length; e++) {
      const { name, size } = batch.entries[e];
      const part = ArrayBuffer.isView(view) ? (view as BoxView) : (view as Record<string, BoxView>)[name];
      batch.arrays[e].set(part, agent * size);
    }
    if (batch.maskSize > 0) batch.masks.set(instance.masks[agent], agent * batch.maskSize);
  }

  #decide(agent: number, session: ModelPolicy, isDeterministic: boolean): void {
    const { numDraws, uniforms } = this.#sampler;
    const { outputs, states } = session;
    const { masks, stateSize } = this.#batch;
    if (isDeterministic) this.#sampler.choose(outputs, agent, masks, agent);
    else {
      for (let c = 0; c < numDraws; c++) uniforms[agent * numDraws + c] = this.#random.random();
      this.#sampler.sample(outputs, agent, masks, agent);
    }
    this.#batch.states.set(states.subarray(agent * stateSize, (agent + 1) * stateSize), agent * stateSize);
  }
}
