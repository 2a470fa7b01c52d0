/** Trials of games that live in a page: how fast they go, what it costs to begin, whether they play the same way twice. */

/// <reference lib="dom" />
import { Agent, type PolicyDocument } from "@attract/play";
import { flatAction } from "@attract/play/choice";
import type { Action, GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { drawActions, RandomPlayer } from "attract/random-play";
import { PageFrame } from "../../web/worker/src/page/page-frame.ts";
import { PageFrames, type PageFramesOptions } from "../../web/worker/src/page/page-frames.ts";

declare global {
  interface Window {
    attractPageTrials: typeof attractPageTrials;
  }
}

const SEED = 7;

let definition: GameDefinition | null = null;

interface Player {
  instance: Instance;
  player: RandomPlayer;
}

interface Crowd {
  frames: PageFrames;
  players: Player[];
}

/** So many copies, each at its first step; all of one seed, or each of its own. */
async function crowd(
  count: number,
  isAlike: boolean,
  options: Partial<PageFramesOptions> = {},
): Promise<Crowd> {
  const frames = new PageFrames(definition as GameDefinition, { maxCopies: count, ...options });
  const players: Player[] = [];
  for (let i = 0; i < count; i++) {
    const seedLow = isAlike ? SEED : SEED + i;
    const instance = createInstance(frames.definition, { seedLow });
    await frames.preload();
    await instance.begin(0);
    players.push({ instance, player: new RandomPlayer(frames.definition.action, seedLow) });
  }
  return { frames, players };
}

/** One step of one copy, and its next episode where that was the last. */
async function step({ instance, player }: Player, frames: PageFrames): Promise<Action | ArrayLike<Action>> {
  const drawn = drawActions(instance, player);
  instance.step(drawn);
  if (instance.episodeOver) {
    await frames.preload();
    await instance.begin(instance.episode + 1);
  }
  return drawn;
}

/** FNV-1a over the numbers' bits. */
class Hash {
  #value = 0x811c9dc5;
  readonly #bits = new DataView(new ArrayBuffer(8));

  add(number: number): void {
    this.#bits.setFloat64(0, number);
    for (let i = 0; i < 8; i++) this.#value = Math.imul(this.#value ^ this.#bits.getUint8(i), 0x01000193);
  }

  get text(): string {
    return (this.#value >>> 0).toString(16).padStart(8, "0");
  }
}

function addState(hash: Hash, instance: Instance): void {
  for (const view of instance.views) for (const value of leavesOf(view)) hash.add(value);
  for (const reward of instance.rewards) hash.add(reward);
  hash.add(instance.episodeSteps);
}

function leavesOf(view: unknown): number[] {
  if (ArrayBuffer.isView(view)) return Array.from(view as Float32Array);
  return Object.values(view as object).flatMap(leavesOf);
}

/** What `attract export` wrote, its model in base64. */
interface KeptPolicy {
  document: PolicyDocument;
  model: string;
}

function agentOf({ document, model }: KeptPolicy): Agent {
  return new Agent({ document, model: Uint8Array.from(atob(model), (letter) => letter.charCodeAt(0)) });
}

const attractPageTrials = {
  /** The adapter whose module has this text. */
  async open(text: string): Promise<{ id: string; ticksPerStep: number }> {
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    definition = (await import(/* @vite-ignore */ url)).default as GameDefinition;
    const { id, tickSeconds, secondsPerStep = tickSeconds } = definition;
    return { id, ticksPerStep: Math.round(secondsPerStep / tickSeconds) };
  },

  /** Frames of the page a second, at random and one copy after the other. */
  async speed(
    count: number,
    milliseconds: number,
    draws: boolean,
  ): Promise<{ ticks: number; seconds: number }> {
    const { frames, players } = await crowd(count, false, { draws });
    const perStep = Math.round(
      ((definition as GameDefinition).secondsPerStep ?? 0) / (definition as GameDefinition).tickSeconds,
    );
    let steps = 0;
    const began = performance.now();
    while (performance.now() - began < milliseconds)
      for (const player of players) {
        await step(player, frames);
        steps++;
      }
    const seconds = (performance.now() - began) / 1000;
    frames.close();
    return { ticks: steps * perStep, seconds };
  },

  /** Milliseconds that the game's own restart takes, and a fresh page. */
  async beginnings(count: number): Promise<{ restart: number[]; reload: number[] }> {
    const page = (definition as GameDefinition).page as NonNullable<GameDefinition["page"]>;
    const address = new URL(page.page.replace(/^https?:\/\/[^/]+/, ""), location.origin).href;
    const restart: number[] = [];
    const reload: number[] = [];
    for (let i = 0; i < count; i++) {
      let began = performance.now();
      const frame = await PageFrame.load({ ...page, reset: "reload" }, address, {
        draws: false,
        webGl: "null",
      });
      frame.begin(i);
      reload.push(performance.now() - began);
      if (page.reset === "own") {
        for (let tick = 0; tick < 60 && !page.over(frame.window); tick++) frame.tick();
        began = performance.now();
        frame.begin(i + 1);
        restart.push(performance.now() - began);
      }
      frame.remove();
    }
    return { restart, reload };
  },

  /** What `count` copies of one seed, each in a page of its own, come to after so many steps: one hash each. */
  async hashes(count: number, steps: number, draws: boolean): Promise<string[]> {
    const { frames, players } = await crowd(count, true, { draws, isFresh: true });
    const hashes = players.map(() => new Hash());
    for (let i = 0; i < steps; i++)
      for (const [at, player] of players.entries()) {
        await step(player, frames);
        addState(hashes[at], player.instance);
      }
    frames.close();
    return hashes.map(({ text }) => text);
  },

  /** How many of `count` recorded episodes replay exactly in a fresh page, each with at most `maxSteps` steps. */
  async replays(count: number, maxSteps: number): Promise<number> {
    const { frames, players } = await crowd(1, true, { isFresh: true });
    const [{ instance, player }] = players;
    let equal = 0;
    for (let episode = 0; episode < count; episode++) {
      const actions: (Action | ArrayLike<Action>)[] = [];
      const played = async (again: boolean): Promise<string> => {
        const hash = new Hash();
        if (!instance.episodeOver) instance.cut();
        await frames.preload();
        await instance.begin(episode);
        for (let i = 0; i < maxSteps && !instance.episodeOver; i++) {
          if (!again) actions.push(drawActions(instance, player));
          if (i >= actions.length) return "longer";
          instance.step(actions[i] as Action);
          addState(hash, instance);
        }
        return hash.text;
      };
      if ((await played(false)) === (await played(true))) equal++;
    }
    frames.close();
    return equal;
  },

  /**
   * What so many episodes of an evaluation with that seed bring, each played to its end in a page of its own.
   *
   * @param policy null: random play.
   */
  async returns(
    count: number,
    seed: { low: number; high: number },
    policy: KeptPolicy | null,
  ): Promise<number[]> {
    const frames = new PageFrames(definition as GameDefinition, { maxCopies: 1, isFresh: true });
    const instance = createInstance(frames.definition);
    const chance = new RandomPlayer(frames.definition.action, seed.low, seed.high);
    const agent = policy === null ? null : agentOf(policy);
    const returns: number[] = [];
    for (let episode = 0; episode < count; episode++) {
      await frames.preload();
      // In an evaluation each episode is the first of its copy that has this number.
      instance.setStream(seed.low, seed.high, episode);
      await instance.begin(0);
      agent?.reset();
      let sum = 0;
      while (!instance.episodeOver) {
        const mask = instance.masks[0];
        instance.step(
          agent === null
            ? drawActions(instance, chance)
            : flatAction(agent.act(instance.views[0], { mask: mask.length > 0 ? mask : null })),
        );
        sum += instance.rewards[0];
      }
      returns.push(sum);
    }
    frames.close();
    return returns;
  },

  /** Shows the page as it looks after so many steps of this policy; how large it is, from the window's corner. */
  async show(policy: KeptPolicy, steps: number): Promise<[width: number, height: number]> {
    const page = (definition as GameDefinition).page as NonNullable<GameDefinition["page"]>;
    const frames = new PageFrames(definition as GameDefinition, { maxCopies: 1, draws: true, isSeen: true });
    frames.fit(...page.size);
    const instance = createInstance(frames.definition, { seedLow: SEED });
    const agent = agentOf(policy);
    await frames.preload();
    await instance.begin(0);
    for (let i = 0; i < steps && !instance.episodeOver; i++) {
      const mask = instance.masks[0];
      instance.step(flatAction(agent.act(instance.views[0], { mask: mask.length > 0 ? mask : null })));
    }
    return [...page.size];
  },

  /** One copy that the browser's driver steps: `act` gives reward and end, and begins the next episode. */
  async single(): Promise<void> {
    single = await crowd(1, true);
  },

  async act(action: number): Promise<{ observation: number[]; reward: number; isOver: boolean }> {
    const { frames, players } = single as Crowd;
    const [{ instance }] = players;
    instance.step(action);
    const reward = instance.rewards[0];
    const isOver = instance.episodeOver;
    if (isOver) {
      await frames.preload();
      await instance.begin(instance.episode + 1);
    }
    return { observation: leavesOf(instance.views[0]), reward, isOver };
  },
};

let single: Crowd | null = null;

window.attractPageTrials = attractPageTrials;
