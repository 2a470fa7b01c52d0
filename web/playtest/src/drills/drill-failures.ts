/** Errors of a game that a drill plays: alarms of the game like those of the crowd, each with the episode that shows it. */

import type { EpisodeError, PlaytestDrilled, Seed } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { Instance } from "attract/instance";
import { EpisodeTape, seatOf } from "../../../worker/src/episode/episode-tape.ts";
import { episodeError, NOWHERE, reportOf } from "../../../worker/src/game/failures.ts";
import { isLate } from "../../../worker/src/page/page-frame.ts";
import { recordedActions } from "../../../worker/src/stage/hand-actions.ts";
import { EpisodeAlarms } from "../alarms.ts";

/** More of one drill say nothing new. */
const MAX_FAILURES = 3;

/** What one drill says. */
export type Drilled = Omit<PlaytestDrilled, "kind">;

/** An action, or one for each agent. */
export type Move = Action | ArrayLike<Action>;

/** Owned by one drill. */
export class DrillFailures {
  readonly #alarms = new EpisodeAlarms();
  readonly #recorded: Drilled["recorded"] = [];

  /** What a drill found, and the errors that it met. */
  addTo(drilled: Drilled): Drilled {
    return {
      ...drilled,
      alarms: [...drilled.alarms, ...this.#alarms.all],
      recorded: [...drilled.recorded, ...this.#recorded],
    };
  }

  /** Takes in what a copy threw while `tape` recorded it, unless it is known. */
  add(thrown: unknown, definition: GameDefinition, instance: Instance, tape: DrillTape): void {
    if (this.#recorded.length === MAX_FAILURES || isLate(thrown)) return;
    const error = episodeError(thrown, instance);
    const failed = { definition, instance, action: tape.move };
    const { kind, text, stack, method } = reportOf(thrown, NOWHERE, undefined, failed);
    // A page's methods are those of its adapter's player.
    const source = definition.page === undefined ? method : null;
    const place = { step: instance.episodeSteps, tick: error.tick };
    this.#alarms.add(kind === "nan" ? "nan" : "error", { text, stack }, place, source);
    if (this.#alarms.all.length > this.#recorded.length) this.#recorded.push(tape.failed(instance, error));
  }
}

/** What one copy of a drill plays, as a recorded episode has it. */
export class DrillTape {
  readonly #action: GameDefinition["action"];
  readonly #tape: EpisodeTape;
  #seed: Seed = { low: 0, high: 0 };
  /** What was played last. */
  move: Move = 0;

  constructor(definition: GameDefinition) {
    this.#action = definition.action;
    this.#tape = new EpisodeTape(definition);
  }

  begin(seed: Seed, parameters: Readonly<Record<string, number>>): void {
    this.#seed = seed;
    this.#tape.begin(parameters);
  }

  /** The copy is about to take a step. */
  add(instance: Instance, move: Move): void {
    this.move = move;
    const { numAgents, active } = instance;
    this.#tape.add(instance, recordedActions(this.#action, numAgents, move, active), 0);
  }

  failed(instance: Instance, error: EpisodeError): Drilled["recorded"][number] {
    const seats = Array.from({ length: instance.numAgents }, () => seatOf("random"));
    const terms = { run_id: null, seed: this.#seed, lesson_id: null, seats };
    return this.#tape.recorded(instance, terms, null, error);
  }
}
