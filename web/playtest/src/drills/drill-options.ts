/** What every drill of a playtest is given, and what it says. */

import type { PlaytestAlarm, PlaytestDrill, PlaytestGame, RecordedEpisode, Seed } from "@attract/schema";
import type { Action, GameDefinition } from "attract/contract";
import type { Deadline } from "../../../check/src/check-finding.ts";
import type { Drilled, DrillFailures } from "./drill-failures.ts";

export interface DrillOptions {
  /** Seeds random play. */
  seed: Seed;
  /** Parameters of random play; a missing one has its default. */
  parameters: Readonly<Record<string, number>>;
  /** What the players `hold-K` hold: the K-th is `held[K]`, an action of one agent. */
  held: readonly Action[];
  /** What the observation's numbers are called, from its first on. Default: by their places. */
  observed?: PlaytestGame["observed"];
  /** When the drill must be done. */
  deadline: Deadline;
  /** Gives the event loop its turn. */
  yieldTurn(): Promise<void>;
  /** Monotonic, in milliseconds. */
  now(): number;
  /** Bytes of live objects after a collection; null: not told here. Default: as this thread's browser tells. */
  heapBytes?: HeapMeter | null;
  /** Collects what the game throws. Default: that is dropped. */
  failures?: DrillFailures;
  /** See `PageFramesOptions`. */
  base?: string;
}

/** Collects garbage, then resolves to the bytes of what is left. */
export type HeapMeter = () => Promise<number>;

/** One drill, its defaults filled in. */
export interface Drill {
  definition: GameDefinition;
  episodes: PlaytestDrill["episodes"];
  lastStep: PlaytestDrill["last_step"];
  options: DrillOptions;
}

/** A drill that found nothing, but for `numbers`. */
export function clean(numbers: Drilled["numbers"] = {}): Drilled {
  return { alarms: [], recorded: [], numbers, problem: null };
}

/** A drill that got nowhere. */
export function unfinished(problem: string, numbers: Drilled["numbers"] = {}): Drilled {
  return { ...clean(numbers), problem };
}

/** An alarm in words, which has no stack. @param place default: none. */
export function alarmOf(
  oracle: PlaytestAlarm["oracle"],
  text: string,
  { step = 0, tick = 0 }: { step?: number; tick?: number } = {},
): PlaytestAlarm {
  return { oracle, text, stack: null, method: null, step, tick };
}

/** A drill that found one thing. @param recorded the episode that shows it; null: none does. */
export function found(
  alarm: PlaytestAlarm,
  numbers: Drilled["numbers"],
  recorded: RecordedEpisode | null = null,
): Drilled {
  return { ...clean(numbers), alarms: [alarm], recorded: [recorded] };
}

/** Game time of a step, in seconds. */
export function stepSeconds({ tickSeconds, secondsPerStep = tickSeconds }: GameDefinition): number {
  return secondsPerStep;
}

/** A step and its game time: "step 120 (6.0 s)". */
export function stepText(definition: GameDefinition, step: number): string {
  return `step ${step} (${(step * stepSeconds(definition)).toFixed(1)} s)`;
}
