/** The frames of a page game in one thread: some play, some are ready to. */

import type { GameDefinition } from "attract/contract";
import { parameterDefaults, ticksPerStep } from "attract/define-game";
import type { PageAdapter } from "attract/page-adapter";
import { UnheldUses } from "../../../page-clock/src/unheld-uses.ts";
import type { ClockOptions } from "../../../page-clock/src/virtual-clock.ts";
import { ownError, PageFrame } from "./page-frame.ts";
import { PageGame } from "./page-game.ts";
import type { PreloadedGames } from "./preloaded-games.ts";

/** Frames that are kept ready: for an episode that needs a fresh page, for a game that broke. */
const NUM_PRELOADED = 1;
/** Chance while a page loads is another than that of the episode which is played in it. */
const LOAD_SEED = 0x6c8e9cf5;

/** Most episodes of an evaluation at once: each has a page of its own. */
export const EVALUATION_FRAMES = 8;

export interface PageFramesOptions {
  /** Where its adapter's folder is served. Default: the folder above this document's, which is ours. */
  base?: string;
  /** How many copies there will be at once. */
  maxCopies: number;
  /** Whether each episode gets a page of its own, whatever the adapter says. Default: no. */
  isFresh?: boolean;
  /** Whether another game of this thread may begin in a page that is given back. Default: yes. */
  keeps?: boolean;
  /** Whether each frame is followed by a turn of the event loop, whatever the adapter says. Default: no. */
  hasTurns?: boolean;
  /** Whether the page is laid out, whatever the adapter says. Default: no. */
  isLaidOut?: boolean;
  /** Whether what the page draws is to be seen. Default: no, which costs nothing. */
  draws?: boolean;
  /** Whether canvases are made so that what is drawn can be read, at little cost. Default: for agents that see them. */
  isRead?: boolean;
  /** Default: the browser's own where it is drawn, else a device that draws nothing. */
  webGl?: "null" | "real";
  /** Whether the one that plays is shown in this document, as large as `fit` says. Default: no. */
  isSeen?: boolean;
  /** Where in this document the frames are. Default: its body. */
  host?: HTMLElement;
  /** A frame is ready, for the first time. */
  onLoaded?(frame: PageFrame): void;
  /** A frame begins to be played in. */
  onTaken?(frame: PageFrame): void;
}

