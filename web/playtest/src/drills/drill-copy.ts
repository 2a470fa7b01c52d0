/** A copy of a game that a drill plays: new for each episode or kept, with a number for what is to be seen in it. */

import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { observedName } from "attract/observed";
import { allowedAction } from "attract/page/play";
import type { PageWindow } from "attract/page-adapter";
import { maskGroups } from "attract/spaces";
import type { EpisodeScript } from "../../../worker/src/episode/episode-script.ts";
import { isGameError } from "../../../worker/src/game/failures.ts";
import type { PageFrame } from "../../../worker/src/page/page-frame.ts";
import { PageFrames } from "../../../worker/src/page/page-frames.ts";
import { YIELD_MS } from "../../../worker/src/rollout/yielding.ts";
import type { SightEyes } from "../sight/sight-eyes.ts";
import { DrillTape, type Move } from "./drill-failures.ts";
import type { DrillOptions } from "./drill-options.ts";
import { PageEyes } from "./page-eyes.ts";
import { Picture } from "./picture.ts";

/** What is played next; called once per step. */
export type Mover = (instance: Instance) => Move;

/** Picture of a game that failed. */
const FAILED = 2 ** 41;

export interface CopyKind {
  /**
   * Whether each episode is played on a new copy: of a game that lives in a page, in a new page, where `restarted` begins it by
   * the game's own restart.
   */
  isFresh: boolean | "restarted";
  /** Whether pictures are asked for, and of what. Default: none. */
  sees?: "drawn" | "seen" | undefined;
  /** What looks at its pages, which are drawn then. Default: nothing. */
  eyes?: SightEyes;
  /** Whether an episode may go otherwise than it was recorded, as long as it always goes so here. Default: no. */
  isLoose?: boolean;
}

/** The names that an episode's random streams have. */
export type EpisodeName = Pick<EpisodeScript["episode"], "seed" | "instance" | "episode" | "parameters">;

/** What followed from a moment of an episode. */
export interface Fork {
  /** Every so many steps; what follows the end is left out. */
  pictures: number[];
  /** Steps taken. */
  steps: number;
  /** Whether the episode ended by itself, or the game failed. */
  isOver: boolean;
}

/** Owned by one drill, which closes it. */
export class DrillCopy {
  readonly definition: GameDefinition;
  readonly #kind: CopyKind;
  readonly #options: DrillOptions;
  readonly #frames: PageFrames | null;
  readonly #picture: Picture;
  readonly #tape: DrillTape;
  #instance: Instance | null = null;
  #page: PageFrame | null = null;
  /** Whether the last start failed in a used copy. */
  #isUnbegun = false;
  #lastYield: number;

  constructor(game: GameDefinition, kind: CopyKind, options: DrillOptions) {
    this.#kind = kind;
    this.#options = options;
    const eyes = game.page !== undefined && kind.sees === "drawn" ? new PageEyes() : null;
    const following = kind.eyes ?? eyes;
    const page = following === null || game.page === undefined ? game.page : following.following(game.page);
    this.#frames =
      page === undefined
        ? null
        : new PageFrames(
            { ...game, page },
            {
              maxCopies: 1,
              isFresh: kind.isFresh === true,
              keeps: kind.isFresh === false,
              draws: kind.eyes !== undefined,
              isRead: kind.eyes !== undefined,
              onTaken: (frame) => {
                this.#page = frame;
              },
              ...(options.base === undefined ? {} : { base: options.base }),
            },
          );
    this.definition = this.#frames?.definition ?? game;
    this.#picture = new Picture(game, eyes, kind.sees === "drawn");
    this.#tape = new DrillTape(this.definition);
    this.#lastYield = options.now();
  }

