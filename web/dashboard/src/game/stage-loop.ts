/** One game instance on the page, paced by the screen: what *watch*, *play* and the previews run. */

import type { Action, GameDefinition } from "attract";
import { ticksPerStep } from "attract/define-game";
import { type EndReason, GameInstance } from "attract/instance";

/** Most steps caught up in one frame; after a pause the game goes on instead of racing. */
const MAX_STEPS_PER_FRAME = 8;

export interface EpisodeEnd {
  episodeReturn: number;
  steps: number;
  reason: EndReason;
}

export interface StageOptions {
  definition: GameDefinition;
  canvas: HTMLCanvasElement;
  /** The action for the instance's current observation. A promise holds the game until it is there. */
  choose: (instance: GameInstance) => Action | Promise<Action>;
  /** 32 bits that name this sitting's episodes. */
  seed: number;
  /** Called between episodes, after the rest; the next one starts when it resolves. */
  onEpisodeEnd?: (end: EpisodeEnd) => void | Promise<void>;
  /** Called after every frame in which the game moved. */
  onProgress?: (instance: GameInstance) => void;
  /** The game threw: the loop has ended. */
  onError: (error: unknown) => void;
  /** How long the last picture of an episode stays, in milliseconds. */
  restMs?: number;
}

/** Owned by the component that made it; `start` and `stop` as often as wanted. */
export class StageLoop {
  readonly instance: GameInstance;
  /** 1 is the game's own pace. */
  speed = 1;
  readonly #options: StageOptions;
  readonly #secondsPerStep: number;
  #frame = 0;
  #last = 0;
  #owed = 0;
  #isBusy = false;
  #restUntil = 0;
  #isRunning = false;

  constructor(options: StageOptions) {
    const { definition, seed } = options;
    this.#options = options;
    const { tickSeconds, secondsPerStep = tickSeconds } = definition;
    this.#secondsPerStep = ticksPerStep(tickSeconds, secondsPerStep) * tickSeconds;
    this.instance = new GameInstance(definition, { seedLow: seed, seedHigh: 0, instanceId: 0 });
    this.instance.start(0);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#last = performance.now();
    this.#owed = 0;
    this.#frame = requestAnimationFrame(this.#onFrame);
  }

  stop(): void {
    this.#isRunning = false;
    cancelAnimationFrame(this.#frame);
  }

  /** Draws the game as it stands, sharp on any screen. A game without `draw` gets its numbers written out. */
  draw(): void {
    const { canvas } = this.#options;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || height === 0) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.save();
    if (this.instance.game.draw === undefined) drawNumbers(context, this.instance, width, height);
    else this.instance.game.draw(context, width, height);
    context.restore();
  }

  readonly #onFrame = (now: number): void => {
    if (!this.#isRunning) return;
    this.#frame = requestAnimationFrame(this.#onFrame);
    this.#owed += ((now - this.#last) / 1000) * this.speed;
    this.#last = now;
    if (this.#isBusy) return;
    if (now < this.#restUntil) {
      this.#owed = 0;
      return;
    }
    this.#isBusy = true;
    this.#advance()
      .catch((error: unknown) => {
        this.stop();
        this.#options.onError(error);
      })
      .finally(() => {
        this.#isBusy = false;
      });
  };

  async #advance(): Promise<void> {
    const { choose, onProgress } = this.#options;
    const { instance } = this;
    if (instance.episodeOver) {
      await this.#nextEpisode();
      return;
    }
    const due = Math.floor(this.#owed / this.#secondsPerStep);
    if (due === 0) return;
    this.#owed -= due * this.#secondsPerStep;
    for (let i = 0; i < Math.min(due, MAX_STEPS_PER_FRAME) && !instance.episodeOver; i++) {
      const action = choose(instance);
      instance.step(action instanceof Promise ? await action : action);
    }
    this.draw();
    onProgress?.(instance);
    if (instance.episodeOver) this.#restUntil = performance.now() + (this.#options.restMs ?? 900);
  }

  async #nextEpisode(): Promise<void> {
    const { instance } = this;
    await this.#options.onEpisodeEnd?.({
      episodeReturn: instance.episodeReturns[0],
      steps: instance.episodeSteps,
      reason: instance.endReason ?? "terminated",
    });
    instance.start(instance.episode + 1);
    this.#owed = 0;
    this.#last = performance.now();
    this.draw();
    this.#options.onProgress?.(instance);
  }
}

function drawNumbers(
  context: CanvasRenderingContext2D,
  instance: GameInstance,
  width: number,
  height: number,
): void {
  context.fillStyle = "#9aa1b9";
  context.font = "14px ui-monospace, monospace";
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText("This game has no draw(); its observation:", 16, 16, width - 32);
  const view = instance.views[0];
  const numbers = ArrayBuffer.isView(view) ? [...view] : Object.values(view).flatMap((part) => [...part]);
  const rows = Math.max(1, Math.floor((height - 60) / 20));
  numbers.slice(0, rows * 3).forEach((value, i) => {
    const x = 16 + Math.floor(i / rows) * 150;
    context.fillText(`${i}: ${value.toFixed(3)}`, x, 48 + (i % rows) * 20);
  });
}
