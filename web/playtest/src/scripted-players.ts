/** Players that look at nothing: what they do is given, drawn, recorded, or asked of a program outside of the browser. */

import type { EpisodeSeat, RecordedEpisode, Seed } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { EpisodeScript } from "../../worker/src/episode/episode-script.ts";
import { seatOf } from "../../worker/src/episode/episode-tape.ts";
import { AskedSlots, type AskOutside } from "../../worker/src/policy/outside-policy.ts";
import { AgentPlayer, ChancePlayer } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

/** Probability with which a sticky player keeps its action. */
const STICKINESS = 0.9;

/** Holds one action. */
export class HoldingPlayer extends AgentPlayer {
  readonly #action: readonly number[];

  /** @param action as it travels. */
  constructor(action: readonly number[]) {
    super();
    this.#action = action;
  }

  protected decide(agent: number, actions: PlayerActions): void {
    actions.give(this.#action, 0, agent);
  }
}

/** Draws each action. */
export class RandomPlayer extends ChancePlayer {
  override readonly seat = seatOf("random");

  constructor(seed: Seed) {
    super(seed, "random");
  }

  protected decide(agent: number, actions: PlayerActions): void {
    actions.draw(agent, this.chance.random);
  }
}

/** Draws actions and keeps each for a while. */
export class StickyPlayer extends ChancePlayer {
  /** [agents * components], what each agent did last. */
  readonly #kept: Float64Array;

  constructor(seed: Seed, { numAgents, numComponents }: PlayerActions) {
    super(seed, "sticky");
    this.#kept = new Float64Array(numAgents * numComponents);
  }

  protected decide(agent: number, actions: PlayerActions, step: number): void {
    const kept = this.#kept;
    const { random } = this.chance;
    const keeps = step > 0 && random() < STICKINESS;
    if (keeps && actions.allows(kept, agent, agent)) {
      actions.give(kept, agent, agent);
      return;
    }
    actions.draw(agent, random);
    const size = actions.numComponents;
    for (let at = agent * size; at < (agent + 1) * size; at++) kept[at] = actions.row[at];
  }
}

/** Does again what was done in a recorded episode. */
export class RecordedPlayer extends AgentPlayer {
  override readonly recorded: RecordedEpisode;
  readonly #script: EpisodeScript;

  private constructor(script: EpisodeScript) {
    super();
    this.recorded = script.episode;
    this.#script = script;
  }

  /** Rejects with EpisodeMismatch where the episode is not of this game, or is damaged. */
  static async of(definition: GameDefinition, episode: RecordedEpisode): Promise<RecordedPlayer> {
    return new RecordedPlayer(await EpisodeScript.of(definition, episode));
  }

  override act(instance: Instance, step: number, actions: PlayerActions): boolean {
    return step < this.#script.numSteps && super.act(instance, step, actions);
  }

  protected decide(agent: number, actions: PlayerActions, step: number): void {
    actions.give(this.#script.numbers, step * actions.numAgents + agent, agent);
  }
}

/** A program outside plays all agents. An episode stops, and counts, once its time is over: a slow program ends few. */
export class OutsidePlayer extends AgentPlayer {
  override readonly seat: EpisodeSeat;
  readonly #asked: AskedSlots;
  readonly #isOver: () => boolean;

  constructor(name: string, definition: GameDefinition, ask: AskOutside, isOver: () => boolean) {
    super();
    this.seat = { ...seatOf("script"), policy_id: name };
    this.#asked = new AskedSlots(name, definition, definition.numAgents ?? 1, ask);
    this.#isOver = isOver;
  }

  async think({ active, views }: Instance, { masks }: PlayerActions): Promise<void> {
    const agents = Array.from(active.keys()).filter((agent) => active[agent] === 1);
    if (agents.length > 0 && !this.#isOver()) await this.#asked.ask(views, masks, agents);
  }

  override act(instance: Instance, step: number, actions: PlayerActions): boolean {
    return !this.#isOver() && super.act(instance, step, actions);
  }

  protected decide(agent: number, actions: PlayerActions): void {
    actions.give(this.#asked.action(agent), 0, agent);
  }
}
