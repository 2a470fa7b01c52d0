/** The conformance kit for games that live in a page: whether they can be played, learned, and played again. */

import type { GameDefinition } from "attract/contract";
import { describe, type GameDescription } from "attract/description";
import { GameError } from "attract/errors";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import type { CheckOptions, GameReport, PlayMeasurements } from "../../../check/src/check.ts";
import { Deadline, type Finding, type Report } from "../../../check/src/check-finding.ts";
import { firstDifference, type Play, play, replay } from "../../../check/src/determinism-check.ts";
import { type Pause, playAtRandom } from "../../../check/src/play-check.ts";
import { restartText } from "./page-frame.ts";
import { PageFrames, type PageFramesOptions } from "./page-frames.ts";

const MAX_STEPS = 5_000;
/** Length of the repeated play: each of its episodes takes a fresh page. */
const REPEATED_STEPS = 300;
const REPEATED_EPISODES = 4;
/** Fewer say nothing about what chance does. */
const MIN_VARIETY_STEPS = 5;
const SLOW_LOAD_MS = 3_000;
/** Software renderers of WebGL. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|basic render/i;
/** What may follow from a game that waits for promises that never get their turn. */
const OF_STANDSTILL: ReadonlySet<string> = new Set([
  "action-without-effect",
  "constant-observation",
  "constant-reward",
  "constant-return",
  "endless",
  "ignored-actions",
]);
const REPRODUCIBLE = "training continues; results for single episodes, such as replays, may not hold";

/** How a play is repeated, in which pages, and beside whom. */
type Repetition = [how: string, frames: Partial<PageFramesOptions>, company: "neighbour" | "alone"];

export interface PageCheckOptions
  extends Pick<CheckOptions, "now" | "budgetMilliseconds" | "onPhase" | "onCopy" | "only"> {
  /** See `PageFramesOptions`. */
  base?: string;
}

/** Everything found out about a game that lives in a page; never throws because of the game. */
export async function checkPageGame(
  definition: GameDefinition,
  options: PageCheckOptions,
): Promise<GameReport> {
  const check = new PageCheck(definition, options);
  try {
    return await check.run();
  } finally {
    check.close();
  }
}

/** One check; used once. */
class PageCheck {
  readonly #definition: GameDefinition;
  readonly #options: PageCheckOptions;
  readonly #findings: Finding[] = [];
  readonly #report: Report = (finding) => this.#findings.push({ stack: null, method: null, ...finding });
  readonly #opened: PageFrames[] = [];

  constructor(definition: GameDefinition, options: PageCheckOptions) {
    this.#definition = definition;
    this.#options = options;
  }

  close(): void {
    for (const frames of this.#opened) frames.close();
  }

  async run(): Promise<GameReport> {
    const { now, budgetMilliseconds = Number.POSITIVE_INFINITY, only } = this.#options;
    const deadline = new Deadline(now, now() + budgetMilliseconds);
    let description: GameDescription | null = null;
    let play: PlayMeasurements | null = null;
    let isUnplayable = false;
    try {
      description = describe(this.#definition);
      play = await this.#play(description, only === undefined ? deadline.share(0.4) : deadline);
      if (!deadline.isOver && only === undefined) await this.#repeat(deadline);
    } catch (error) {
      isUnplayable = play === null;
      const isGames = error instanceof GameError;
      this.#report({
        id: isGames ? "contract" : "load",
        severity: "error",
        text: error instanceof Error ? error.message : String(error),
        fix: isGames
          ? "fix the game or its adapter: failed episodes are discarded"
          : "fix the page or its adapter",
        stack: error instanceof Error ? (error.stack ?? null) : null,
        thrown: error,
      });
    }
    return {
      id: this.#definition.id,
      isTrainable: this.#findings.every(({ severity }) => severity !== "error"),
      isUnplayable,
      description,
      findings: this.#findings,
      play,
    };
  }

