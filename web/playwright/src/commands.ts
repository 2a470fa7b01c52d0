/** What a test orders, done where the game is: in its page, or in Node for a module. What comes back is plain data. */

import type { PlaytestGame } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { keyOf } from "../../page-clock/src/key-codes.ts";
import type { GivenInput } from "../../page-probe/src/given-inputs.ts";
import { type Json, jsonOf, wordsOf } from "../../page-probe/src/json-value.ts";
import { ClaimWatch } from "../../playtest/src/claim-watch.ts";
import { createPlayer } from "../../playtest/src/players.ts";
import { PAD_BUTTONS, PAD_STICKS } from "../../sdk/src/page-inputs.gen.ts";
import { type FindingOrder, replayFinding } from "./finding.ts";
import { Sitting, type SittingOptions } from "./sitting.ts";
import type { Played, Replayed } from "./types.ts";

/** Of a value that a test compares: all digits of a float64. */
const DIGITS = 17;
const MAX_WORDS = 1_000;
const MAX_ERRORS = 64;
const PAD = [...PAD_BUTTONS, ...PAD_STICKS];
const PLAYER = /^(?:idle|random|sticky|novelty|hold-\d+|policy:\w+)$/;

/** What is pressed meanwhile, for frames of 1/60 s. */
export interface FramesOrder {
  inputs: GivenInput[];
  count: number;
}

export interface PlayOrder {
  player: string;
  seed: number;
  /** Game time. */
  seconds: number;
  /** What the player `policy:HOW` plays by: the text of policy.json, and the model in base64. */
  policy: { document: string; model: string } | null;
}

export interface UntilOrder extends FramesOrder {
  expression: string;
  /** Who plays until then; null: nobody. */
  play: PlayOrder | null;
}

export interface Answer {
  value: Json;
  /** Why it could not be done; null: it was. */
  failure: string | null;
  /** Errors of the game so far. */
  errors: string[];
}

export type CommandName = "open" | "frames" | "until" | "evaluate" | "play" | "replay";

/** Owned by one fixture. */
export class Commands {
  readonly #game: GameDefinition;
  readonly #options: SittingOptions;
  readonly #isPlain: boolean;
  /** Errors of the copies before this one. */
  readonly #errors: string[] = [];
  #sitting: Sitting | null = null;
  #seed = 0;
  #numEpisodes = 0;

  /** @param isPlain whether nothing is known of the game but its page. */
  constructor(game: GameDefinition, options: SittingOptions, isPlain = false) {
    this.#game = game;
    this.#options = options;
    this.#isPlain = isPlain;
  }