  /** What number `index` of its row of observations is. */
  nameOf(index: number): string {
    return observedName(this.definition, this.instance, index, this.#options.observed);
  }

  /** The copy that plays. Raises Error before the first start. */
  get instance(): Instance {
    if (this.#instance === null) throw new Error("start() comes first");
    return this.#instance;
  }

  /** Whether what the page draws leaves marks: its next ticks cost less without. */
  set draws(draws: boolean) {
    if (this.#page !== null) this.#page.clock.draws = draws;
  }

  /** Of the page that is played in, not of one that is made ready meanwhile; null: there is none. */
  get window(): PageWindow | null {
    return this.#page?.window ?? null;
  }

  get picture(): number {
    return this.#picture.of(this.instance);
  }

  /** Begins an episode. Rejects with GameError as the game does, with Error where its page cannot be had. */
  async start({ seed, instance: stream, episode, parameters }: EpisodeName): Promise<void> {
    const isNew = this.#kind.isFresh !== false || this.#instance === null;
    if (isNew || this.#instance === null) {
      this.#instance?.game.dispose?.();
      this.#instance = createInstance(this.definition);
    }
    const instance = this.#instance;
    instance.setStream(seed.low, seed.high, stream);
    this.#tape.begin(seed, parameters);
    this.#isUnbegun = false;
    await this.#frames?.preload();
    try {
      await instance.begin(episode, parameters);
    } catch (error) {
      // What a used copy cannot begin is no error of this episode: whether it is one of the restart, its own drill says.
      this.#isUnbegun = !isNew;
      this.failed(error);
      throw error;
    }
  }

  /** The next episode begins in a new copy. */
  renew(): void {
    this.#instance?.game.dispose?.();
    this.#instance = null;
  }

  /** The next step takes this move, for who takes it without `step`. */
  record(move: Move): void {
    this.#tape.add(this.instance, move);
  }

  /** The game threw this. */
  failed(error: unknown): void {
    if (isGameError(error) && !this.#isUnbegun)
      this.#options.failures?.add(error, this.definition, this.instance, this.#tape);
  }

  /** Rejects with GameError as the game does. */
  async step(move: Move): Promise<void> {
    const { instance } = this;
    this.record(move);
    try {
      const taken = instance.take(move);
      if (taken !== null) await taken;
    } catch (error) {
      this.failed(error);
      throw error;
    }
    const { now, yieldTurn } = this.#options;
    if (now() - this.#lastYield < YIELD_MS) return;
    await yieldTurn();
    this.#lastYield = now();
  }

  /** Plays the first `steps` steps of a recorded episode; false: it differs, ends before, or there is no time left. */
  async follow(script: EpisodeScript, steps: number): Promise<boolean> {
    try {
      await this.start(script.episode);
      for (let step = 0; step < steps; step++) {
        if (this.instance.episodeOver || this.#options.deadline.isOver) return false;
        if (!this.#kind.isLoose && script.difference(step, this.instance) !== null) return false;
        await this.step(script.action(step, this.instance));
      }
      return !this.instance.episodeOver;
    } catch (error) {
      if (isGameError(error)) return false;
      throw error;
    }
  }

  /**
   * What follows from step `at` of a recorded episode if others decide.
   *
   * @param every steps from picture to picture.
   * @param expected pictures; at the first that differs it is over.
   * @returns null: the episode did not come so far, or there is no time left.
   */
  async fork(
    script: EpisodeScript,
    at: number,
    mover: Mover,
    steps: number,
    every: number,
    expected?: readonly number[],
  ): Promise<Fork | null> {
    if (!(await this.follow(script, at))) return null;
    const { instance } = this;
    const pictures: number[] = [];
    for (let step = 1; step <= steps; step++) {
      if (this.#options.deadline.isOver) return null;
      try {
        await this.step(mover(instance));
      } catch (error) {
        if (!isGameError(error)) throw error;
        pictures.push(FAILED);
        return { pictures, steps: step, isOver: true };
      }
      if (!instance.episodeOver && step % every !== 0) continue;
      pictures.push(this.picture);
      const isOther = expected !== undefined && pictures.at(-1) !== expected[pictures.length - 1];
      if (instance.episodeOver || isOther) return { pictures, steps: step, isOver: instance.episodeOver };
    }
    return { pictures, steps, isOver: false };
  }

  close(): void {
    this.#instance?.game.dispose?.();
    this.#instance = null;
    this.#frames?.close();
  }
}

/** Every agent does this, or where its mask forbids a choice, the first that is allowed in its place. */
export function holding({ action: space }: GameDefinition, action: Action): Mover {
  return ({ numAgents, masks, active }) => {
    const own = masks.map((mask, agent) =>
      mask.length > 0 && active[agent] === 1 ? allowedAction(space, mask, action) : action,
    );
    return numAgents === 1 ? own[0] : own;
  };
}

/** Whether every agent that plays may do this. */
export function isAllowed({ action: space }: GameDefinition, instance: Instance, action: Action): boolean {
  const groups = maskGroups(space);
  return instance.masks.every((mask, agent) => {
    if (mask.length === 0 || instance.active[agent] !== 1) return true;
    const choices = typeof action === "number" ? [action] : Array.from(action);
    let offset = 0;
    return choices.slice(0, groups.length).every((choice, c) => {
      const isFree = mask[offset + choice] === 1;
      offset += groups[c];
      return isFree;
    });
  });
}

/**
 * A copy in which an episode looks the same every time: kept, or else new for each episode, or else by what the agents see alone.
 *
 * @param isLoose whether a kept copy will do in which episodes go otherwise than recorded, as long as they always go so.
 * @returns null: the game does not play its episodes again as they were recorded, or there is no time left.
 */
export async function steadyCopy(
  game: GameDefinition,
  scripts: readonly EpisodeScript[],
  options: DrillOptions,
  isLoose = false,
): Promise<DrillCopy | null> {
  const kinds: CopyKind[] = [
    ...(game.page?.reset === "own"
      ? ([
          { isFresh: false, sees: "drawn", isLoose },
          { isFresh: "restarted", sees: "drawn", isLoose },
        ] as const)
      : []),
    { isFresh: true, sees: "drawn" },
    { isFresh: true, sees: "seen" },
  ];
  for (const kind of kinds) {
    const copy = new DrillCopy(game, kind, options);
    if (await isSteady(copy, scripts, kind.isLoose ?? false)) return copy;
    copy.close();
    if (options.deadline.isOver) return null;
  }
  return null;
}

/** Steps of an episode that are played twice. */
const COMPARED_STEPS = 200;
/** Steps of another between the two times. */
const OTHER_STEPS = 40;
/** Pictures that are compared of them. */
const COMPARED_PICTURES = 8;

async function isSteady(
  copy: DrillCopy,
  scripts: readonly EpisodeScript[],
  isLoose: boolean,
): Promise<boolean> {
  const other = scripts[scripts.length - 1];
  await copy.follow(other, Math.min(OTHER_STEPS, other.numSteps - 1));
  for (const script of scripts.slice(0, 2)) {
    const steps = Math.min(COMPARED_STEPS, script.numSteps - 1);
    const every = Math.max(1, Math.floor(steps / COMPARED_PICTURES));
    let isOther = false;
    const mover = (instance: Instance): Move => {
      isOther ||= script.difference(instance.episodeSteps, instance) !== null;
      return script.action(instance.episodeSteps, instance);
    };
    const first = await copy.fork(script, 0, mover, steps, every);
    if (first === null || (isOther && !isLoose)) return false;
    await copy.follow(other, Math.min(OTHER_STEPS, other.numSteps - 1));
    const again = await copy.fork(script, 0, mover, steps, every, first.pictures);
    if (again?.pictures.join() !== first.pictures.join()) return false;
  }
  return true;
}
