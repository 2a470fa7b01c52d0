/** Whether a page game looks right while its episodes are played once more, drawn: see `SightRules`. */

import type { RecordedEpisode } from "@attract/schema";
import { ticksPerStep } from "attract/define-game";
import type { PageWindow } from "attract/page-adapter";
import type { Deadline } from "../../../check/src/check-finding.ts";
import { OFFSET, PRIME } from "../../../worker/src/episode/seen-hash.ts";
import { isGameError } from "../../../worker/src/game/failures.ts";
import { SightEyes } from "../sight/sight-eyes.ts";
import { SightRules } from "../sight/sight-rules.ts";
import type { Thumbnail } from "../sight/thumbnail.ts";
import { DrillCopy } from "./drill-copy.ts";
import type { Drilled } from "./drill-failures.ts";
import { alarmOf, clean, type Drill, stepSeconds, unfinished } from "./drill-options.ts";
import { scriptsOf } from "./scripts.ts";

/** Game time of an episode that is looked at. */
const MAX_SECONDS = 40;
/** Game time in which what begins is known for what it is. */
const LASTING_SECONDS = 5;
/** Game time that is drawn before it. */
const BEFORE_SECONDS = 3;
/** Game time from one reading of the words to the next. */
const WORDS_SECONDS = 0.1;
/** Game time for which what is pressed must be the same. */
const CALM_SECONDS = 0.5;
/** Of what is looked at again: before, not each frame may be drawn. */
const MIN_FLICKERS = 2;
/** Frames that are drawn one after another, and seldom fewer: a flicker takes three. */
const BURST = 5;
/** Where fewer frames were seen, nothing is known. */
const MIN_LOOKS = 40;
/** Of the time that is left, for the next episode: of a page that takes long to draw, few are seen. */
const FIRST_SHARE = 1 / 3;
/** Pictures that differ between two episodes that began alike: one may be of a file that came later. */
const MIN_OTHERS = 3;

