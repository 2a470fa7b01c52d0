/** Attract in Playwright Test: the page of a game under a virtual clock, pressed, played and read by a test. */

import { test as base, expect, type Page, type TestInfo } from "@playwright/test";
import { jsonOf, wordsOf } from "../../page-probe/src/json-value.ts";
import type { Answer, CommandName } from "./commands.ts";
import { fileOf, type Opened, openModule, openPage, readEpisode, readPolicy } from "./opening.ts";
import type {
  ClickOptions,
  ClickTarget,
  GameOptions,
  Played,
  PlayerName,
  PlayOptions,
  PolicyOptions,
  PressOptions,
  Replayed,
  ReplayOptions,
  UntilOptions,
} from "./types.ts";

export type * from "./types.ts";
export { expect };

const FRAMES_PER_SECOND = 60;
const MAX_WORDS = 1_000;
const MAX_ERRORS = 64;

/** A game, opened by its first command; it stands still between commands. */
export class Game {
  #errors: string[] = [];
  #isOpen = false;
  #opening: Promise<Opened> | null = null;
  #page: Page | null = null;
  readonly #connect: () => Promise<Opened>;
  readonly #seed: number;
  readonly #info: TestInfo;

  /** @internal */
  constructor(connect: () => Promise<Opened>, seed: number, info: TestInfo) {
    this.#connect = connect;
    this.#seed = seed;
    this.#info = info;
  }

  /** @internal */
  async close(): Promise<void> {
    await (await this.#opening?.catch(() => null))?.close();
  }

  /** What shows the game, for screenshots with `draws`. Raises Error before the first command, and of a module. */
  get page(): Page {
    if (this.#page === null) throw new Error("there is no page: the first command opens it");
    return this.#page;
  }

  /** What the game threw, rejected, wrote as errors or requested in vain, until the last command. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  /** Plays frames without input. */
  async step(frames = 1): Promise<void> {
    await this.#call(this.step, "frames", { inputs: [], count: frames });
  }

  /** Holds keys (`KeyboardEvent.code`), or an action of the adapter or the module, and lets go. */
  async press(keys: string | readonly string[], { frames = 4 }: PressOptions = {}): Promise<void> {
    await this.#call(this.press, "frames", { inputs: held(keys, frames), count: frames });
  }

  /** Clicks an element, or a place. */
  async click(target: ClickTarget, { frames = 4, how = "press" }: ClickOptions = {}): Promise<void> {
    const inputs = [{ kind: "pointer", name: String(target), from: 0, to: frames, how, targets: [target] }];
    await this.#call(this.click, "frames", { inputs, count: frames });
  }

  /**
   * What an expression is now, as plain data of bounded size. It may name variables of classic scripts, and `w`, `made` and
   * `drawn` as in `attract look`; of a module `game`.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the page says what it is
  async eval(expression: string): Promise<any> {
    return await this.#call(this.eval, "evaluate", { expression });
  }

  /** Plays until an expression is true after a frame. Fails with what it was last. Returns: game time in seconds. */
  async until(expression: string, options: UntilOptions = {}): Promise<number> {
    const { seconds = 10, hold = [], player, seed } = options;
    const count = Math.max(1, Math.round(seconds * FRAMES_PER_SECOND));
    const play = player === undefined ? null : this.#playOrder(player, { seconds, seed });
    const order = { expression, inputs: held(hold, count), count, play };
    return await this.#call<number>(this.until, "until", order, seed);
  }

  /** Has a player play on from here; where the episode is over, in the next one. */
  async play(player: PlayerName, options: PlayOptions = {}): Promise<Played> {
    return await this.#call<Played>(this.play, "play", this.#playOrder(player, options), options.seed);
  }

  /** As `play`, by a policy of `attract export`: its folder, or a file in it. */
  async policy(file: string, { how = "greedy", ...options }: PolicyOptions = {}): Promise<Played> {
    const policy = await readPolicy(fileOf(file, this.#info));
    const order = { ...this.#playOrder(`policy:${how}`, options), policy };
    return await this.#call<Played>(this.policy, "play", order, options.seed);
  }

  /** Plays a recorded episode in a fresh copy, and says whether the fault that it shows is still there. */
  async replay(file: string, options: ReplayOptions = {}): Promise<Replayed> {
    const { oracle = "error", known = [], begins = false } = options;
    const episode = await readEpisode(fileOf(file, this.#info, `${file}.json`));
    const order = { oracle, known, begins, episode };
    const replayed = await this.#call<Replayed>(this.replay, "replay", order);
    const { difference } = replayed;
    if (difference !== null)
      this.#info.annotations.push({ type: "play", description: `Not as it was recorded: ${difference}.` });
    return replayed;
  }

  /** Opens a fresh copy. */
  async restart({ seed = this.#seed }: { seed?: number } = {}): Promise<void> {
    await this.#call(this.restart, "open", { seed });
  }

  #playOrder(player: string, { seconds = 30, seed = this.#seed }: PlayOptions): object {
    return { player, seed, seconds, policy: null };
  }

  /** @param method at whose call in the test a failure is shown. */
  async #call<T>(
    method: (...given: never[]) => unknown,
    name: CommandName,
    order: unknown,
    seed = this.#seed,
  ): Promise<T> {
    const place = { stack: "" };
    Error.captureStackTrace(place, method);
    return await base.step(`game.${method.name}`, async () => {
      try {
        this.#opening ??= this.#connect();
        const { obey, page } = await this.#opening;
        this.#page = page;
        if (!this.#isOpen && name !== "open" && name !== "replay") this.#take(await obey("open", { seed }));
        const value = this.#take(await obey(name, order));
        if (name !== "replay") this.#isOpen = true;
        return value as T;
      } catch (thrown) {
        const error = new Error(thrown instanceof Error ? thrown.message : String(thrown));
        error.stack = `Error: ${error.message}\n${place.stack.split("\n").slice(1).join("\n")}`;
        throw error;
      }
    });
  }

  /** What a page says is not believed to be more than data. */
  #take({ value, failure, errors }: Answer): unknown {
    const heard = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : [];
    this.#errors = heard.map((text) => wordsOf(text, MAX_WORDS));
    if (failure === null) return jsonOf(value, 17);
    throw new Error(wordsOf(failure, MAX_WORDS));
  }
}

function held(keys: string | readonly string[], frames: number): object[] {
  return [keys].flat().map((name) => ({ kind: "key", name, from: 0, to: frames }));
}

/** As where episodes are recorded: WebRTC sends no UDP, which no policy forbids; and builds with threads share memory. */
const SWITCHES = [
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--enable-blink-features=SharedArrayBuffer",
];

export const test = base.extend<{ attract: GameOptions; game: Game; moduleGame: Game }>({
  attract: [{}, { option: true }],
  launchOptions: async ({ launchOptions }, use) => {
    await use({ ...launchOptions, args: [...(launchOptions.args ?? []), ...SWITCHES] });
  },
  /** A game in its page. */
  game: async ({ browser, playwright, attract, baseURL }, use, info) => {
    const open = () => openPage({ browser, playwright }, attract, baseURL, info);
    const game = new Game(open, attract.seed ?? 0, info);
    await use(game);
    await game.close();
  },
  /** A game that is a module, played in Node without a browser. */
  moduleGame: async ({ attract }, use, info) => {
    const game = new Game(() => openModule(attract, info), attract.seed ?? 0, info);
    await use(game);
    await game.close();
  },
});
