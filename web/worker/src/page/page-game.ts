/** A game that lives in a page, as the contract has games: `start` and `update` over a frame and its adapter. */

/// <reference lib="dom" />
import type {
  BoxView,
  Game,
  GameAhead,
  GivenAction,
  PerAgent,
  StartContext,
  StartFields,
  UpdateResult,
} from "attract/contract";
import { thrownByGame } from "attract/errors";
import { pressAction } from "attract/page-action";
import type { Allowed, PageAdapter, PageWindow } from "attract/page-adapter";
import { besidePixels } from "attract/page-pixels";
import { isOver, type PageFrame } from "./page-frame.ts";

const WORD = 2 ** 32;

type Parameters = StartContext["parameters"];
/** One agent's mask; of a mixed action by the names of its parts. */
type OwnMask = Uint8Array | Readonly<Record<string, Uint8Array>>;
/** One per agent if there are several; null where nothing is masked. */
type Masks = OwnMask | readonly OwnMask[] | null;

/** What a tick that was played ahead brought, or what was thrown in it. */
type Ahead = Pick<UpdateResult, "reward" | "terminated" | "info"> | { readonly thrown: unknown };

/** Where copies take their frames: `PageFrames`. */
export interface FramePool {
  /** Whether each episode has a frame of its own, which `load` gives. */
  readonly loadsForEpisodes: boolean;
  /** Whether the frame of an episode that is expected may be loaded before it. */
  readonly looksAhead: boolean;
  /** Resolves once `take` has a frame; null: it has. */
  preload(): Promise<void> | null;
  load(seed: number, parameters?: Readonly<Record<string, number>>): Promise<PageFrame>;
  take(): PageFrame;
  show(frame: PageFrame): void;
  giveBack(frame: PageFrame, isWhole: boolean): void;
}

/** One copy; its frame is taken at the first start. */
export class PageGame implements Game {
  readonly ahead?: GameAhead;
  /** Ticks of the current step that were played ahead. */
  #played: Ahead[] = [];
  /** Outcome of a start that was made ahead; null: there was none. */
  #begun: { readonly thrown?: unknown } | null = null;
  /** The page for the episode that is expected next. */
  #next: { readonly seed: number; readonly frame: Promise<PageFrame> } | null = null;
  readonly #adapter: PageAdapter;
  readonly #frames: FramePool;
  /** The same object for every update. */
  readonly #result: UpdateResult;
  #frame: PageFrame | null = null;
  #score: PerAgent<number> = 0;
  /** Reward of this tick per agent, if there are several. */
  #gained: number[] = [];
  #isWhole = true;
  readonly #ticksPerStep: number;
  /** Whether only the last tick of a step is drawn. */
  readonly #skipsTicks: boolean;
  /** Ticks of this episode. */
  #ticks = 0;
  #out: StartContext["out"] | null = null;

