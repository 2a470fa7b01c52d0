/** The adapter of a probed page, by the candidates that are chosen for its parts. */

import type { ProbeChoice, ProbeDraft } from "../../schema/src/api.gen.ts";
import { adapterText, DEFAULT_TICKS_PER_STEP, unfinishedOf } from "./adapter-text.ts";
import { begunText } from "./begun.ts";
import type { Chosen, End } from "./ends.ts";
import type { EngineHooks } from "./engines.ts";
import type { Findings } from "./findings.ts";
import type { Place } from "./places.ts";
import type { Reading } from "./readings.ts";
import { againText, type Restart } from "./restarts.ts";
import { BY_ITSELF, type StartAction } from "./start-actions.ts";

/** A step of so many frames taps for as long as the probe does when it tells taps from held keys. */
const LONG_STEP = 10;

/** Length of an episode that the game does not end. */
export const MAX_SECONDS = 120;

/** How long a move is pressed. */
export interface Press {
  readonly taps: boolean;
  readonly ticksPerStep: number;
  readonly why: string;
}

/** How the next episode begins: by a call, by the game's own menu, or in a fresh page. */
export interface Beginning {
  readonly call: string | null;
  readonly again: StartAction | null;
  readonly startAction: StartAction;
  readonly why: string;
}

/**
 * How moves may be pressed; the first is what the probe saw.
 *
 * @param stepTicks frames between two moves of the game; null: it moves more often than an agent decides.
 */
export function pressesOf(taps: boolean, stepTicks: number | null = null): Press[] {
  const found = taps ? "only the first moment of a press had an effect" : "a held key had an effect";
  const longest = Math.max(LONG_STEP, 2 * (stepTicks ?? 0));
  const [long, other] = ["the same in longer steps", "the other way, in longer steps"];
  return [
    { taps, ticksPerStep: stepTicks ?? DEFAULT_TICKS_PER_STEP, why: found },
    { taps, ticksPerStep: longest, why: long },
    { taps: !taps, ticksPerStep: longest, why: other },
  ];
}

/** The ways to begin the next episode, the fastest first; a fresh page always works. */
export function beginningsOf(
  restart: Restart | null,
  again: StartAction | null,
  startAction: StartAction,
): Beginning[] {
  const found: Beginning[] = [
    { call: null, again: null, startAction, why: "it always works, and takes longest" },
  ];
  const why = "the game was as at its start afterwards, and moves had an effect";
  if (again !== null) found.unshift({ call: null, again, startAction, why });
  if (restart !== null) {
    const begun = restart.isEnough ? BY_ITSELF : startAction;
    found.unshift({ call: restart.text, again: null, startAction: begun, why });
  }
  return found;
}

/** As `restart` of a report. */
export function beginningText({ call, again }: Pick<Beginning, "call" | "again">): string | null {
  return call ?? (again === null ? null : againText(again));
}

export interface DraftParts
  extends Omit<
    Findings,
    "restart" | "again" | "playing" | "early" | "ticksPerStep" | "maxSeconds" | "alive" | "reached" | "open"
  > {
  readonly hooks: EngineHooks | null;
  /** What can be read once the page has loaded. */
  readonly earlyPlaces: readonly Place[];
  readonly presses: readonly Press[];
  readonly beginnings: readonly Beginning[];
}

/** What writes the adapter of a page. */
export interface Writer {
  /** The likeliest of all. */
  readonly first: ProbeChoice;
  /**
   * @param choice of the candidates.
   * @param open options for which no candidate will do.
   */
  write(choice: ProbeChoice, open?: readonly string[]): Promise<ProbeDraft>;
}

/** Owned by the probe of one page. */
export class Draft implements Writer {
  readonly #parts: DraftParts;

  constructor(parts: DraftParts) {
    this.#parts = parts;
  }

  get first(): ProbeChoice {
    const { score, end } = this.#parts.reading;
    return {
      press: 0,
      score: score === null ? null : 0,
      end: end === null ? null : 0,
      restart: 0,
      max_seconds: MAX_SECONDS,
      alive: false,
      reached: false,
    };
  }

  async write(choice: ProbeChoice, open: readonly string[] = []): Promise<ProbeDraft> {
    const { reading: all, presses, beginnings, inputs, hooks, earlyPlaces, ...parts } = this.#parts;
    const score = choice.score === null ? null : chosen<Chosen>(all.scores, choice.score);
    const end = choice.end === null ? null : chosen<End>(all.ends, choice.end);
    const reading: Reading = { ...all, score, end };
    const { taps, ticksPerStep } = chosen(presses, choice.press);
    const { call: restart, startAction, ...found } = chosen(beginnings, choice.restart);
    // The menu was found by the likeliest end.
    const again = choice.end === this.first.end ? found.again : null;
    const findings: Findings = {
      ...parts,
      inputs: { ...inputs, taps, startAction },
      reading,
      restart,
      again,
      playing: await begunText(this.#parts, startAction, end, restart !== null, hooks),
      early: earlyOf(reading, earlyPlaces),
      ticksPerStep,
      maxSeconds: choice.max_seconds,
      alive: choice.alive,
      // A menu begins the next game without forgetting what was reached.
      reached: choice.reached && again === null,
      open,
    };
    return {
      adapter: adapterText(findings),
      score: score?.place.text ?? null,
      end: end?.text ?? null,
      restart: beginningText({ call: restart, again }),
      taps,
      unfinished: unfinishedOf(findings),
    };
  }
}

/** Raises Error where there is no such candidate. */
function chosen<T>(all: readonly T[], index: number): T {
  const found = all[index];
  if (found === undefined) throw new Error(`expected an index below ${all.length}, got ${index}`);
  return found;
}

/** Places that the adapter reads, and that are there once the page has loaded. */
function earlyOf({ seen, score, end }: Reading, early: readonly Place[]): string[] {
  const known = new Set(early.filter(({ isShown }) => !isShown).map(({ text }) => text));
  const used = [end?.place.text, score?.place.text, ...seen.map(({ place }) => place.text)];
  return [...new Set(used.filter((text): text is string => text !== undefined && known.has(text)))].slice(
    0,
    2,
  );
}
