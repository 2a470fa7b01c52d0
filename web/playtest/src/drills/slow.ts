/** Whether a game's tick takes longer than it may: the same random play three times, of each tick the fastest. */

import type { Instance } from "attract/instance";
import { drawActions, RandomPlayer } from "attract/random-play";
import { isGameError } from "../../../worker/src/game/failures.ts";
import { DrillCopy } from "./drill-copy.ts";
import type { Drilled } from "./drill-failures.ts";
import { alarmOf, clean, type Drill, found, unfinished } from "./drill-options.ts";

const ROUNDS = 3;
const MAX_TICKS = 6_000;
/** Fewer say nothing of one in a hundred. */
const MIN_TICKS = 100;
const MAX_EPISODES = 60;
/** The first ticks are played before their code is compiled. */
const WARM_UP_TICKS = 60;
/** A tick is long where it takes so many tick times, and so many milliseconds. */
const LONG_TICKS = 3;
const LONG_MS = 50;
/** Long ticks are allowed this share of all. */
const LONG_SHARE = 0.01;
/** Ticks are compared in stretches of so many milliseconds. */
const STRETCH_MS = 2;
/** A single tick is a hitch where it takes longer than its own game time, and than so many milliseconds, each time it is played. */
const HITCH_MS = 100;

export async function slow({ definition, options }: Drill): Promise<Drilled> {
  const copy = new DrillCopy(definition, { isFresh: false }, options);
  const rounds: Round[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const until = options.deadline.share(1 / (ROUNDS - round));
      const ticks = round === 0 ? MAX_TICKS : rounds[0].ticks.length;
      rounds.push(await timed(copy, options, ticks, () => until.isOver));
    }
  } catch (error) {
    if (!isGameError(error)) throw error;
    copy.failed(error);
    // What a game does before it fails says how fast it is; one that fails is found by others.
    if (rounds.length < ROUNDS) return unfinished(`the game failed: ${error.message}`);
  } finally {
    copy.close();
  }
  const numTicks = Math.min(...rounds.map(({ ticks }) => ticks.length));
  if (numTicks < MIN_TICKS)
    return unfinished(`only ${numTicks} of ${MIN_TICKS} ticks were played in the time given`);
  const fastest = Array.from({ length: numTicks }, (_, i) =>
    Math.min(...rounds.map(({ ticks }) => ticks[i])),
  );
  const sorted = fastest.slice().sort((a, b) => a - b);
  const tickMs = 1000 * definition.tickSeconds;
  const longMs = Math.max(LONG_MS, LONG_TICKS * tickMs);
  const longShare = fastest.filter((ms) => ms > longMs).length / numTicks;
  const median = sorted[numTicks >> 1];
  const numbers = {
    microseconds_per_tick: 1000 * fastestMean(rounds.map(({ ticks }) => ticks.slice(0, numTicks))),
    p99_tick_microseconds: 1000 * sorted[Math.floor(0.99 * numTicks)],
    long_frames_share: longShare,
    ticks: numTicks,
  };
  const longest = sorted[numTicks - 1];
  const text =
    median > tickMs
      ? `a tick takes ${median.toFixed(1)} ms in the median, longer than the ${tickMs.toFixed(1)} ms of game time it stands for`
      : longShare > LONG_SHARE
        ? `${(100 * longShare).toFixed(1)} % of the ticks take longer than ${longMs.toFixed(0)} ms, the longest ` +
          `${longest.toFixed(0)} ms; a tick stands for ${tickMs.toFixed(1)} ms`
        : longest > Math.max(HITCH_MS, tickMs)
          ? `a tick takes ${longest.toFixed(0)} ms and stands for ${tickMs.toFixed(1)} ms of game time`
          : null;
  if (text === null) return clean(numbers);
  const tick = fastest.indexOf(longest);
  const step = rounds[0].steps[tick];
  return found(alarmOf("slow", `${text}, in each of ${ROUNDS} rounds`, { step }), numbers);
}

interface Round {
  /** Milliseconds of each tick. */
  ticks: number[];
  /** Step of its episode that a tick was in. */
  steps: number[];
}

/**
 * Mean of a tick, of each stretch of ticks the fastest round: on a busy machine every round has ticks in which
 * others had the processor. A stretch is long enough for a clock that counts tenths of a millisecond, on which
 * the fastest of three short ticks takes no time at all.
 */
function fastestMean(rounds: readonly number[][]): number {
  const numTicks = rounds[0].length;
  const stretch = Math.ceil(STRETCH_MS / Math.min(...rounds.map(mean)));
  const length = Math.min(Math.max(1, stretch), numTicks);
  let sum = 0;
  for (let from = 0; from < numTicks; from += length)
    sum += Math.min(...rounds.map((ticks) => total(ticks.slice(from, from + length))));
  return sum / numTicks;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function mean(values: readonly number[]): number {
  return total(values) / values.length;
}

/** Plays at random, each time the same, for so many ticks at most. */
async function timed(
  copy: DrillCopy,
  { seed, parameters, now, yieldTurn, deadline }: Drill["options"],
  maxTicks: number,
  isLate: () => boolean,
): Promise<Round> {
  const round: Round = { ticks: [], steps: [] };
  let watch: TickWatch | null = null;
  let warm = 0;
  for (let episode = 0; episode < MAX_EPISODES && round.ticks.length < maxTicks; episode++) {
    const player = new RandomPlayer(copy.definition.action, seed.low, episode);
    await copy.start({ seed, instance: 0, episode, parameters });
    const { instance } = copy;
    watch ??= new TickWatch(instance, now);
    while (!instance.episodeOver && round.ticks.length < maxTicks) {
      if (deadline.isOver || isLate()) {
        watch.end();
        return round;
      }
      const action = drawActions(instance, player);
      // What is due elsewhere in this thread is not the game's.
      await yieldTurn();
      watch.times.length = 0;
      copy.record(action);
      const began = now();
      const ahead = instance.take(action);
      if (ahead !== null) await ahead;
      const taken = now() - began;
      const ticks = instance.executedTicks;
      if (warm < WARM_UP_TICKS) {
        warm += ticks;
        continue;
      }
      // Ticks that were played ahead are known by their step alone.
      const isHeard = ahead === null && watch.times.length === ticks;
      for (let tick = 0; tick < ticks; tick++) {
        round.ticks.push(isHeard ? watch.times[tick] : taken / ticks);
        round.steps.push(instance.episodeSteps - 1);
      }
    }
  }
  watch?.end();
  return round;
}

/** Takes the time of each call of a game's `update`; of a frozen game it hears nothing. */
class TickWatch {
  /** Milliseconds, in the order of the calls. */
  readonly times: number[] = [];
  readonly #game: Instance["game"];
  readonly #wasOwn: boolean;
  readonly #update: Instance["game"]["update"];

  constructor({ game }: Instance, now: () => number) {
    this.#game = game;
    this.#wasOwn = Object.hasOwn(game, "update");
    const { update } = game;
    this.#update = update;
    const heard: typeof update = (...given) => {
      const began = now();
      const result = update.apply(game, given);
      this.times.push(now() - began);
      return result;
    };
    Reflect.set(game, "update", heard);
  }

  /** The game is as it was. */
  end(): void {
    if (this.#wasOwn) Reflect.set(this.#game, "update", this.#update);
    else Reflect.deleteProperty(this.#game, "update");
  }
}