export async function sight({ definition, episodes, lastStep, options }: Drill): Promise<Drilled> {
  const { page, tickSeconds } = definition;
  if (page === undefined) return unfinished("a game without a page is not looked at");
  const scripts = await scriptsOf(definition, episodes);
  if (scripts.length === 0) return unfinished("no episode of this game was given to be looked at");
  const eyes = new SightEyes();
  const rules = new SightRules(tickSeconds, lastStep === null ? 1 : MIN_FLICKERS);
  const isFresh = page.reset !== "own";
  const copy = new DrillCopy(definition, { isFresh, eyes }, options);
  const hasPad = page.keys.some((own) =>
    Object.values(own).some((codes) => codes.some((code) => code.startsWith("Pad"))),
  );
  const every = Math.max(1, Math.round(WORDS_SECONDS / tickSeconds));
  const calm = Math.ceil(CALM_SECONDS / tickSeconds);
  const stepsOf = (seconds: number): number => Math.ceil(seconds / stepSeconds(definition));
  const perStep = ticksPerStep(tickSeconds, stepSeconds(definition));
  /** By how an episode of a new page began, and tick: others differ by what is pressed alone. */
  const pictures = new Map<string, number>();
  let [ticks, looks, looked, moved, problem] = [0, 0, 0, 0, null as string | null];
  try {
    for (const [number, script] of scripts.entries()) {
      // What one does not need is for the others.
      const until = options.deadline.share(Math.max(FIRST_SHARE, 1 / (scripts.length - number)));
      let [tick, lastInput, lastChange, move] = [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, ""];
      const steps = Math.min(
        script.numSteps,
        (lastStep ?? 0) + stepsOf(lastStep === null ? MAX_SECONDS : LASTING_SECONDS),
      );
      const first = lastStep === null ? 0 : Math.max(0, lastStep - stepsOf(BEFORE_SECONDS));
      const pace = new Pace(first * perStep, steps * perStep, until);
      const { seed, instance, episode } = script.episode;
      const beginning = [seed.low, seed.high, instance, episode].join();
      let others = 0;
      rules.begin();
      eyes.begin();
      const see = (window: PageWindow): void => {
        if (problem !== null || window !== copy.window) return;
        if (eyes.hasInput(window) || hasPad) lastInput = tick;
        try {
          const words = tick % every === 0 ? eyes.words(window) : null;
          const isCalm = tick - lastChange >= calm;
          const seen = pace.isDrawn ? eyes.look(window) : { picture: null, isOther: false };
          if (pace.isDrawn) looks++;
          if (seen.picture !== null && isFresh) {
            const [key, hash] = [`${beginning} ${tick}`, hashOf(seen.picture)];
            others += Number(hash !== (pictures.get(key) ?? hash));
            pictures.set(key, hash);
          }
          const misses = eyes.misses(window);
          rules.see(tick, { ...seen, ticksWithoutInput: tick - lastInput, isCalm, words, misses });
        } catch (error) {
          problem = `the page cannot be seen: ${error instanceof Error ? error.message : String(error)}`;
        }
        tick++;
        copy.draws = pace.next();
      };
      try {
        await copy.start(script.episode);
        // Those of what was played before are of no tick of it.
        if (copy.window !== null) eyes.misses(copy.window);
        eyes.onTick = see;
        copy.draws = pace.isDrawn;
        pace.begin();
        for (let step = 0; step < steps && !copy.instance.episodeOver && !until.isOver; step++) {
          const now = script.action(step, copy.instance);
          const text = JSON.stringify(now);
          if (text !== move && step > 0) lastChange = tick;
          move = text;
          await copy.step(now);
        }
      } catch (error) {
        if (!isGameError(error)) throw error;
      }
      eyes.onTick = null;
      ticks += tick;
      looked++;
      moved += Number(others >= MIN_OTHERS);
      if (problem !== null || options.deadline.isOver) break;
    }
  } finally {
    copy.close();
  }
  if (problem !== null) return unfinished(problem);
  const numbers = { episodes: looked, ticks, looks, moved };
  if (looks < MIN_LOOKS) return unfinished(`no time was left: ${looks} frames were drawn`, numbers);
  const alarms = rules.alarms();
  const recorded = alarms.map(({ episode }): RecordedEpisode | null => scripts[episode].episode);
  const placed = alarms.map(({ oracle, text, tick }) =>
    alarmOf(oracle, text, { step: Math.floor(tick / perStep), tick: tick + 1 }),
  );
  return { ...clean(numbers), alarms: placed, recorded };
}

function hashOf({ buffer, byteOffset, byteLength }: Thumbnail): number {
  let hash = OFFSET;
  for (const word of new Uint32Array(buffer, byteOffset, byteLength / 4))
    hash = Math.imul(hash ^ word, PRIME);
  return hash;
}

/** Which ticks of an episode are drawn: all, or as many bursts as there is time for, over the whole of it. */
class Pace {
  isDrawn: boolean;
  readonly #ticks: number;
  readonly #until: Deadline;
  #tick = 0;
  #began = 0;
  /** Ticks until drawing begins, or ends. */
  #left: number;

  /** @param first tick that is drawn. */
  constructor(first: number, ticks: number, until: Deadline) {
    this.isDrawn = first === 0;
    this.#left = first === 0 ? BURST : first;
    this.#ticks = ticks;
    this.#until = until;
  }

  begin(): void {
    this.#began = this.#until.now();
  }

  /** A tick is over; whether the next is drawn. */
  next(): boolean {
    this.#tick++;
    this.#left--;
    if (this.#left > 0) return this.isDrawn;
    const now = this.#until.now();
    if (this.isDrawn) {
      const cost = (now - this.#began) / BURST;
      const affordable = Math.max(1, this.#until.left / Math.max(cost, 0.01));
      const gap = Math.floor(BURST * ((this.#ticks - this.#tick) / affordable - 1));
      this.isDrawn = gap <= 0;
      this.#left = gap > 0 ? gap : BURST;
    } else {
      this.isDrawn = true;
      this.#left = BURST;
    }
    this.#began = now;
    return this.isDrawn;
  }
}
