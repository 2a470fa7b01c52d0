/** A game that lives in a page, as the contract has games: `start` and `update` over a frame and its adapter. */

/// <reference lib="dom" />
import type {
  Action,
  BoxView,
  Game,
  PerAgent,
  StartContext,
  StartFields,
  UpdateResult,
} from "attract/contract";
import { thrownByGame } from "attract/errors";
import { pressAction } from "attract/page-action";
import type { PageAdapter } from "attract/page-adapter";
import { besidePixels } from "attract/page-pixels";
import type { PageFrame } from "./page-frame.ts";
import type { PageFrames } from "./page-frames.ts";

const WORD = 2 ** 32;

/** One copy; its frame is taken at the first start. */
export class PageGame implements Game {
  readonly #adapter: PageAdapter;
  readonly #frames: PageFrames;
  /** The same object for every update. */
  readonly #result: UpdateResult;
  #frame: PageFrame | null = null;
  #score: PerAgent<number> = 0;
  /** Of several agents: what this tick brought each. */
  #gained: number[] = [];
  #isWhole = true;
  readonly #ticksPerStep: number;
  /** Whether only the last tick of a step is drawn. */
  readonly #skipsTicks: boolean;
  /** Of this episode. */
  #ticks = 0;
  #out: StartContext["out"] | null = null;

  constructor(adapter: PageAdapter, frames: PageFrames, ticksPerStep: number, skipsTicks = false) {
    this.#adapter = adapter;
    this.#ticksPerStep = ticksPerStep;
    this.#skipsTicks = skipsTicks;
    this.#frames = frames;
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

  start({ random, out }: StartContext): StartFields {
    const adapter = this.#adapter;
    const isWhole = this.#isWhole;
    // Until it has begun, nobody knows what is left of it.
    this.#isWhole = false;
    if (this.#frame !== null && adapter.reset === "reload") this.#leave(isWhole);
    this.#frame ??= this.#frames.take();
    const frame = this.#frame;
    const { window } = frame;
    try {
      if (this.#skipsTicks) frame.clock.draws = true;
      frame.begin(random.int(WORD));
      this.#ticks = 0;
      this.#out = out;
      this.#result.terminated = false;
      this.#score = adapter.score?.(window) ?? 0;
      this.#allow(out.actionMask);
      const observation = this.#observation();
      this.#isWhole = true;
      return observation === undefined ? {} : { observation };
    } catch (error) {
      throw frame.explain(error);
    }
  }

  update(_deltaTime: number, action: Action | ArrayLike<Action>, out: StartContext["out"]): UpdateResult {
    const adapter = this.#adapter;
    const frame = this.#frame as PageFrame;
    const result = this.#result;
    this.#isWhole = false;
    try {
      pressAction(adapter, frame.window, action, frame, (this.#ticks++ / this.#ticksPerStep) % 1);
      if (this.#skipsTicks) frame.clock.draws = this.#isStepOver;
      frame.tick();
      result.terminated = adapter.over(frame.window);
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
  }

  /** Whether as many ticks have passed as a step has: whoever watches has steps of one tick. */
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

  get #isOver(): boolean {
    const { terminated } = this.#result;
    return typeof terminated === "boolean" ? terminated : Array.from(terminated ?? []).every(Boolean);
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

  #allow(mask: Uint8Array | null): void {
    const { allowed } = this.#adapter;
    if (mask === null || allowed === undefined) return;
    const given = allowed(this.#frame?.window);
    for (let i = 0; i < mask.length; i++) mask[i] = Number(given[i]) === 0 ? 0 : 1;
  }
}
