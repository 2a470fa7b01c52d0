/** A player that does what led to the least familiar observation in its episode so far. */

import type { Seed } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { CoarseView } from "./coarse-view.ts";
import { heldActions } from "./held-actions.ts";
import { ChancePlayer } from "./player.ts";
import type { PlayerActions } from "./player-actions.ts";

/** An action is kept until the coarse observation changes, or for up to so many steps: as likely few as many. */
const MAX_KEPT_STEPS = 8;
/** Observations that are remembered of an episode. */
const MAX_SEEN = 1 << 16;

/** What one agent knows of the episode. */
class Memory {
  /** How often each coarse observation came up. */
  readonly counts = new Map<number, number>();
  /** What an action led to, by the observation before it and the action. */
  readonly outcomes = new Map<number, number>();
  before = 0;
  action = -1;
  /** Steps for which the action is still kept. */
  keptSteps = 0;

  forget(): void {
    this.counts.clear();
    this.outcomes.clear();
    this.action = -1;
    this.keptSteps = 0;
  }
}

/** Remembers nothing of other episodes, so that an episode is named by its index. */
export class NoveltyPlayer extends ChancePlayer {
  readonly #view: CoarseView;
  readonly #choices: readonly (readonly number[])[];
  readonly #memories: readonly Memory[];

  constructor(seed: Seed, definition: GameDefinition) {
    super(seed, "novelty");
    this.#view = new CoarseView(definition);
    this.#choices = heldActions(definition.action);
    this.#memories = Array.from({ length: definition.numAgents ?? 1 }, () => new Memory());
  }

  override begin(index: number): void {
    super.begin(index);
    for (const memory of this.#memories) memory.forget();
  }

  protected decide(agent: number, actions: PlayerActions, _step: number, { views }: Instance): void {
    const memory = this.#memories[agent];
    const now = this.#view.of(views[agent]);
    const isKept = memory.keptSteps > 0 && now === memory.before;
    if (!isKept || !actions.allows(this.#choices[memory.action], 0, agent)) {
      this.#learn(memory, now);
      memory.action = this.#leastSeen(memory, now, agent, actions);
      memory.before = now;
      memory.keptSteps = Math.floor(MAX_KEPT_STEPS ** this.chance.random());
    }
    memory.keptSteps--;
    actions.give(this.#choices[memory.action], 0, agent);
  }

  #learn({ counts, outcomes, before, action }: Memory, now: number): void {
    if (counts.size >= MAX_SEEN || outcomes.size >= MAX_SEEN) return;
    counts.set(now, (counts.get(now) ?? 0) + 1);
    if (action >= 0) outcomes.set(keyOf(before, action), now);
  }

  /** A tie is settled by chance; the first where the mask allows none of them. */
  #leastSeen({ counts, outcomes }: Memory, now: number, agent: number, actions: PlayerActions): number {
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    let numEqual = 0;
    for (let action = 0; action < this.#choices.length; action++) {
      if (!actions.allows(this.#choices[action], 0, agent)) continue;
      const outcome = outcomes.get(keyOf(now, action));
      const count = outcome === undefined ? 0 : (counts.get(outcome) ?? 0);
      if (count > least) continue;
      numEqual = count < least ? 1 : numEqual + 1;
      if (count < least || this.chance.random() * numEqual < 1) best = action;
      least = count;
    }
    return best;
  }
}

/** Exact: 32 bits of the observation and a few of the action. */
function keyOf(observation: number, action: number): number {
  return (observation >>> 0) * 64 + action;
}