/** Owned by one thread and one use of its game: the frames of training are not those of an evaluation. */
export class PageFrames implements PreloadedGames {
  readonly definition: GameDefinition;
  readonly maxCopies: number;
  readonly #adapter: PageAdapter;
  readonly #address: string;
  readonly #defaults: Readonly<Record<string, number>>;
  readonly #clock: Pick<ClockOptions, "draws" | "webGl" | "isSeen">;
  readonly #isSeen: boolean;
  readonly #keeps: boolean;
  readonly #host: HTMLElement | undefined;
  readonly #onLoaded: PageFramesOptions["onLoaded"];
  readonly #onTaken: PageFramesOptions["onTaken"];
  /** See `fit`. */
  #room: [width: number, height: number] = [0, 0];
  readonly #ready: PageFrame[] = [];
  /** Whether each page is loaded for the episode that begins in it: the date it begins at follows that episode's seed. */
  readonly loadsForEpisodes: boolean;
  /** Whether the game begins each episode itself: what it draws while it loads belongs to none of them, and is always the same. */
  readonly #isOwnBeginner: boolean;
  /** Whether the page of a game's next episode is loaded while it plays this one. */
  readonly looksAhead: boolean;
  readonly #seen = {
    errors: new Set<string>(),
    unheld: new UnheldUses(),
    isDrawingRead: false,
    webGlRenderer: null as string | null,
  };
  /** All there are, played in or not. */
  readonly #frames = new Set<PageFrame>();
  /** Frames that are played in, if they are watched. */
  readonly #shown = new Set<PageFrame>();
  #loading: Promise<void> | null = null;
  #isClosed = false;

  /** @param definition of a game that lives in a page. */
  constructor(
    definition: GameDefinition,
    {
      base = new URL("..", location.href).href,
      maxCopies,
      isFresh = false,
      keeps = true,
      hasTurns = false,
      isLaidOut = false,
      draws = false,
      isRead = false,
      webGl,
      isSeen = false,
      host,
      onLoaded,
      onTaken,
    }: PageFramesOptions,
  ) {
    const { page } = definition;
    if (page === undefined) throw new Error(`${definition.id} does not live in a page`);
    this.maxCopies = maxCopies;
    this.#keeps = keeps;
    this.loadsForEpisodes = page.reset !== "own" || isFresh;
    this.#isOwnBeginner = page.reset === "own";
    this.#defaults = parameterDefaults(definition);
    // Evaluations hand out their episodes in no order that a game could know. The next parameters are not known either.
    const isSetUp = (page.prepare?.length ?? 0) > 1;
    this.looksAhead = page.reset === "reload" && !isFresh && !isSetUp;
    this.#adapter = {
      ...page,
      reset: isFresh ? "reload" : page.reset,
      turns: hasTurns || page.turns,
      // A watched page is visible.
      hidden: page.hidden && !isLaidOut && !draws && !isSeen,
    };
    // A server's page is handed on under this origin.
    this.#address = new URL(page.page.replace(/^https?:\/\/[^/]+/, ""), base).href;
    const { pixels } = page;
    // What an agent sees is drawn, and drawn the same whether it is watched or not.
    this.#clock =
      pixels === undefined
        ? // A browser without a graphics processor gives no WebGL, and most engines then draw in 2D.
          { draws, webGl: webGl ?? (draws ? "real" : "null"), isSeen: isRead }
        : { draws: true, webGl: pixels.webGl ? "real" : "none", isSeen: true };
    this.#isSeen = isSeen;
    this.#host = host;
    this.#onLoaded = onLoaded;
    this.#onTaken = onTaken;
    const numTicks = ticksPerStep(
      definition.tickSeconds,
      definition.secondsPerStep ?? definition.tickSeconds,
    );
    const skipsTicks = pixels?.lastTickOnly === true && !draws && !isSeen;
    this.definition = {
      ...definition,
      page: this.#adapter,
      create: () => new PageGame(this.#adapter, this, numTicks, skipsTicks),
    };
  }

  preload(): Promise<void> | null {
    if (this.loadsForEpisodes || this.#ready.length > 0) return null;
    this.#loading ??= this.#loadNext();
    return this.#loading;
  }

  /**
   * A page for one episode. Rejects when it cannot be had.
   *
   * @param seed of the episode, 32 bits.
   * @param parameters of the episode.
   */
  async load(seed: number, parameters = this.#defaults): Promise<PageFrame> {
    const chance = this.#isOwnBeginner ? {} : { seed: (seed ^ LOAD_SEED) >>> 0 };
    return await this.#load({ ...this.#clock, ...chance, dateSeed: seed }, parameters);
  }

  /** Begins to be played in. */
  show(frame: PageFrame): void {
    this.#onTaken?.(frame);
    if (!this.#isSeen) return;
    this.#shown.add(frame);
    frame.show(...this.#room);
  }

  /** What became of pages so far: their own errors, what no clock holds, whether they read what they draw, and by what. */
  get seen(): {
    errors: string[];
    unheld: UnheldUses;
    isDrawingRead: boolean;
    webGlRenderer: string | null;
  } {
    for (const frame of this.#frames) this.#look(frame);
    return { ...this.#seen, errors: [...this.#seen.errors] };
  }

  /** A frame that is ready. Raises Error when `preload` was not waited for. */
  take(): PageFrame {
    const frame = this.#ready.pop();
    if (frame === undefined)
      throw new Error(
        `no page is ready: await ${this.loadsForEpisodes ? "startAhead()" : "preload()"} first`,
      );
    // Loaded while the other plays, so that the next caller does not wait.
    if (this.#ready.length < NUM_PRELOADED) this.#loading ??= this.#loadNext();
    this.show(frame);
    return frame;
  }

  /** Sets the room for the visible frame, in CSS pixels of this document. */
  fit(width: number, height: number): void {
    if (!this.#isSeen || (width === this.#room[0] && height === this.#room[1])) return;
    this.#room = [width, height];
    for (const frame of this.#shown) frame.show(width, height);
  }

  /** What is done with a frame whose game is not needed any more. */
  giveBack(frame: PageFrame, isWhole: boolean): void {
    if (!isWhole || !this.#keeps || frame.isReloadDue || this.#adapter.reset !== "own" || this.#isClosed) {
      this.#remove(frame);
      return;
    }
    if (this.#shown.delete(frame)) frame.hide();
    this.#ready.push(frame);
  }

  /** Removes all: nothing can be played in any of them any more. */
  close(): void {
    this.#isClosed = true;
    this.#ready.length = 0;
    for (const frame of [...this.#frames]) this.#remove(frame);
  }

  #remove(frame: PageFrame): void {
    this.#look(frame);
    this.#frames.delete(frame);
    this.#shown.delete(frame);
    frame.remove();
  }

  #look({ clock, unheld }: PageFrame): void {
    this.#seen.unheld.addAll(unheld);
    for (const error of clock.errors) this.#seen.errors.add(textOf(error));
    this.#seen.isDrawingRead ||= clock.isDrawingRead;
    this.#seen.webGlRenderer ??= clock.webGlRenderer;
  }

  async #loadNext(): Promise<void> {
    try {
      const frame = await this.#load(this.#clock, this.#defaults);
      if (!this.#isClosed) this.#ready.push(frame);
    } finally {
      this.#loading = null;
    }
  }

  async #load(
    clock: Partial<ClockOptions>,
    parameters: Readonly<Record<string, number>>,
  ): Promise<PageFrame> {
    const [adapter, address] = [this.#adapter, this.#address];
    const frame = await PageFrame.load(adapter, address, clock, this.#isSeen, this.#host, parameters);
    this.#frames.add(frame);
    this.#onLoaded?.(frame);
    if (this.#isClosed) this.#remove(frame);
    return frame;
  }
}

function textOf(error: unknown): string {
  const own = ownError(error);
  return own instanceof Error ? `${own.name}: ${own.message}` : String(own);
}
