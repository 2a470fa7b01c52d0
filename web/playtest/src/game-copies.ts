/** Copies of the game that is tested: of a module a new one per episode, of a page one that begins again, or a new page now and then. */

import type { RecordedEpisode } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import type { PageWindow } from "attract/page-adapter";
import { ownError, type PageFrame } from "../../worker/src/page/page-frame.ts";
import { PageFrames, type PageFramesOptions } from "../../worker/src/page/page-frames.ts";
import type { HeardError } from "./alarms.ts";
import { pageConsoleText, stackOf, textOf } from "./thread-errors.ts";

const MAX_SETTLE_MS = 1_000;

/** What a page's clock kept of its errors, at one time. */
class PageMark {
  #lastError: unknown = undefined;
  #numErrors = 0;
  #lastConsole: unknown = undefined;
  #numUnheld = 0;

  /** Whether something came since the last `take`. */
  isBehind({ clock: { errors, consoleErrors, unheld } }: PageFrame): boolean {
    return (
      errors.length !== this.#numErrors ||
      errors.at(-1) !== this.#lastError ||
      consoleErrors.at(-1) !== this.#lastConsole ||
      unheld.size !== this.#numUnheld
    );
  }

  take({ clock: { errors, consoleErrors, unheld } }: PageFrame): HeardError[] {
    const thrown = since(errors, this.#lastError).map((error) => {
      const own = ownError(error);
      return { text: textOf(own), stack: stackOf(own) };
    });
    const written = since(consoleErrors, this.#lastConsole).map(({ args, stack }) => ({
      text: pageConsoleText(args),
      stack,
    }));
    // The clock names each file once.
    const missing = unheld
      .of("file", this.#numUnheld)
      .map((what) => ({ text: `the page ${what}`, stack: null }));
    this.#numErrors = errors.length;
    this.#lastError = errors.at(-1);
    this.#lastConsole = consoleErrors.at(-1);
    this.#numUnheld = unheld.size;
    return [...thrown, ...written, ...missing];
  }
}

/** Owned by one playtest. One copy plays at a time. */
export class GameCopies {
  readonly definition: GameDefinition;
  readonly #frames: PageFrames | null;
  readonly #isKept: boolean;
  readonly #freshEvery: number;
  readonly #masks: readonly Uint8Array[];
  #kept: Instance | null = null;
  /** The page that is played in. */
  #frame: PageFrame | null = null;
  #before: RecordedEpisode | null = null;
  readonly #marks = new WeakMap<PageFrame, { mark: PageMark; ofLoading: HeardError[] }>();

  /**
   * @param freshEvery see `PlaytestGame`.
   * @param masks where the copies write what is allowed, per agent.
   * @param pages what is different in its pages.
   */
  constructor(
    game: GameDefinition,
    freshEvery: number,
    masks: readonly Uint8Array[],
    pages: Pick<PageFramesOptions, "base" | "draws" | "webGl"> = {},
  ) {
    const { page } = game;
    this.#masks = masks;
    this.#freshEvery = freshEvery;
    // As `attract replay` plays, so that what comes again here does so there.
    const isFresh = freshEvery === 1;
    this.#isKept = page !== undefined && !isFresh && page.reset !== "reload";
    this.#frames =
      page === undefined
        ? null
        : new PageFrames(game, {
            ...pages,
            maxCopies: 1,
            // Nor does it load the page of an episode that does not come.
            isFresh: isFresh || page.reset === "reload",
            onLoaded: (frame) => {
              const mark = new PageMark();
              this.#marks.set(frame, { mark, ofLoading: mark.take(frame) });
            },
            onTaken: (frame) => {
              if (this.#frame !== frame) this.#before = null;
              this.#frame = frame;
            },
          });
    this.definition = this.#frames?.definition ?? game;
  }

  /** A copy that can start, for the episode of that index. Raises GameError where `create` fails; rejects where no page can be had. */
  async take(index: number): Promise<Instance> {
    if (this.#kept !== null && this.#freshEvery > 0 && index % this.#freshEvery === 0) this.#drop();
    if (this.#kept !== null) return this.#kept;
    const waiting = this.#frames?.preload() ?? null;
    if (waiting !== null) await waiting;
    const instance = createInstance(this.definition, { masks: this.#masks });
    if (this.#isKept) this.#kept = instance;
    return instance;
  }

  /** @param isWhole whether another episode may begin in it. */
  giveBack(instance: Instance, isWhole: boolean): void {
    if (this.#isKept && isWhole) return;
    if (this.#frames === null || !this.#isKept) instance.game.dispose?.();
    this.#drop();
  }

  /** The next episode begins in a new page. */
  #drop(): void {
    if (this.#isKept && this.#frame !== null) this.#frames?.giveBack(this.#frame, false);
    this.#kept = null;
    this.#frame = null;
    this.#before = null;
  }

  /** The episode that ended last in the page that is played in; null: there is none, as in a new page. */
  get before(): RecordedEpisode | null {
    return this.#before;
  }

  /** An episode came to its end; `record` is asked where another one may begin in its page. */
  ended(record: () => RecordedEpisode | null): void {
    if (this.#isKept) this.#before = record();
  }

  /** Errors of the page that is played in from the time when it was loaded: those of every episode in it. */
  get ofLoading(): readonly HeardError[] {
    return this.#frame === null ? [] : (this.#marks.get(this.#frame)?.ofLoading ?? []);
  }

  /** Whether the page that is played in went on without something that it had asked for. */
  get isUnsettled(): boolean {
    return this.#frame?.isUnsettled === true;
  }

  /** Whether `takeErrors` has something. */
  get hasErrors(): boolean {
    return this.#frame !== null && this.#marks.get(this.#frame)?.mark.isBehind(this.#frame) === true;
  }

  /** What the page that is played in threw, wrote as errors and missed, since the last call. */
  takeErrors(): HeardError[] {
    if (this.#frame === null) return [];
    return this.#marks.get(this.#frame)?.mark.take(this.#frame) ?? [];
  }

  /** Of the page that is played in; null: the game is a module. */
  get window(): PageWindow | null {
    return this.#frame?.window ?? null;
  }

  /** What presses keys and the pointer in it; null: the game is a module. */
  get hands(): PageFrame | null {
    return this.#frame;
  }

  /** Waits for what the page has asked for, at most a second: whether it is there is known then. */
  async settle(yieldTurn: () => Promise<void>, now: () => number): Promise<void> {
    const frame = this.#frame;
    const end = now() + MAX_SETTLE_MS;
    while (frame !== null && frame.clock.numLoading > 0 && now() < end) await yieldTurn();
  }

  close(): void {
    this.#frames?.close();
  }
}

/** What came after `last`; all where that is not kept any more. */
function since<T>(all: readonly T[], last: unknown): T[] {
  return last === undefined ? [...all] : all.slice(all.lastIndexOf(last as T) + 1);
}
