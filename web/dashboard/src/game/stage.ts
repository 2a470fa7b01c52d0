/** A game on one of the page's canvases: the game itself plays in a sandbox, only its pictures come here; or its frame is seen there. */

import type { EpisodeDifference, GameReference, RunView } from "@attract/schema";
import { fetchModule } from "@attract/worker/game/game-module";
import { SandboxThread } from "@attract/worker/game/game-thread";
import { fetchEngine } from "@attract/worker/host/engine";
import { SandboxFrames } from "@attract/worker/host/sandbox-frames";
import type { Decision, PageToStage, StagePlayer, StageToPage } from "@attract/worker/stage/stage-messages";
import { serverUrl } from "../api/client.ts";
import { FrameWait } from "./frame-wait.ts";

/** More would cost a phone's battery for nothing anyone sees. */
const MAX_PIXEL_RATIO = 2;
/** A game that has not answered for so long hangs; at first it has to be loaded too. */
const HANG_MS = 5_000;
const LOAD_MS = 30_000;

let frames: SandboxFrames | null = null;

/** What a game says of itself once it is loaded. */
export type Opened = Extract<StageToPage, { type: "opened" }>;

type Answer = Extract<StageToPage, { type: "policy_ready" }>;

/** How a game that lives in a page begins its episodes; null: it lives in none. */
export type Reset = Opened["reset"];

export interface StageOptions {
  reference: GameReference;
  /** What it is drawn on, or what the frame of a game that lives in a page lies on. */
  canvas: HTMLCanvasElement;
  player: StagePlayer;
  /** The agent that a person plays. */
  seat?: number;
  parameters?: RunView["parameters"];
  onOpened?(opened: Opened): void;
  /** Where a policy plays, or a person in its place: once a step. */
  onDecided?(decision: Decision): void;
  /** A recorded episode: where its play first differs. */
  onDiffers?(difference: EpisodeDifference): void;
  onEpisodeEnd?(end: Extract<StageToPage, { type: "episode_end" }>): void;
  /** The game, or what runs it, failed; unless it only could not draw itself, the stage has ended. */
  onError(error: Error): void;
}

/** Owned by the component that shows it; `close` ends the game, whatever it does. */
export class Stage {
  score = 0;
  steps = 0;
  readonly #options: StageOptions;
  readonly #thread: SandboxThread;
  #handle = 0;
  readonly #wait = new FrameWait();
  #isLoaded = false;
  #isOver = false;
  /** Seconds of game time of a recorded episode: the last one asked for, and the last one reached. */
  #goesTo = -1;
  #arrivedAt = -2;
  #policyReady: ((answer: Answer) => void) | null = null;

  constructor(options: StageOptions) {
    this.#options = options;
    const { reference, canvas, player, seat = 0, parameters = {} } = options;
    frames ??= new SandboxFrames(serverUrl("."));
    const module = fetchModule(serverUrl(".").href, reference);
    this.#thread = new SandboxThread("stage", reference, module, frames.over(canvas));
    this.#thread.onmessage = ({ data }: MessageEvent<StageToPage>) => this.#heard(data);
    this.#thread.onerror = ({ message }) => this.#fail(message);
    const seed = Math.floor(Math.random() * 2 ** 32);
    this.send({ type: "open", player, seed, parameters, seat });
    this.#handle = requestAnimationFrame(this.#onFrame);
  }

  send(message: PageToStage): void {
    this.#thread.postMessage(message);
  }

  start(): void {
    this.send({ type: "start" });
  }

  stop(): void {
    this.send({ type: "stop" });
  }

  /** A recorded episode: shows it at this second of game time. */
  go(seconds: number): void {
    if (seconds === this.#goesTo) return;
    this.#goesTo = seconds;
    this.send({ type: "go", seconds });
  }

  /** A recorded episode: whether it has not reached the asked second yet. */
  get isBehind(): boolean {
    return this.#goesTo !== this.#arrivedAt;
  }

  /** Plays with these models from now on. Raises Error when the engine cannot use them. */
  async setPolicy(version: number, models: Uint8Array[], seats: readonly number[]): Promise<void> {
    const ask = (engine: Blob | null): Promise<Answer> =>
      new Promise((resolve) => {
        this.#policyReady = resolve;
        this.send({ type: "policy", version, models, seats, engine });
      });
    // The engine has megabytes: it is loaded once a policy is not for the small player. The thread keeps it.
    let answer = await ask(null);
    if (answer.needsEngine === true) answer = await ask(await fetchEngine());
    if (answer.error !== null) throw new Error(String(answer.error));
  }

  close(): void {
    this.#isOver = true;
    cancelAnimationFrame(this.#handle);
    this.#thread.terminate();
  }

  readonly #onFrame = (now: number): void => {
    this.#handle = requestAnimationFrame(this.#onFrame);
    const waitedMs = this.#wait.frame(now);
    if (waitedMs !== null) {
      const limitMs = this.#isLoaded ? HANG_MS : LOAD_MS;
      if (waitedMs > limitMs) this.#fail(`The game did not come back within ${limitMs / 1000} s.`);
      return;
    }
    const { canvas } = this.#options;
    this.#wait.asked();
    this.send({
      type: "frame",
      now,
      width: canvas.clientWidth,
      height: canvas.clientHeight,
      pixelRatio: Math.min(window.devicePixelRatio || 1, MAX_PIXEL_RATIO),
    });
  };

  /** What a game says of itself is shown as text or as a picture, and believed in nothing else. */
  #heard(message: StageToPage): void {
    if (this.#isOver) return;
    switch (message?.type) {
      case "opened":
        this.#isLoaded = true;
        this.#options.onOpened?.(message);
        break;
      case "picture":
        this.#wait.answered();
        this.score = Number(message.score);
        this.steps = Number(message.steps);
        if (message.bitmap instanceof ImageBitmap) show(this.#options.canvas, message.bitmap);
        break;
      case "decided":
        this.#options.onDecided?.(numbersOf(message.decision));
        break;
      case "arrived":
        this.#arrivedAt = Number(message.seconds);
        break;
      case "differs":
        this.#options.onDiffers?.(differenceOf(message.difference));
        break;
      case "episode_end":
        this.#options.onEpisodeEnd?.(message);
        break;
      case "policy_ready":
        this.#policyReady?.(message);
        break;
      case "failed":
        if (message.isOver) this.#fail(String(message.text));
        else this.#options.onError(new Error(String(message.text)));
        break;
    }
  }

  #fail(text: string): void {
    if (this.#isOver) return;
    this.close();
    this.#options.onError(new Error(text));
  }
}

/** Numbers and nothing else, whatever was sent. */
function numbersOf(decision: Partial<Decision> | undefined): Decision {
  const action: unknown = decision?.action;
  const probabilities: unknown = decision?.probabilities;
  return {
    action: Array.isArray(action) ? action.map(Number) : Number(action),
    probabilities: probabilities instanceof Float64Array ? probabilities : new Float64Array(0),
  };
}

function differenceOf(difference: Partial<EpisodeDifference> | undefined): EpisodeDifference {
  return {
    step: Number(difference?.step),
    seconds: Number(difference?.seconds),
    text: String(difference?.text),
  };
}

function show(canvas: HTMLCanvasElement, bitmap: ImageBitmap): void {
  if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
  if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
  canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
}
