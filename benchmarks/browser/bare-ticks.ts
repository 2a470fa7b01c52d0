/** The first of the two things a step cannot do without: the game's tick. */

import { checkedDefinition } from "attract/checked-definition";
import type { Action, GameDefinition, ObservationView, Out, StartContext } from "attract/contract";
import { createSequentialRandom, STREAM } from "attract/random";

/** `update` of many simple games in turn, restarted where they end; without the checks and counts of an instance. */
export class BareTicks {
  readonly #copies: Copy[];
  readonly #actions: readonly Action[];
  readonly #tickSeconds: number;
  readonly #maxTicks: number;
  #turn = 0;

  /** @param actions drawn from in turn. */
  constructor(definition: GameDefinition, views: readonly ObservationView[], actions: readonly Action[]) {
    const { tickSeconds, ticksPerStep, maxSteps } = checkedDefinition(definition);
    this.#tickSeconds = tickSeconds;
    this.#maxTicks = maxSteps * ticksPerStep;
    this.#actions = actions;
    this.#copies = views.map((view, i) => new Copy(definition, view, i));
    for (const copy of this.#copies) copy.start();
  }

  /** One tick of every game; returns how many that were. */
  run(): number {
    const copies = this.#copies;
    const actions = this.#actions;
    for (let i = 0; i < copies.length; i++) {
      const copy = copies[i];
      this.#turn = (this.#turn + 1) % actions.length;
      // As in an instance, the space says that the game gets the actions it takes: hence `never`.
      const result = copy.game.update(this.#tickSeconds, actions[this.#turn] as never, copy.out);
      copy.ticks++;
      if (result.terminated === true || copy.ticks === this.#maxTicks) copy.start();
    }
    return copies.length;
  }
}

/** One plain game and what it needs to be started. */
class Copy {
  readonly game: ReturnType<GameDefinition["create"]>;
  readonly out: Out;
  ticks = 0;
  #episode = 0;
  readonly #random = createSequentialRandom(STREAM.game);
  readonly #context: StartContext;
  readonly #index: number;

  constructor(definition: GameDefinition, view: ObservationView, index: number) {
    this.game = definition.create();
    this.out = { observation: view, actionMask: null };
    this.#index = index;
    this.#context = { random: this.#random.random, parameters: {}, out: this.out };
  }

  start(): void {
    this.#random.reset(1, 2, this.#episode++, this.#index);
    this.game.start(this.#context);
    this.ticks = 0;
  }
}