  /** Does one command. Never rejects: what went wrong is in the answer. */
  async obey(name: CommandName, order: unknown): Promise<Answer> {
    let value: unknown = null;
    let failure: string | null = null;
    try {
      value = await (this[name] as (order: unknown) => unknown).call(this, order);
    } catch (error) {
      const { name: kind, message } = (error ?? {}) as Partial<Error>;
      failure = wordsOf(
        message === undefined ? error : kind === "Error" ? message : `${kind}: ${message}`,
        MAX_WORDS,
      );
    }
    const now = this.#sitting === null ? [] : textsOf(this.#sitting);
    return { value: jsonOf(value, DIGITS), failure, errors: [...this.#errors, ...now].slice(0, MAX_ERRORS) };
  }

  /** A fresh copy; the size of its page, null of a module. */
  async open({ seed }: { seed: number }): Promise<readonly [width: number, height: number] | null> {
    this.close();
    this.#sitting = new Sitting(this.#game, { ...this.#options, isRead: true });
    this.#seed = seed;
    this.#numEpisodes = 0;
    await this.#begin(this.#sitting);
    return this.#game.page?.size ?? null;
  }

  async frames({ inputs, count }: FramesOrder): Promise<void> {
    await this.#open.frames(this.#known(inputs), count);
  }

  evaluate({ expression }: { expression: string }): unknown {
    return this.#open.evaluate(expression);
  }

  async play(order: PlayOrder, claim?: ClaimWatch): Promise<Played> {
    const sitting = this.#open;
    const { definition } = sitting;
    if (!PLAYER.test(order.player))
      throw new Error(
        `there is no player ${order.player}: idle, random, sticky, novelty, hold-0, hold-1, ...`,
      );
    if (this.#isPlain && !/^(?:idle|random|sticky|hold)/.test(order.player))
      throw new Error(
        `${order.player} decides by what it observes: that is in an adapter, which is not given`,
      );
    const given: Pick<PlaytestGame, "seed" | "policies" | "episodes"> = {
      seed: { low: order.seed, high: 0 },
      policies:
        order.policy === null
          ? []
          : [{ name: "policy", ...order.policy, model: bytesOf(order.policy.model) }],
      episodes: [],
    };
    const player = await createPlayer(order.player, given, definition, sitting.actions);
    if (sitting.instance.episodeOver) await this.#begin(sitting);
    const { tickSeconds, secondsPerStep = tickSeconds } = definition;
    return await sitting.play(player, Math.max(1, Math.round(order.seconds / secondsPerStep)), { claim });
  }

  /** Game time in seconds until the expression held. Rejects where it does not come to that. */
  async until({ expression, inputs, count, play }: UntilOrder): Promise<number> {
    const sitting = this.#open;
    const { tickSeconds } = sitting.definition;
    const claim = await ClaimWatch.of(expression, this.#game.page !== undefined, importedHere);
    claim.begin();
    if (claim.holds(sitting.window ?? sitting.instance.game, 0)) return 0;
    let seconds = 0;
    if (!claim.isSettled) {
      if (play !== null) seconds = (await this.play(play, claim)).seconds;
      else seconds = ((await sitting.frames(this.#known(inputs), count, claim)) ?? 0) * tickSeconds;
    }
    if (claim.hasHeld) return seconds;
    const { error, parts } = claim.result;
    if (error !== null) throw new Error(`${expression} cannot be evaluated: ${error}`);
    const nearest = parts.filter((part) => !part.has_held && part.nearest !== null);
    const last =
      nearest.length === 0
        ? `it was ${JSON.stringify(jsonOf(sitting.evaluate(expression)))}`
        : nearest.map((part) => `${part.text} came as near as ${part.nearest}`).join(", ");
    const limit = play?.seconds ?? count * tickSeconds;
    throw new Error(`${expression} did not hold within ${Number(limit.toFixed(1))} s: ${last}`);
  }

  async replay(order: FindingOrder): Promise<Replayed> {
    return await replayFinding(this.#game, order, this.#options);
  }

  close(): void {
    if (this.#sitting === null) return;
    this.#errors.push(...textsOf(this.#sitting));
    this.#sitting.close();
    this.#sitting = null;
  }

  /** Names that are labels of the adapter's are its actions. */
  #known(inputs: readonly GivenInput[]): GivenInput[] {
    const { page } = this.#game;
    if (page === undefined) return [...inputs];
    const labels = this.#isPlain ? [] : page.labels;
    return inputs.map((input) => {
      const { name, from, to } = input;
      if (input.kind !== "key") return input;
      if (labels.includes(name)) return { name, from, to, kind: "action" };
      if (keyOf(name, false)[1] !== 0 || PAD.includes(name)) return input;
      const own = labels.length === 0 ? "" : `, and no action of the adapter: ${labels.join(", ")}`;
      throw new Error(`${name} is no key's code, such as ArrowLeft, Space, KeyA or Digit1${own}`);
    });
  }

  async #begin(sitting: Sitting): Promise<void> {
    const episode = this.#numEpisodes++;
    await sitting.begin({ seed: { low: this.#seed, high: 0 }, instance: 0, episode, parameters: {} });
  }

  get #open(): Sitting {
    if (this.#sitting === null) throw new Error("the game is not open");
    return this.#sitting;
  }
}

function textsOf({ errors }: Sitting): string[] {
  return errors.map((text) => wordsOf(text, MAX_WORDS));
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** Of a module alone, and so in Node, which imports no blob. */
async function importedHere(code: string): Promise<Record<string, unknown>> {
  return { default: new Function(code.replace("export default", "return"))() };
}
