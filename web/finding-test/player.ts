/** Plays the episode of a finding and says whether the fault is still there. */

import type { RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { numActionComponents, numChoices } from "attract/spaces";
import { listeningContext } from "../check/src/draw-check.ts";
import { EpisodeScript } from "../worker/src/episode/episode-script.ts";
import { type ActionNumbers, packActions, unpackActions } from "../worker/src/episode/packed-actions.ts";
import { SeenHash } from "../worker/src/episode/seen-hash.ts";
import { PageFrames } from "../worker/src/page/page-frames.ts";

/** Game time for which every input is held to see whether one of them changes anything. */
const HELD_SECONDS = 5;
/** Real time that a page gets after its last step. */
const SETTLE_MS = 250;
/** Inputs that are tried. */
const MAX_INPUTS = 24;

export interface FindingOrder {
  /** Id of the oracle: it says what the play is judged by. */
  oracle: string;
  episode: RecordedEpisode;
  /** Step in which it happens; null: not known. */
  step: number | null;
  /** Parts of errors that are no finding: those of the baseline, which has `#` in place of each number. */
  known: readonly string[];
  /** Whether a second play in the same copy has to begin, and nothing more. */
  begins?: boolean;
}

export interface PlayedFinding {
  /** A sentence each; empty: the fault is not there. */
  failures: string[];
  /** What else is to know of the play, a sentence each. */
  notes: string[];
}

/** One play to the end of its script, or of the episode. */
interface Play {
  /** What agents saw before each step and after the last, and what was drawn then. */
  seen: string[];
  isOver: boolean;
  /** Whether its time limit ended it: then the game did not. */
  isTimedOut: boolean;
  meanReturn: number;
  thrown: unknown;
}

/**
 * @param page of a game that lives in one: its address from the root of this document's origin.
 *
 * Rejects with EpisodeMismatch where the episode is not of this game.
 */
export async function playFinding(
  game: GameDefinition,
  order: FindingOrder,
  page: string | null = null,
): Promise<PlayedFinding> {
  const errors: string[] = [];
  const stage = new Stage(game, page, order.oracle, (error) => errors.push(error));
  const restore = page === null ? hearConsole((text) => errors.push(text)) : () => {};
  try {
    const failures = await judge(stage, order);
    const isError = order.oracle === "error" || order.oracle === "nan";
    if (isError) failures.push(...errors, ...stage.missing);
    const isNews = (text: string): boolean =>
      !order.known.some((part) => withoutNumbers(text).includes(withoutNumbers(part)));
    return { failures: [...new Set(failures)].filter(isNews), notes: stage.notes };
  } finally {
    restore();
    stage.close();
  }
}

async function judge(stage: Stage, { oracle, step, ...order }: FindingOrder): Promise<string[]> {
  // A file leaves out what has a default.
  const episode: RecordedEpisode = { ...{ parameters: {}, error: null }, ...order.episode };
  if (oracle === "soft-lock") return await stuckFailures(stage, episode, step);
  if (oracle === "retry-broken") return await retryFailures(stage, episode, order.begins === true);
  const play = await stage.play(episode, true);
  if (play.thrown !== null)
    return [`the game failed in step ${play.seen.length - 1}: ${textOf(play.thrown)}`];
  if (oracle === "endless" || oracle === "cannot-be-lost")
    return play.isOver && !play.isTimedOut
      ? []
      : [`the game did not end the episode within ${episode.num_steps} steps`];
  if (oracle === "won-without-input" || oracle === "score-exploit") {
    const before = episode.returns.reduce((sum, value) => sum + value, 0) / episode.returns.length;
    const isReached = play.meanReturn >= before - 1e-9 * Math.max(1, Math.abs(before));
    return isReached ? [`this play still reaches a return of ${play.meanReturn}`] : [];
  }
  return [];
}

/** If every input leads to the same state, no input of a player matters. */
async function stuckFailures(stage: Stage, episode: RecordedEpisode, step: number | null): Promise<string[]> {
  const held = Math.max(1, Math.ceil(HELD_SECONDS / episode.seconds_per_step));
  const from = Math.min(step ?? episode.num_steps - held, episode.num_steps);
  const first = await stage.play(await continued(stage.definition, episode, from, 0, held));
  if (first.isOver || first.thrown !== null) return [];
  const inputs = numInputs(stage.definition);
  for (let input = 1; input < inputs; input++) {
    const other = await stage.play(await continued(stage.definition, episode, from, input, held));
    if (other.isOver || other.thrown !== null || other.seen.join() !== first.seen.join()) return [];
  }
  const at = (from * episode.seconds_per_step).toFixed(1);
  return [`from step ${from} (${at} s) on, all ${inputs} inputs lead to the same for ${HELD_SECONDS} s`];
}

/** The same episode twice in one copy of the game, by its own restart. */
async function retryFailures(stage: Stage, episode: RecordedEpisode, begins: boolean): Promise<string[]> {
  const [first, again] = await stage.playTwice(episode);
  if (begins)
    return again.seen.length > 0 || again.thrown === null
      ? []
      : [`the game does not begin again: ${textOf(again.thrown)}`];
  if (again.thrown !== null) return [`the second play failed: ${textOf(again.thrown)}`];
  const length = Math.max(first.seen.length, again.seen.length);
  for (let step = 0; step < length; step++)
    if (first.seen[step] !== again.seen[step])
      return [`the second play in the same copy differs from the first at step ${step}`];
  return [];
}

/** A game, and where it is played. Owned by one `playFinding`. */
class Stage {
  readonly definition: GameDefinition;
  readonly notes: string[] = [];
  readonly #hash: SeenHash;
  readonly #pages: PageFrames | null = null;
  /** The page that was loaded last. */
  #window: (Window & typeof globalThis) | null = null;
  readonly #isDrawn: boolean;

  constructor(game: GameDefinition, page: string | null, oracle: string, hear: (error: string) => void) {
    this.#isDrawn = oracle === "soft-lock";
    this.#hash = new SeenHash(game);
    if (game.page === undefined || page === null) {
      this.definition = game;
      return;
    }
    const adapter = game.page;
    const prepare: typeof adapter.prepare = (window, parameters) => {
      this.#window = window;
      const { error } = window.console;
      window.console.error = (...args: unknown[]) => {
        hear(`console.error: ${args.map(textOf).join(" ")}`);
        error.apply(window.console, args);
      };
      adapter.prepare?.(window, parameters);
    };
    this.#pages = new PageFrames(
      { ...game, page: { ...adapter, page, prepare } },
      {
        base: document.baseURI,
        maxCopies: 1,
        isFresh: oracle !== "retry-broken",
        draws: this.#isDrawn,
        webGl: "null",
      },
    );
    this.definition = this.#pages.definition;
  }

  /** Errors that the pages threw and went on, and files that they asked for in vain. */
  get missing(): string[] {
    if (this.#pages === null) return [];
    const { errors, unheld } = this.#pages.seen;
    return [...errors, ...unheld.of("file").map((what) => `the page ${what}`)];
  }

  close(): void {
    this.#pages?.close();
  }

  /** On a fresh copy. @param isRecord whether a difference from the record is noted. */
  async play(episode: RecordedEpisode, isRecord = false): Promise<Play> {
    const instance = createInstance(this.definition);
    try {
      return await this.#played(instance, episode, isRecord);
    } finally {
      instance.game.dispose?.();
    }
  }

  /** One after the other on one copy. */
  async playTwice(episode: RecordedEpisode): Promise<[Play, Play]> {
    const instance = createInstance(this.definition);
    try {
      return [await this.#played(instance, episode, true), await this.#played(instance, episode, false)];
    } finally {
      instance.game.dispose?.();
    }
  }

  async #played(instance: Instance, recorded: RecordedEpisode, isRecord: boolean): Promise<Play> {
    const script = await EpisodeScript.of(this.definition, recorded);
    const { seed, instance: stream, episode, parameters } = recorded;
    const play: Play = { seen: [], isOver: false, isTimedOut: false, meanReturn: 0, thrown: null };
    let isDifferent = !isRecord;
    instance.setStream(seed.low, seed.high, stream);
    try {
      await this.#pages?.preload();
      await instance.begin(episode, parameters);
      for (let step = 0; step < script.numSteps && !instance.episodeOver; step++) {
        play.seen.push(this.#state(instance));
        const difference = isDifferent ? null : script.difference(step, instance);
        if (difference !== null) {
          isDifferent = true;
          this.notes.push(`This build plays differently from the recorded one: ${difference.text}.`);
        }
        await instance.take(script.action(step, instance));
      }
      play.seen.push(this.#state(instance));
      // What the page has asked for, and a promise that it rejected, may be under way.
      if (isRecord && this.#pages !== null) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    } catch (error) {
      play.thrown = error;
    }
    play.isOver = instance.episodeOver;
    play.isTimedOut = instance.endReason === "time_limit";
    const { episodeReturns } = instance;
    play.meanReturn = episodeReturns.reduce((sum, value) => sum + value, 0) / episodeReturns.length;
    return play;
  }

  /** What the agents see; where a lock is looked for also what a person does. */
  #state(instance: Instance): string {
    const seen = (this.#hash.of(instance) >>> 0).toString(16);
    if (!this.#isDrawn) return seen;
    if (this.#window === null) return `${seen} ${drawnCalls(instance)}`;
    const { document } = this.#window;
    const canvases = Array.from(document.querySelectorAll("canvas"), (canvas) => canvas.toDataURL());
    return [seen, document.body.innerHTML, ...canvases].join(" ");
  }
}

function drawnCalls({ game }: Instance): string {
  const heard = { marks: 0, bad: "", calls: [] as string[] };
  game.draw?.(listeningContext(heard), 320, 240);
  return heard.calls.join(";");
}

/** Inputs that `continued` can hold: each choice of each component, the others at rest; a real number low, amid and high. */
function numInputs({ action }: GameDefinition): number {
  let count = 0;
  for (let c = 0; c < numActionComponents(action); c++) count += numChoices(action, c) ?? 3;
  return Math.min(count, MAX_INPUTS);
}

/** The episode as far as step `from`, and one input held for `held` steps by every agent. */
async function continued(
  { action }: GameDefinition,
  episode: RecordedEpisode,
  from: number,
  input: number,
  held: number,
): Promise<RecordedEpisode> {
  const numbers = await unpackActions(episode.actions);
  const [, ...rowShape] = episode.actions.shape;
  const rowLength = rowShape.reduce((product, extent) => product * extent, 1);
  const Kind = numbers.constructor as { new (length: number): ActionNumbers };
  const longer = new Kind((from + held) * rowLength);
  longer.set(numbers.subarray(0, from * rowLength));
  const components = numActionComponents(action);
  let left = input;
  let at = 0;
  while (left >= (numChoices(action, at) ?? 3)) left -= numChoices(action, at++) ?? 3;
  const value = numChoices(action, at) === null ? left - 1 : left;
  for (let i = from * rowLength; i < longer.length; i++) longer[i] = i % components === at ? value : 0;
  return {
    ...episode,
    actions: packActions(longer, [from + held, ...rowShape]),
    num_steps: from + held,
    marks: { interval: 1, hashes: "" },
  };
}

/** Hands on what is written to this thread's `console.error`; call what is returned to end that. */
function hearConsole(hear: (text: string) => void): () => void {
  const { error } = console;
  console.error = (...args: unknown[]) => {
    hear(`console.error: ${args.map(textOf).join(" ")}`);
    error.apply(console, args);
  };
  return () => {
    console.error = error;
  };
}

/** The first line without what differs from play to play, as the baseline keeps it. */
function withoutNumbers(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.replaceAll(/\(?https?:\/\/[^\s)]*\)?/g, "").replaceAll(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, "#");
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}
