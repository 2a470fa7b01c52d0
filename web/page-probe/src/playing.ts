/** Random play, as by a player who does not know the game. */

import type { Move } from "./inputs.ts";
import { type Input, NOTHING } from "./trial.ts";

/** At random, a move is kept up for so many frames. */
const MOVE_TICKS = [4, 16] as const;

/** One move after another, each kept up for a moment. */
export function randomly(moves: readonly Move[], random: () => number): (tick: number) => Input {
  let [input, left] = [NOTHING, 0];
  return () => {
    if (left-- <= 0) {
      const chosen = Math.floor(random() * (moves.length + 1));
      input = moves[chosen]?.input ?? NOTHING;
      left = MOVE_TICKS[0] + Math.floor(random() * (MOVE_TICKS[1] - MOVE_TICKS[0]));
    }
    // A pointer that stays pressed clicks once.
    return input.pointer !== undefined && input.pointer[2] !== "move" && left < 2 ? NOTHING : input;
  };
}

/** Mulberry32. */
export function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
