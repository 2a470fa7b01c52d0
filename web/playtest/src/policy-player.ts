/** A trained policy as a player: at its best, as in training, clumsy, or with excursions into chance. */

import type { EpisodeSeat, PlaytestPolicy, Seed } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { Agent, type AgentOptions } from "../../play/src/agent.ts";
import { type AgentController, controllerOf } from "../../play/src/controller.ts";
import { recordedActions } from "../../worker/src/stage/hand-actions.ts";
import { ChancePlayer } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

/** How a policy plays: `NAME:HOW`. */
export type Manner = "greedy" | "sampled" | "clumsy" | "excursions";

const MANNERS: Record<Manner, AgentOptions> = {
  greedy: {},
  sampled: { temperature: 1 },
  clumsy: { mistakeRate: 0.15, reactionSteps: 1 },
  excursions: {},
};
/** Steps by the policy before an excursion: as likely a few as many, each doubling the same. */
const POLICY_STEPS = [4, 512] as const;
const EXCURSION_STEPS = [10, 40] as const;

export class PolicyPlayer extends ChancePlayer {
  override readonly seat: EpisodeSeat;
  readonly #definition: GameDefinition;
  readonly #controller: AgentController;
  /** 1 where a new trajectory of the agent begins. */
  readonly #begins: Uint8Array;
  readonly #hasExcursions: boolean;
  /** What the policy does in this step, [agents * components]. */
  #row: ArrayLike<number> = [];
  #isAway = false;
  /** Step at which it goes on an excursion, or comes back. */
  #turnsAt = Number.POSITIVE_INFINITY;

  /** Raises AgentError, SyntaxError: the policy cannot be played. */
  constructor(
    seed: Seed,
    { name, document, model }: PlaytestPolicy,
    manner: Manner,
    definition: GameDefinition,
  ) {
    super(seed, `${name}:${manner}`);
    const { numAgents = 1 } = definition;
    this.#definition = definition;
    const files = { document: JSON.parse(document), model };
    const options = { ...MANNERS[manner], random: this.chance.random };
    // One for each: no two share a memory.
    const agents = Array.from({ length: numAgents }, () => new Agent(files, options));
    this.#controller = controllerOf(agents);
    this.#begins = new Uint8Array(numAgents);
    this.#hasExcursions = manner === "excursions";
    this.seat = {
      player: "policy",
      policy_id: name,
      policy_version: agents[0].policyVersion,
      deterministic: manner === "greedy",
    };
  }

  override begin(index: number): void {
    super.begin(index);
    this.#begins.fill(1);
    this.#isAway = false;
    if (this.#hasExcursions) this.#turnsAt = this.#policySteps();
  }

  override act(instance: Instance, step: number, actions: PlayerActions): boolean {
    const { active, terminated, truncated } = instance;
    for (let agent = 0; agent < actions.numAgents; agent++)
      if (terminated[agent] === 1 || truncated[agent] === 1) this.#begins[agent] = 1;
    if (step >= this.#turnsAt) this.#turn(step);
    if (!this.#isAway) {
      const choice = this.#controller.choose(instance, this.#begins);
      this.#row = recordedActions(this.#definition.action, actions.numAgents, choice, active);
    }
    return super.act(instance, step, actions);
  }

  protected decide(agent: number, actions: PlayerActions): void {
    if (this.#isAway) {
      actions.draw(agent, this.chance.random);
      return;
    }
    this.#begins[agent] = 0;
    actions.give(this.#row, agent, agent);
  }

  #turn(step: number): void {
    this.#isAway = !this.#isAway;
    const [least, most] = EXCURSION_STEPS;
    const excursion = least + this.chance.random.int(most - least + 1);
    this.#turnsAt = step + (this.#isAway ? excursion : this.#policySteps());
  }

  #policySteps(): number {
    const [least, most] = POLICY_STEPS;
    return Math.floor(least * (most / least) ** this.chance.random());
  }
}
