/** Whether an episode comes to where nothing that is pressed changes anything that is seen or drawn, and it does not end. */

import type { PlaytestAlarm, RecordedEpisode } from "@attract/schema";
import { drawActions, RandomPlayer } from "attract/random-play";
import type { EpisodeScript } from "../../../worker/src/episode/episode-script.ts";
import { packActions, unpackActions } from "../../../worker/src/episode/packed-actions.ts";
import { type DrillCopy, holding, type Mover, steadyCopy } from "./drill-copy.ts";
import type { Drilled } from "./drill-failures.ts";
import { alarmOf, clean, type Drill, stepSeconds, stepText, unfinished } from "./drill-options.ts";
import { scriptsOf } from "./scripts.ts";

/** Game time in which every input leads to the same. */
const WATCHED_SECONDS = 5;
/** An episode that ends by itself within so much game time after that is not locked. */
const ENDING_SECONDS = 10;
/** Random play gets so many steps at least to get out: of a game in turns, seconds are few. */
const RANDOM_STEPS = 200;
const RANDOM_PLAYERS = 3;
/** Inputs held; of a board of many cells, random play tries the others. */
const MAX_HELD = 40;
const MAX_ALARMS = 3;
/** Share of what time is left for the step in which it begins: then the episode is played up to there once more. */
const BEGIN_SHARE = 0.5;
/** Pictures per second of game time. */
const PICTURES = 4;

export async function softLock({ definition, episodes, options }: Drill): Promise<Drilled> {
  const scripts = await scriptsOf(definition, episodes);
  const long = scripts.filter((script) => latestStep(definition, script) >= 0);
  if (long.length === 0) return clean({ episodes: 0, locked: 0 });
  const copy = await steadyCopy(definition, long, options);
  if (copy === null) return unfinished(options.deadline.isOver ? NO_TIME : UNSTEADY);
  const found: Drilled = clean();
  let looked = 0;
  let locked = 0;
  try {
    const inputs = new Inputs(definition, options);
    for (const script of long) {
      const latest = latestStep(definition, script);
      const isLocked = await inputs.lead(copy, script, latest, WATCHED_SECONDS + ENDING_SECONDS, "all");
      if (options.deadline.isOver) break;
      if (isLocked === null) continue;
      looked++;
      if (!isLocked) continue;
      locked++;
      if (found.alarms.length >= MAX_ALARMS) continue;
      const begin = await beginOf(inputs, copy, script, latest, options.deadline.share(BEGIN_SHARE));
      const recorded = await cutEpisode(copy, script, begin + inputs.stepsOf(WATCHED_SECONDS));
      if (recorded === null) continue;
      found.alarms.push(lockAlarm(definition, begin, inputs.count));
      found.recorded.push(recorded);
    }
  } finally {
    copy.close();
  }
  const isNothing = looked < long.length && found.alarms.length === 0;
  const cause = options.deadline.isOver
    ? "since there was no time left"
    : "since the replays of the others differ from their records";
  const problem = isNothing ? `only ${looked} of ${long.length} episodes were looked at, ${cause}` : null;
  return { ...found, numbers: { episodes: looked, locked }, problem };
}

const NO_TIME = "there was no time left for it";
const UNSTEADY = "the game does not play its episodes again as they were recorded";

/** The last step from which an episode can be said to be locked; negative: there is none, or the game ended it. */
function latestStep(definition: Drill["definition"], { episode }: EpisodeScript): number {
  const steps = (seconds: number): number => Math.ceil(seconds / stepSeconds(definition));
  const { end_reason: reason, num_steps: numSteps } = episode;
  if (reason === "terminated" || reason === "failed") return -1;
  // What a time limit ends within the time in which an episode may end by itself is not locked.
  const isLimited = reason === "time_limit" || reason === "game_truncated";
  const margin = isLimited ? steps(WATCHED_SECONDS + ENDING_SECONDS) + 1 : steps(WATCHED_SECONDS);
  return numSteps - margin;
}

/** Everything that can be pressed. */
class Inputs {
  readonly #definition: Drill["definition"];
  readonly #held: readonly Mover[];
  readonly #every: number;
  readonly #seed: number;

  constructor(definition: Drill["definition"], { held, seed }: Drill["options"]) {
    this.#definition = definition;
    this.#held = held.slice(0, MAX_HELD).map((action) => holding(definition, action));
    this.#every = Math.max(1, Math.round(1 / (PICTURES * stepSeconds(definition))));
    this.#seed = seed.low;
  }

