/** Whether a game keeps something of each episode: its heap after a collection, over many episodes of one copy. */

import { drawActions, RandomPlayer } from "attract/random-play";
import { isGameError } from "../../../worker/src/game/failures.ts";
import { DrillCopy } from "./drill-copy.ts";
import type { Drilled } from "./drill-failures.ts";
import {
  alarmOf,
  clean,
  type Drill,
  found,
  type HeapMeter,
  stepSeconds,
  unfinished,
} from "./drill-options.ts";
import { heapMeter } from "./heap.ts";

const WARM_UP_EPISODES = 8;
const EPISODES = 40;
/** Fewer say nothing. */
const MIN_EPISODES = 24;
/**
 * Growth must go on after that: what V8 learns of a game's code stays as well, in KAPLAY's pages 3 kB an episode for some 60
 * episodes, then less than 1 kB.
 */
const SETTLING_EPISODES = 40;
const LATER_EPISODES = 32;
/** A reading of a module follows so many steps at least: random play of some games ends after a few. Pages have no time for it. */
const READING_STEPS = 200;
/** An episode is stopped after so much game time. */
const EPISODE_SECONDS = 20;
const MAX_STEPS = 600;
/** Per episode: what is less is lost among what the engine itself keeps. */
const MIN_BYTES = 1_000;
/** See `Line`; a line without any noise comes to 9 over 40 episodes. */
const MIN_DEVIATIONS = 5;
/** Each part of the episodes must show at least this share of the slope: what is made once stands in one of them. */
const PARTS = 4;
const PART_SHARE = 0.25;

export async function leak({ definition, options }: Drill): Promise<Drilled> {
  const { page } = definition;
  // A page for each episode takes along what it holds: nothing is known of one that goes on.
  if (page !== undefined && page.reset !== "own") return clean({ episodes: 0 });
  const heapBytes = options.heapBytes === undefined ? heapMeter() : options.heapBytes;
  if (heapBytes === null)
    return unfinished("this browser does not tell the size of its heap: Chromium has flags for it");
  const copy = new DrillCopy(definition, { isFresh: false }, options);
  try {
    const player = new EpisodePlayer(copy, options);
    await player.play(WARM_UP_EPISODES, null);
    const bytes = await player.play(EPISODES, heapBytes);
    if (bytes.length < MIN_EPISODES)
      return unfinished(`only ${bytes.length} of ${MIN_EPISODES} episodes were played in the time given`);
    const line = fitted(bytes);
    const perReading = player.episodes / (WARM_UP_EPISODES + bytes.length);
    const numbers = { bytes_per_episode: line.slope / perReading, episodes: player.episodes };
    if (!isGrowing(bytes, line)) return clean(numbers);
    await player.play(SETTLING_EPISODES, null);
    const later = await player.play(LATER_EPISODES, heapBytes);
    if (later.length < LATER_EPISODES)
      return unfinished("the heap grows, but there was no time left to see whether it goes on", numbers);
    const lasting = fitted(later);
    const played = player.episodes;
    const perEpisode = lasting.slope / perReading;
    const lastingNumbers = { episodes: played, bytes_per_episode: perEpisode };
    if (!isGrowing(later, lasting)) return clean(lastingNumbers);
    const kilobytes = (perEpisode / 1000).toPrecision(2);
    const text =
      `the game keeps ${kilobytes} kB of each episode: after a garbage collection its heap grew by ` +
      `${((later[later.length - 1] - bytes[0]) / 1000).toFixed(0)} kB over ${played} episodes`;
    return found(alarmOf("leak", text), lastingNumbers);
  } catch (error) {
    if (!isGameError(error)) throw error;
    return unfinished(`the game failed: ${error.message}`);
  } finally {
    copy.close();
  }
}

/** Plays episode after episode at random. */
class EpisodePlayer {
  readonly #copy: DrillCopy;
  readonly #options: Drill["options"];
  readonly #steps: number;
  /** Begun so far. */
  episodes = 0;

  constructor(copy: DrillCopy, options: Drill["options"]) {
    this.#copy = copy;
    this.#options = options;
    this.#steps = Math.min(MAX_STEPS, Math.ceil(EPISODE_SECONDS / stepSeconds(copy.definition)));
  }

  /** @returns bytes of the heap after each episode; fewer where there is no time left. */
  async play(count: number, heapBytes: HeapMeter | null): Promise<number[]> {
    const { seed, parameters, deadline } = this.#options;
    const bytes = new Float64Array(count);
    let played = 0;
    for (; played < count && !deadline.isOver; played++) {
      const wanted = this.#copy.definition.page === undefined ? READING_STEPS : 1;
      for (let steps = 0; steps < wanted && !deadline.isOver; steps++) {
        const episode = this.episodes++;
        const player = new RandomPlayer(this.#copy.definition.action, seed.low, episode);
        await this.#copy.start({ seed, instance: 0, episode, parameters });
        const { instance } = this.#copy;
        for (let step = 0; step < this.#steps && !instance.episodeOver && !deadline.isOver; step++, steps++)
          await this.#copy.step(drawActions(instance, player));
      }
      if (heapBytes !== null) bytes[played] = await heapBytes();
    }
    return Array.from(bytes.subarray(0, played));
  }
}

interface Line {
  /** Per episode. */
  slope: number;
  /** Standard deviations by which the values rise more often than by chance. */
  deviations: number;
}

/**
 * The median of all slopes between two values, since single readings are off by a hundred kilobytes where a collection is late.
 * Source: Sen 1968 (doi:10.1080/01621459.1968.10480934), with the test of Mann 1945 and Kendall 1955, ties not corrected.
 */
export function fitted(values: readonly number[]): Line {
  const n = values.length;
  const slopes: number[] = [];
  let rises = 0;
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      slopes.push((values[j] - values[i]) / (j - i));
      rises += Math.sign(values[j] - values[i]);
    }
  slopes.sort((a, b) => a - b);
  const half = slopes.length / 2;
  const slope = (slopes[Math.floor(half - 0.5)] + slopes[Math.floor(half)]) / 2;
  return { slope, deviations: rises / Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18) };
}

/** Whether the heap grows by more than the engine's own, surely, and all the time. */
export function isGrowing(bytes: readonly number[], { slope, deviations }: Line): boolean {
  if (slope < MIN_BYTES || deviations < MIN_DEVIATIONS) return false;
  const size = Math.floor(bytes.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) => bytes.slice(part * size, (part + 1) * size)).every(
    (part) => fitted(part).slope >= PART_SHARE * slope,
  );
}