  async #play(description: GameDescription, deadline: Deadline): Promise<PlayMeasurements> {
    const { now, only } = this.#options;
    this.#phase("loading its page");
    const began = now();
    const frames = this.#frames({ isFresh: only?.isFresh });
    // Where each episode has a page of its own, this one is for none: it says how long they take, and whether they load.
    if (frames.loadsForEpisodes) frames.giveBack(await frames.load(0), false);
    else await frames.preload();
    const createMilliseconds = now() - began;
    const instance = this.#watched(frames, 1);
    this.#phase("random play");
    const wanted = Math.max(MAX_STEPS, (description.max_steps ?? 0) + 1);
    const steps = only === undefined ? wanted : Number.POSITIVE_INFINITY;
    const started = now();
    const [game, pause] = [frames.definition, pauseFor(frames)];
    const summary = await playAtRandom(
      game,
      description,
      instance,
      steps,
      this.#report,
      deadline,
      only,
      pause,
    );
    const microsecondsPerTick = (1000 * (now() - started)) / Math.max(1, summary.ticks);
    this.#reportPage(frames, createMilliseconds);
    instance.game.dispose?.();
    return { ...summary, createMilliseconds, microsecondsPerTick, bytesPerTick: null };
  }

  #reportPage(frames: PageFrames, loadMilliseconds: number): void {
    const { errors, unheld, isDrawingRead, webGlRenderer } = frames.seen;
    for (const what of unheld.grouped()) {
      const text = `this game ${what}`;
      this.#report({ id: "clock", severity: "warning", text, fix: REPRODUCIBLE });
    }
    for (const error of errors) {
      this.#report({
        id: "page-error",
        severity: "warning",
        text: `the page threw and went on: ${error}`,
        fix: "check whether it also throws in your own browser; if not, it needs something that training does not provide",
      });
    }
    if (isDrawingRead) {
      this.#report({
        id: "reads-drawing",
        severity: "warning",
        text: "the page reads back what it has drawn: that canvas is drawn in training, which costs time",
        fix: "if the game depends on it, keep the data in an array instead; if not, ignore this",
      });
    }
    if (webGlRenderer !== null && SOFTWARE.test(webGlRenderer)) {
      this.#report({
        id: "slow-webgl",
        severity: "warning",
        text: `this browser has no graphics processor: ${webGlRenderer} draws its WebGL, and a frame takes milliseconds`,
        fix: "train in a browser with one (the dashboard, or a join link), or omit webGl if the engine can draw in 2D",
      });
    }
    if (loadMilliseconds > SLOW_LOAD_MS) {
      this.#report({
        id: "slow-create",
        severity: "warning",
        text: `the page takes ${(loadMilliseconds / 1000).toFixed(1)} s to get ready`,
        fix: "remove what play does not need: large pictures, sounds, introductions",
      });
    }
  }

  /** The same seeds and actions: in fresh pages, beside another game, drawn, and after the game's own restart. */
  async #repeat(deadline: Deadline): Promise<void> {
    this.#phase("a play that is repeated");
    const fresh = this.#frames({ isFresh: true });
    const first = this.#watched(fresh, 2);
    const share = deadline.share(0.25);
    const original = firstEpisodes(
      await play(fresh.definition, first, 2, share, REPEATED_STEPS, pauseFor(fresh)),
      REPEATED_EPISODES,
    );
    const { pixels, reset, hidden } = this.#definition.page ?? {};
    const again: Repetition[] = [
      ["in a fresh page", { isFresh: true }, "alone"],
      // Early: of all these an author can mend this one alone.
      ...(reset === "reload" ? [] : [["after other episodes", {}, "alone"] as Repetition]),
      ["beside another game", { isFresh: true }, "neighbour"],
      ...(hidden
        ? [["where it is laid out", { isFresh: true, isLaidOut: true }, "alone"] as Repetition]
        : []),
      // Without a graphics processor, real WebGL takes a quarter of a second a frame.
      ["while it is drawn", { isFresh: true, draws: true, webGl: "null" }, "alone"],
    ];
    if (!this.#definition.page?.turns && (await this.#needsTurns(original, share.isOver, deadline))) return;
    for (const [how, options, company] of again) {
      if (deadline.isOver) return;
      // What an agent sees is drawn in every tick already, unless it asks for less.
      if (options.draws && pixels?.lastTickOnly === false) continue;
      this.#phase(`the same play ${how}`);
      const difference = await this.#difference(original, options, company, deadline.share(0.5));
      if (difference === null) continue;
      if (company === "alone" && !options.isFresh) {
        this.#report({
          id: "state-survives-start",
          severity: "warning",
          text: `after ${restartText(this.#definition.page)} an episode plays differently than in a fresh page: ${difference}`,
          fix:
            'have restart(window) reset what is left over, or give reset: "reload"; a slight difference may be how the clock ' +
            "of an engine rounds (Phaser, KAPLAY), which harms no training: evaluations and replays always take fresh pages",
        });
        continue;
      }
      if (options.isLaidOut) {
        this.#report({
          id: "reads-layout",
          severity: "error",
          text: `the game plays differently ${how}, as in the exported page: ${difference}`,
          fix: "omit `hidden`: this game reads positions or sizes of its elements",
        });
        return;
      }
      if (options.draws && pixels !== undefined) {
        this.#report({
          id: "undrawn-ticks",
          severity: "error",
          text: `the observation differs if only the last frame of a step is drawn: ${difference}`,
          fix: "omit pixels.lastTickOnly: this page does not redraw everything in each frame",
        });
        return;
      }
      const causes = fresh.seen.unheld.grouped().map((what) => `it ${what}`);
      this.#report({
        id: "not-reproducible",
        severity: "warning",
        text: `the same seed and actions played differently ${how}: ${difference}`,
        fix: causes.length > 0 ? `${causes.join(", and ")}; ${REPRODUCIBLE}` : REPRODUCIBLE,
      });
      return;
    }
    if (!deadline.isOver) await this.#checkVariety(original, deadline.share(0.5));
  }

  /** Whether chance plays any part: another seed under the same actions should show something else. */
  async #checkVariety(original: Play, deadline: Deadline): Promise<void> {
    if (deadline.isOver || original.actions.length < MIN_VARIETY_STEPS) return;
    this.#phase("the same actions with another seed");
    const difference = await this.#difference(original, { isFresh: true }, "alone", deadline, 3);
    if (difference !== null || deadline.isOver) return;
    this.#report({
      id: "no-variety",
      severity: "warning",
      text: "two seeds play alike under the same actions: agents may memorise one course of events",
      fix:
        "check where the game gets random numbers: `Math.random`, `crypto` and the page's load date follow the episode's " +
        "seed, a number in its source does not; ignore this if the game is meant to be fixed",
    });
  }

  /** Whether it plays otherwise, and the same way twice, where promises between its frames have their turn. */
  async #needsTurns(original: Play, isCut: boolean, deadline: Deadline): Promise<boolean> {
    this.#phase("the same play with promises between frames");
    const options = { isFresh: true, hasTurns: true };
    const frames = this.#frames(options);
    const instance = this.#instance(frames, 2);
    const share = deadline.share(0.2);
    const turned = firstEpisodes(
      await play(frames.definition, instance, 2, share, REPEATED_STEPS, pauseFor(frames)),
      REPEATED_EPISODES,
    );
    const shorter = Math.min(turned.rows.length, original.rows.length);
    // What ended for want of time says nothing.
    const [rows, others] = [original.rows, turned.rows].map((all) =>
      isCut || share.isOver ? all.slice(0, shorter) : all,
    );
    const difference = firstDifference(this.#definition, instance, rows, others);
    frames.close();
    if (difference === null) return false;
    if ((await this.#difference(turned, options, "alone", deadline.share(0.3))) !== null) return false;
    // What random play shows of a game that hardly moves follows from that.
    const kept = this.#findings.filter(({ id }) => !OF_STANDSTILL.has(id));
    const wasStill = kept.length < this.#findings.length;
    this.#findings.splice(0, this.#findings.length, ...kept);
    this.#report({
      id: "needs-turns",
      severity: wasStill ? "error" : "warning",
      text: `the game waits for promises between its frames: with a turn for them ${difference}`,
      fix: "add `turns: true` to the adapter: each frame is then followed by a turn of the event loop",
    });
    return true;
  }

  async #difference(
    original: Play,
    options: Partial<PageFramesOptions>,
    company: "neighbour" | "alone",
    deadline: Deadline,
    seed = 2,
  ): Promise<string | null> {
    const frames = this.#frames(options);
    const instance = this.#instance(frames, seed);
    const waiting = [frames];
    if (company === "neighbour") waiting.push(await this.#accompany(instance));
    const rows = await replay(frames.definition, instance, original, deadline, pauseFor(...waiting));
    // A page that is slow while it is drawn gets as far as it gets.
    const compared = deadline.isOver ? original.rows.slice(0, rows.length) : original.rows;
    const difference = firstDifference(this.#definition, instance, compared, rows);
    frames.close();
    return difference;
  }

  /** Another copy takes a step whenever this one does. */
  async #accompany(instance: Instance): Promise<PageFrames> {
    const frames = this.#frames({});
    await frames.preload();
    const other = this.#instance(frames, 5);
    await other.begin(0);
    const { step, stepAhead } = instance;
    instance.stepAhead = (action) => {
      const own = stepAhead.call(instance, action);
      const others = other.episodeOver ? null : other.stepAhead(action);
      return own === null ? null : own.then(() => others ?? undefined);
    };
    instance.step = (action) => {
      if (!other.episodeOver) other.step(action);
      step.call(instance, action);
    };
    return frames;
  }

  #frames(options: Partial<PageFramesOptions>): PageFrames {
    const frames = new PageFrames(this.#definition, { base: this.#options.base, maxCopies: 1, ...options });
    this.#opened.push(frames);
    return frames;
  }

  #instance(frames: PageFrames, seedLow: number): Instance {
    return createInstance(frames.definition, { seedLow });
  }

  #watched(frames: PageFrames, seed: number): Instance {
    const instance = this.#instance(frames, seed);
    this.#options.onCopy?.(instance, seed);
    return instance;
  }

  #phase(phase: string): void {
    this.#options.onPhase?.(phase);
  }
}

/** Until pages are there; the thread is heard meanwhile. */
function pauseFor(...waiting: readonly PageFrames[]): Pause {
  return async () => {
    for (const frames of waiting) await frames.preload();
    await new Promise((resolve) => setTimeout(resolve));
  };
}

/** A play's first episodes: each that is repeated takes pages, which take time. */
function firstEpisodes({ rows, actions }: Play, count: number): Play {
  const end = rows.findIndex(({ episode }) => episode >= count);
  if (end < 0) return { rows, actions };
  // Each episode has a row more than it has actions.
  return { rows: rows.slice(0, end), actions: actions.slice(0, end - count) };
}
