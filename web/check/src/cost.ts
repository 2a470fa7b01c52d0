/** What a game's ticks cost: time and heap, measured over random play without any checks in between. */

import type { GameDefinition } from "attract/contract";
import { createInstance } from "attract/group-instance";
import { drawActions, RandomPlayer } from "attract/random-play";
import type { Deadline } from "./check-finding.ts";

export interface Meters {
  /** Milliseconds from any fixed origin. */
  now: () => number;
  /** Bytes of heap in use, where the runtime tells. */
  heapBytes?: () => number;
}

export interface TickCost {
  /** Includes the instance's own checks and, per episode, the `start`. */
  microsecondsPerTick: number;
  /** Growth of the heap per tick, garbage included; null where the runtime does not tell. */
  bytesPerTick: number | null;
}

/** Steps between two readings of the heap; a stretch in which the collector ran is left out. */
const STRETCH = 500;
const WARM_UP_STEPS = 2_000;
/** Looks at the clock in between: the fastest part counts, since other work on the machine only ever adds. */
const PARTS = 5;
const CREATED_GAMES = 3;

/** Milliseconds that `create` and the first `start` take, the fastest of a few. Raises GameError as the game does. */
export function measureCreation(definition: GameDefinition, { now }: Meters, deadline: Deadline): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let number = 0; number < CREATED_GAMES && (number === 0 || !deadline.isOver); number++) {
    const began = now();
    createInstance(definition, { seedLow: 8 + number }).start(0);
    fastest = Math.min(fastest, now() - began);
  }
  return fastest;
}

/** Measures over `steps` steps after a warm-up, or fewer until the deadline. Raises GameError as the game does. */
export function measureTicks(
  definition: GameDefinition,
  steps: number,
  meters: Meters,
  deadline: Deadline | null = null,
): TickCost {
  const instance = createInstance(definition, { seedLow: 6 });
  const player = new RandomPlayer(definition.action, 6);
  let episode = 0;
  let ticks = 0;
  const play = (count: number): void => {
    for (let step = 0; step < count && (step === 0 || deadline === null || !deadline.isOver); step++) {
      instance.step(drawActions(instance, player));
      ticks += instance.executedTicks;
      if (instance.episodeOver) instance.start(++episode);
    }
  };
  instance.start(episode);
  play(Math.min(steps, WARM_UP_STEPS));
  let microsecondsPerTick = Number.POSITIVE_INFINITY;
  for (let part = 0; part < PARTS; part++) {
    ticks = 0;
    const began = meters.now();
    play(Math.max(1, Math.floor(steps / PARTS)));
    microsecondsPerTick = Math.min(microsecondsPerTick, (1000 * (meters.now() - began)) / ticks);
  }
  if (meters.heapBytes === undefined) return { microsecondsPerTick, bytesPerTick: null };
  let bytes = 0;
  let countedTicks = 0;
  for (let played = 0; played < steps; played += STRETCH) {
    const before = meters.heapBytes();
    const ticksBefore = ticks;
    play(STRETCH);
    const growth = meters.heapBytes() - before;
    if (growth < 0) continue;
    bytes += growth;
    countedTicks += ticks - ticksBefore;
  }
  const bytesPerTick = countedTicks === 0 ? null : bytes / countedTicks;
  return { microsecondsPerTick, bytesPerTick };
}