  get count(): number {
    return this.#held.length + RANDOM_PLAYERS;
  }

  stepsOf(seconds: number): number {
    return Math.ceil(seconds / stepSeconds(this.#definition));
  }

  /**
   * Whether from step `at` on every input leads to the same for so long, and none to an end; null: the episode did not come so far,
   * or there was no time.
   */
  async lead(
    copy: DrillCopy,
    script: EpisodeScript,
    at: number,
    seconds: number,
    which: "all" | "watched",
  ): Promise<boolean | null> {
    const steps = this.stepsOf(seconds);
    const isLimited = script.episode.end_reason !== "stopped" && script.episode.end_reason !== "cut";
    // Beyond a time limit there is nothing to be played.
    const most = isLimited ? script.numSteps - at - 1 : Number.POSITIVE_INFINITY;
    const longest = which === "all" ? Math.min(most, Math.max(steps, RANDOM_STEPS)) : steps;
    const randoms = Array.from({ length: RANDOM_PLAYERS }, (_, number) => this.#random(number));
    const reference = await copy.fork(script, at, randoms[0], longest, this.#every);
    if (reference === null) return null;
    if (reference.isOver) return false;
    const { pictures } = reference;
    const others: [Mover, number][] = [
      ...this.#held.map((mover): [Mover, number] => [mover, steps]),
      ...randoms.slice(1).map((mover): [Mover, number] => [mover, longest]),
    ];
    for (const [mover, length] of others) {
      const other = await copy.fork(script, at, mover, length, this.#every, pictures);
      if (other === null) return null;
      if (other.isOver || other.pictures.some((picture, i) => picture !== pictures[i])) return false;
    }
    return true;
  }

  /** Plays at random, each time the same. */
  #random(number: number): Mover {
    const { action } = this.#definition;
    let player = new RandomPlayer(action, this.#seed, number);
    let last = Number.POSITIVE_INFINITY;
    return (instance) => {
      if (instance.episodeSteps <= last) player = new RandomPlayer(action, this.#seed, number);
      last = instance.episodeSteps;
      return drawActions(instance, player);
    };
  }
}

/** The first step from which every input leads to the same, known to do so from `latest` on. */
async function beginOf(
  inputs: Inputs,
  copy: DrillCopy,
  script: EpisodeScript,
  latest: number,
  until: Drill["options"]["deadline"],
): Promise<number> {
  let [free, locked] = [-1, latest];
  while (locked - free > 1 && !until.isOver) {
    const middle = (free + locked) >> 1;
    const isLocked = await inputs.lead(copy, script, middle, WATCHED_SECONDS, "watched");
    // Without time it is as it was known before.
    if (isLocked === null) break;
    if (isLocked) locked = middle;
    else free = middle;
  }
  return locked;
}

function lockAlarm(definition: Drill["definition"], step: number, count: number): PlaytestAlarm {
  const seconds = WATCHED_SECONDS + ENDING_SECONDS;
  const ticks = Math.round(stepSeconds(definition) / definition.tickSeconds);
  const text =
    `from ${stepText(definition, step)} on no input changes anything: ${count} inputs, each for ${seconds} s of game time, ` +
    "led to the same observations and the same drawing, and the episode did not end";
  return alarmOf("soft-lock", text, { step, tick: step * ticks });
}

/** The first `steps` steps of an episode, as a file of its own; null: it did not come so far. */
async function cutEpisode(
  copy: DrillCopy,
  script: EpisodeScript,
  steps: number,
): Promise<RecordedEpisode | null> {
  if (!(await copy.follow(script, steps))) return null;
  const { episode } = script;
  const numbers = await unpackActions(episode.actions);
  const [, ...row] = episode.actions.shape;
  const size = row.reduce((product, extent) => product * extent, 1);
  const { interval, hashes } = episode.marks;
  return {
    ...episode,
    id: "",
    actions: packActions(numbers.slice(0, steps * size), [steps, ...row]),
    marks: { interval, hashes: hashes.slice(0, 8 * Math.ceil(steps / interval)) },
    returns: [...copy.instance.episodeReturns],
    num_steps: steps,
    num_ticks: copy.instance.episodeTicks,
    end_reason: "stopped",
    error: null,
  };
}