  constructor(adapter: PageAdapter, frames: FramePool, ticksPerStep: number, skipsTicks = false) {
    this.#adapter = adapter;
    this.#ticksPerStep = ticksPerStep;
    this.#skipsTicks = skipsTicks;
    this.#frames = frames;
    if (adapter.turns || frames.loadsForEpisodes)
      this.ahead = {
        start: (context) => this.#startAhead(context),
        step: (action, ticks) => (adapter.turns ? this.#stepAhead(action, ticks) : null),
        ...(frames.looksAhead ? { expect: (random) => this.#expect(random) } : {}),
      };
    const observe = (): UpdateResult["observation"] => {
      try {
        // After the end there may be nothing left to see.
        return this.#isOver ? undefined : this.#observation();
      } catch (error) {
        throw thrownByGame("update", this.#frame?.explain(error) ?? error);
      }
    };
    this.#result = {
      reward: 0,
      terminated: false,
      // Read once in a step, after its last tick.
      get observation() {
        return observe();
      },
    };
  }

  start({ random, parameters, out }: StartContext): StartFields {
    const adapter = this.#adapter;
    const begun = this.#begun;
    this.#begun = null;
    if (begun !== null && "thrown" in begun) throw begun.thrown;
    let frame = begun === null ? this.#takeFrame() : (this.#frame as PageFrame);
    try {
      if (begun === null) frame = this.#begin(frame, random.int(WORD), parameters);
      const { window } = frame;
      this.#ticks = 0;
      this.#out = out;
      this.#result.terminated = false;
      this.#score = adapter.score?.(window) ?? 0;
      this.#allow(out.actionMask);
      const observation = this.#observation();
      this.#isWhole = true;
      return observation === undefined ? {} : { observation };
    } catch (error) {
      throw (this.#frame ?? frame).explain(error);
    }
  }

  update(_deltaTime: number, action: GivenAction, out: StartContext["out"]): UpdateResult {
    const adapter = this.#adapter;
    const frame = this.#frame as PageFrame;
    const result = this.#result;
    if (adapter.turns) return this.#updatePlayed(out.actionMask);
    this.#isWhole = false;
    try {
      this.#tick(action);
      result.terminated = this.#over(frame);
      result.reward = this.#reward(frame.window);
      if (adapter.info !== undefined) result.info = adapter.info(frame.window);
      if (!this.#isOver) this.#allow(out.actionMask);
    } catch (error) {
      throw frame.explain(error);
    }
    this.#isWhole = true;
    return result;
  }

  dispose(): void {
    this.#leave(this.#isWhole);
    this.#dropNext();
  }

  /** The page that it plays in; null before the first start. */
  get window(): PageWindow | null {
    return this.#frame?.window ?? null;
  }

  /** Whether a step's ticks have passed; a watched game has steps of one tick. */
  get #isStepOver(): boolean {
    return this.#ticks % this.#ticksPerStep === 0;
  }

  /** Undefined where it stands in `out`. */
  #observation(): UpdateResult["observation"] {
    const { pixels, window } = this.#frame as PageFrame;
    const observed = this.#adapter.observe?.(window);
    if (pixels === null) return observed;
    if (this.#ticks === 0) pixels.begin();
    else if (this.#isStepOver) pixels.look();
    const { stacked } = pixels;
    if (observed !== undefined) return besidePixels(observed, stacked);
    const views: BoxView | BoxView[] = this.#out?.observation;
    for (const view of Array.isArray(views) ? views : [views]) view.set(stacked);
    return undefined;
  }

  #takeFrame(): PageFrame {
    this.#clearForStart();
    this.#frame ??= this.#frames.take();
    if (this.#skipsTicks) this.#frame.clock.draws = true;
    return this.#frame;
  }

  /** Begins in a fresh page if this one asked for a reload because of what was played before. */
  #begin(frame: PageFrame, seed: number, parameters: Parameters): PageFrame {
    frame.parameters = parameters;
    try {
      frame.begin(seed);
      return frame;
    } catch (error) {
      if (!frame.isReloadDue || this.#frames.preload() !== null) throw error;
    }
    const fresh = this.#takeFrame();
    fresh.parameters = parameters;
    fresh.begin(seed);
    return fresh;
  }

  #clearForStart(): void {
    const isWhole = this.#isWhole;
    // Until it has begun, its state is unknown.
    this.#isWhole = false;
    const { reset } = this.#adapter;
    // Only a game that is over can be restarted by its menu.
    const isOutOfMenu = reset === "over" && !(isWhole && this.#isOver);
    if (reset === "reload" || isOutOfMenu || this.#frame?.isReloadDue) this.#leave(isWhole);
  }

  /** The page of the episode of this seed, alone. */
  async #loadFrame(seed: number, parameters: Parameters): Promise<PageFrame> {
    if (this.#next?.seed !== seed) this.#dropNext();
    const next = this.#next?.frame ?? this.#frames.load(seed, parameters);
    this.#next = null;
    const frame = await next;
    this.#frame = frame;
    this.#frames.show(frame);
    return frame;
  }

  #expect(random: StartContext["random"]): void {
    this.#dropNext();
    const seed = random.int(WORD);
    const frame = this.#frames.load(seed);
    // The start that needs the frame gets the error.
    frame.catch(() => undefined);
    this.#next = { seed, frame };
  }

  #dropNext(): void {
    const next = this.#next;
    this.#next = null;
    next?.frame.then(
      (frame) => this.#frames.giveBack(frame, false),
      () => undefined,
    );
  }

  #tick(action: GivenAction): void {
    const frame = this.#frame as PageFrame;
    frame.stepTick = this.#ticks++ % this.#ticksPerStep;
    pressAction(this.#adapter, frame.window, action, frame, frame.stepTick / this.#ticksPerStep);
    if (this.#skipsTicks) frame.clock.draws = this.#isStepOver;
    frame.tick();
  }

  async #startAhead({ random, parameters }: StartContext): Promise<void> {
    try {
      const seed = random.int(WORD);
      this.#clearForStart();
      const kept = this.#frame;
      const frame = kept ?? (await this.#freshFrame(seed, parameters));
      await this.#beginAhead(frame, seed, parameters).catch(async (error) => {
        // As where nothing is waited for.
        if (kept === null || !frame.isReloadDue) throw error;
        this.#leave(false);
        await this.#beginAhead(await this.#freshFrame(seed, parameters), seed, parameters);
      });
      this.#begun = {};
    } catch (error) {
      this.#begun = { thrown: this.#frame?.explain(error) ?? error };
    }
  }

  async #freshFrame(seed: number, parameters: Parameters): Promise<PageFrame> {
    if (this.#frames.loadsForEpisodes) return await this.#loadFrame(seed, parameters);
    await this.#frames.preload();
    return this.#takeFrame();
  }

  async #beginAhead(frame: PageFrame, seed: number, parameters: Parameters): Promise<void> {
    frame.parameters = parameters;
    if (this.#skipsTicks) frame.clock.draws = true;
    if (this.#adapter.turns) await frame.beginInTurns(seed);
    else frame.begin(seed);
  }

  /** Ticks, each with a turn of the event loop after it, until the step or the episode is over. */
  async #stepAhead(action: GivenAction, ticks: number): Promise<void> {
    const adapter = this.#adapter;
    const frame = this.#frame as PageFrame;
    const result = this.#result;
    this.#played = [];
    this.#isWhole = false;
    try {
      for (let tick = 0; tick < ticks && !this.#isOver; tick++) {
        this.#tick(action);
        await frame.giveTurn();
        const terminated = this.#over(frame);
        result.terminated = terminated;
        const info = adapter.info?.(frame.window);
        this.#played.push({ reward: kept(this.#reward(frame.window)), terminated, info });
      }
      this.#isWhole = true;
    } catch (error) {
      this.#played.push({ thrown: frame.explain(error) });
    }
  }

  /** Result of a tick that was played ahead. */
  #updatePlayed(mask: Masks): UpdateResult {
    const played = this.#played.shift();
    if (played === undefined) throw new Error("this tick was not played: await stepAhead() first");
    if ("thrown" in played) throw played.thrown;
    Object.assign(this.#result, played);
    try {
      if (this.#played.length === 0 && !this.#isOver) this.#allow(mask);
    } catch (error) {
      throw this.#frame?.explain(error) ?? error;
    }
    return this.#result;
  }

  /** A page that asked for a reload is over for all agents. */
  #over(frame: PageFrame): PerAgent<boolean> {
    const over = frame.isReloadDue || kept(this.#adapter.over(frame.window));
    if (!isOver(over)) frame.checkAddress();
    return over;
  }

  get #isOver(): boolean {
    return isOver(this.#result.terminated ?? []);
  }

  #leave(isWhole: boolean): void {
    if (this.#frame !== null) this.#frames.giveBack(this.#frame, isWhole);
    this.#frame = null;
  }

  #reward(window: unknown): PerAgent<number> {
    const { score, reward } = this.#adapter;
    if (reward !== undefined) return reward(window);
    const now = (score as NonNullable<typeof score>)(window);
    const before = this.#score;
    this.#score = now;
    if (typeof now === "number") return now - (before as number);
    this.#gained = Array.from(now, (value, agent) => value - ((before as ArrayLike<number>)[agent] ?? 0));
    return this.#gained;
  }

  #allow(masks: Masks): void {
    const { allowed } = this.#adapter;
    if (masks === null || allowed === undefined) return;
    const given = allowed(this.#frame?.window);
    if (!isPerAgent(masks)) fill(masks, given as Allowed);
    else for (const [agent, mask] of masks.entries()) fill(mask, (given as readonly Allowed[])[agent] ?? []);
  }
}

function isPerAgent(masks: OwnMask | readonly OwnMask[]): masks is readonly OwnMask[] {
  return Array.isArray(masks);
}

function fill(mask: OwnMask, given: Allowed): void {
  if (!(mask instanceof Uint8Array)) {
    for (const [name, part] of Object.entries(mask)) {
      const own = (given as Record<string, ArrayLike<number>>)[name];
      if (own === undefined)
        throw new Error(`allowed() says nothing of ${name}: give one number per choice of it`);
      fill(part, own);
    }
    return;
  }
  const numbers = given as ArrayLike<number>;
  for (let i = 0; i < mask.length; i++) mask[i] = Number(numbers[i]) === 0 ? 0 : 1;
}

/** What an adapter gives may be the same array every time. */
function kept<T>(given: PerAgent<T>): PerAgent<T> {
  return typeof given === "object" ? Array.from(given as ArrayLike<T>) : given;
}
