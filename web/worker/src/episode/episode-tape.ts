/** The episode that one copy of a game plays, recorded while it is played: actions, and marks of what is seen (rule C5). */

import type { EpisodeError, EpisodeSeat, RecordedEpisode, Seat, Seed } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import type { EndReason, Instance } from "attract/instance";
import { isScalarAction, numActionComponents } from "attract/spaces";
import { type ActionNumbers, actionNumbers, MAX_ACTION_BYTES, packActions } from "./packed-actions.ts";
import { SeenHash } from "./seen-hash.ts";

/** Marks of a recorded episode at most: an hour of a game's time, and all that the file's format allows. */
const MAX_MARKS = 1 << 17;
/** Steps and marks that a new tape has room for. */
const FIRST_STEPS = 256;
const FIRST_MARKS = 16;
/** Beginning of the policy's id of a script's seat; its file follows. */
const SCRIPT = "script:";
/** Room in a frame beside an episode's actions and marks: names, parameters, seats, a stack. */
const OTHER_FIELDS_BYTES = 1 << 16;

/** Whose play it is, besides the copy's own streams. */
export interface RecordedTerms {
  run_id: string | null;
  seed: Seed;
  lesson_id: string | null;
  seats: readonly EpisodeSeat[];
}

/** Where the actions of a copy stand when it is stepped: `numAgents * numComponents` numbers from `offset`. */
export type ActionRow = ArrayLike<number>;

/** Steps between two marks: about a second of game time. */
export function markInterval({ tickSeconds, secondsPerStep = tickSeconds }: GameDefinition): number {
  return Math.max(1, Math.round(1 / secondsPerStep));
}

/** A seat that no policy plays. */
export function seatOf(player: "person" | "random" | "script"): EpisodeSeat {
  return { player, policy_id: null, policy_version: null, deterministic: false };
}

/** The seats of a lease, as a recorded episode names their players. */
export function recordedSeats(seats: readonly Seat[]): EpisodeSeat[] {
  return seats.map(({ script, policy_id, policy_version, deterministic }) => {
    if (script === "random") return seatOf("random");
    if (script === "outside" || policy_id.startsWith(SCRIPT)) return { ...seatOf("script"), policy_id };
    return { player: "policy", policy_id, policy_version, deterministic };
  });
}

/** Owned by who steps the copy; allocates only where an episode is longer than all before it. */
export class EpisodeTape {
  readonly #definition: GameDefinition;
  readonly #rowSize: number;
  readonly #hash: SeenHash;
  readonly #interval: number;
  readonly #Numbers: ReturnType<typeof actionNumbers>;
  #actions: ActionNumbers;
  #marks = new Uint32Array(FIRST_MARKS);
  #parameters: Readonly<Record<string, number>> = {};
  #steps = 0;
  #isComplete = false;

  constructor(definition: GameDefinition) {
    this.#definition = definition;
    this.#rowSize = (definition.numAgents ?? 1) * numActionComponents(definition.action);
    this.#hash = new SeenHash(definition);
    this.#interval = markInterval(definition);
    this.#Numbers = actionNumbers(definition);
    this.#actions = new this.#Numbers(FIRST_STEPS * this.#rowSize);
  }

  /** The next step is the first of an episode with these parameters. */
  begin(parameters: Readonly<Record<string, number>> | undefined): void {
    this.#parameters = parameters === undefined ? {} : { ...parameters };
    this.#steps = 0;
    this.#isComplete = true;
  }

  /** The copy is about to take a step with these actions; inactive agents have zeros. */
  add(instance: Instance, actions: ActionRow, offset: number): void {
    if (!this.#isComplete) return;
    const step = this.#steps;
    const at = step * this.#rowSize;
    if (at + this.#rowSize > this.#actions.length && !this.#grow()) return;
    if (step % this.#interval === 0 && !this.#mark(step / this.#interval, this.#hash.of(instance))) return;
    const own = this.#actions;
    for (let c = 0; c < this.#rowSize; c++) own[at + c] = actions[offset + c];
    this.#steps = step + 1;
  }

  /**
   * What was recorded, as a file has it; null: not all of it was. What the instance says of the outcome is taken as it stands.
   *
   * @param reason of the end; null: its player stopped.
   * @param error of the last step, which then counts as a step.
   */
  recorded(
    instance: Instance,
    terms: RecordedTerms,
    reason: EndReason | null,
    error: EpisodeError | null = null,
  ): RecordedEpisode | null {
    if (!this.#isComplete) return null;
    const { tickSeconds, secondsPerStep = tickSeconds, action, id, numAgents = 1 } = this.#definition;
    const steps = this.#steps;
    const shape = isScalarAction(action) ? [steps, numAgents] : [steps, numAgents, this.#rowSize / numAgents];
    const numMarks = Math.ceil(steps / this.#interval);
    return {
      format: "attract-episode",
      version: 2,
      id: "",
      run_id: terms.run_id,
      game_id: id,
      game_sha256: null,
      description_sha256: null,
      page_sha256: null,
      device: this.#definition.page?.device ?? null,
      seed: terms.seed,
      instance: instance.instanceId,
      episode: instance.episode,
      parameters: { ...this.#parameters },
      lesson_id: terms.lesson_id,
      seats: terms.seats.map((seat) => ({ ...seat })),
      seconds_per_step: secondsPerStep,
      actions: packActions(this.#actions.slice(0, steps * this.#rowSize), shape),
      marks: { interval: this.#interval, hashes: digits(this.#marks.subarray(0, numMarks)) },
      returns: [...instance.episodeReturns],
      num_steps: steps,
      num_ticks: error === null ? instance.episodeTicks : error.tick,
      end_reason: error !== null ? "failed" : (reason ?? "stopped"),
      error,
      created_at: "",
    };
  }

  /** Whether there is room for a step more. */
  #grow(): boolean {
    const length = Math.min(
      2 * this.#actions.length,
      Math.floor(MAX_ACTION_BYTES / this.#Numbers.BYTES_PER_ELEMENT),
    );
    this.#isComplete = (this.#steps + 1) * this.#rowSize <= length;
    if (!this.#isComplete) return false;
    const longer = new this.#Numbers(length);
    longer.set(this.#actions);
    this.#actions = longer;
    return true;
  }

  #mark(at: number, hash: number): boolean {
    if (at >= this.#marks.length) {
      this.#isComplete = at < MAX_MARKS;
      if (!this.#isComplete) return false;
      const longer = new Uint32Array(2 * at);
      longer.set(this.#marks);
      this.#marks = longer;
    }
    this.#marks[at] = hash;
    return true;
  }
}

/** The episode; null where a frame of at most `maxBytes` has no room for it and what is told with it. */
export function fitting(episode: RecordedEpisode | null, maxBytes: number): RecordedEpisode | null {
  return episode === null || recordedBytes(episode) > maxBytes ? null : episode;
}

/** What an episode takes of a frame, at most. */
export function recordedBytes({ actions, marks }: RecordedEpisode): number {
  return actions.data.length + marks.hashes.length + OTHER_FIELDS_BYTES;
}

/** 8 hexadecimal digits per hash. */
export function digits(hashes: ArrayLike<number>): string {
  return Array.from(hashes, (hash) => hash.toString(16).padStart(8, "0")).join("");
}
