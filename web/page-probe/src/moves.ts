/** Moves: what a player may do, and random play of them, as by one who does not know the game. */

import { PAD_BUTTONS, PAD_STICKS } from "../../sdk/src/page-inputs.gen.ts";
import type { Direction } from "./effects.ts";
import type { Place } from "./places.ts";
import { pressesOf, type StartAction } from "./start-actions.ts";
import { type Input, NOTHING } from "./trial.ts";

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const LETTERS = ["KeyA", "KeyD", "KeyW", "KeyS"];
/** What few pages heed is first pressed in one play, a group's keys one after another. */
export const KEYS = [
  ...[...ARROWS, "Space"].map((code) => [code]),
  LETTERS,
  ["Enter", "KeyZ", "KeyX", "KeyC", "KeyJ", "KeyK", "ShiftLeft", "ControlLeft"],
];
/** Tried if hardly any of those keys has an effect. */
export const FURTHER_KEYS = [
  ["KeyQ", "KeyE", "KeyP", "KeyL", "KeyF", "KeyI", "KeyM", "KeyN"],
  ["KeyR", "Tab", "Digit1", "Digit2", "Digit3", "Digit4"],
];
/** Tried where a page asks for a gamepad. */
export const PAD = [
  ...PAD_STICKS.slice(0, 4),
  ...PAD_BUTTONS.filter((code) => /Pad(?:[A-Z]|Left|Right|Up|Down)$/.test(code)),
];
/** Direction keys: if one of them has an effect, the others have one, too, though not at every wall. */
export const DIRECTIONS = [ARROWS, LETTERS];
/** Direction keys: they neither pause nor restart a game. */
export const MOVERS = new Set(DIRECTIONS.flat());
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

/** One thing that a player may do. */
export interface Move {
  readonly label: string;
  readonly input: Input;
  /** Whether it has an effect only after other moves. Default: no. */
  readonly isLate?: boolean;
  /** Expressions of the places that it changes, and how. */
  readonly effects?: ReadonlyMap<string, Direction>;
}

export interface ResponsiveInputs {
  readonly startAction: StartAction;
  readonly moves: readonly Move[];
  /** Whether only the first moment of a press has an effect. */
  readonly taps: boolean;
  /** Whether anything moves without input. */
  readonly isMoving: boolean;
  /** Places that any of the moves changes. */
  readonly changed: ReadonlySet<Place>;
  /** All that was tried to start the game, the likeliest first. */
  readonly tried?: readonly ResponsiveInputs[];
}

/** Moves without the start action: another press of it may be no move. */
export function ownMoves(startAction: StartAction, moves: readonly Move[]): readonly Move[] {
  const codes = pressesOf(startAction).flatMap((press) => (press.kind === "key" ? [press.code] : []));
  return moves.filter(({ input }) => !codes.some((code) => input.keys.includes(code)));
}

export function labelOf(code: string): string {
  return code
    .replace(/^(Arrow|Key|Digit)/, "")
    .replace(/(Left|Right)$/, (side) => (/^(Shift|Control)/.test(code) ? "" : side))
    .toLowerCase();
}

/** Elements may bear the same words: each move has a label of its own. */
export function withOwnLabels(moves: readonly Move[]): Move[] {
  const taken = new Set(["nothing"]);
  return moves.map(({ label, input }) => {
    let own = label;
    for (let i = 2; taken.has(own); i++) own = `${label} ${i}`;
    taken.add(own);
    return { label: own, input };
  });
}
