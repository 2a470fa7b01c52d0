/** What a probe reports of each candidate: why it is one, and what random play saw of it. */

import type {
  PageProbe,
  ProbeCandidates,
  ProbeEnd,
  ProbeMove,
  ProbePlace,
  ProbeScore,
  ProbeStarter,
} from "../../schema/src/api.gen.ts";
import { type Beginning, beginningText, type Press } from "./draft.ts";
import { amountOf, scalarOf } from "./effects.ts";
import type { Chosen, End } from "./ends.ts";
import { numberOf, wordsOf } from "./json-value.ts";
import type { Move, ResponsiveInputs } from "./moves.ts";
import type { Place, Value } from "./places.ts";
import type { Reading } from "./readings.ts";
import { NOTED } from "./rules.ts";
import { pressesOf, type StartAction } from "./start-actions.ts";
import type { Samples } from "./trial.ts";

const MAX_PLACES = 100;
const MAX_MOVES = 100;
const MAX_STARTS = 8;
const MAX_LINES = 100;

export interface Found {
  readonly inputs: ResponsiveInputs;
  readonly reading: Reading;
  /** Random play, each frame of it. */
  readonly plays: readonly Samples[];
  readonly presses: readonly Press[];
  readonly beginnings: readonly Beginning[];
}

export function candidatesIn({ inputs, reading, plays, presses, beginnings }: Found): ProbeCandidates {
  const { moves, tried = [inputs] } = inputs;
  const frames = plays.map((play) => framesUntil(play, reading.end) ?? play.rows.length - 1);
  return {
    start: tried.slice(0, MAX_STARTS).map((one) => ({
      starter: starterOf(one.startAction),
      why: `${one.moves.length} moves had an effect, and ${one.isMoving ? "something" : "nothing"} moved by itself`,
      num_moves: one.moves.length,
      is_moving: one.isMoving,
    })),
    moves: moves.slice(0, MAX_MOVES).map(moveOf),
    press: presses.map(({ taps, ticksPerStep, why }) => ({ taps, ticks_per_step: ticksPerStep, why })),
    places: placesOf(plays, moves, reading.end),
    score: reading.scores.map((score) => scoreOf(score, plays, frames)),
    end: reading.ends.map((end) => endOf(end, plays)),
    restart: beginnings.map((beginning) => ({
      kind: beginning.call !== null ? "call" : beginning.again !== null ? "menu" : "page",
      text: beginningText(beginning) ?? "a fresh page",
      why: beginning.why,
    })),
  };
}

export function starterOf(startAction: StartAction): ProbeStarter {
  const { kind, ticks } = startAction;
  const empty = { code: null, x: null, y: null, selector: null, text: null, name: null };
  const presses: Partial<ProbeStarter>[] = pressesOf(startAction);
  const joined = (name: "code" | "selector" | "text" | "name"): string | null => {
    const words = presses.flatMap((press) => press[name] ?? []);
    return words.length === 0 ? null : wordsOf(words.join(", "));
  };
  const starter = Object.assign(empty, ...presses, { kind, ticks }) as ProbeStarter;
  return {
    ...starter,
    ...{ code: joined("code"), selector: joined("selector"), text: joined("text"), name: joined("name") },
  };
}

/** In lines of bounded number and length. */
export function linesOf(texts: readonly string[]): PageProbe["errors"] {
  return texts.slice(0, MAX_LINES).map((text) => wordsOf(text));
}

function moveOf({ label, input, isLate, effects }: Move): ProbeMove {
  return {
    label: wordsOf(label),
    keys: [...input.keys],
    pointer:
      input.pointer === undefined ? null : [input.pointer[0], input.pointer[1], input.pointer[2] !== "move"],
    how: input.pointer?.[2] ?? null,
    why: isLate ? "it had an effect after other moves" : "play with it differs from the same play without it",
    num_moved: effects?.size ?? 0,
  };
}

/** What each place held: those that a move changes first, then those that change by themselves. */
function placesOf(plays: readonly Samples[], moves: readonly Move[], end: End | null): ProbePlace[] {
  const { places } = plays[0];
  const found = places.flatMap((place, at) => {
    if (place.text === "picture") return [];
    const series = plays.map(({ rows }) => rows.map((row) => row[at]));
    const movedBy = moves.flatMap(({ label, effects }) => {
      const direction = effects?.get(place.text);
      return direction === undefined ? [] : [[wordsOf(label), direction] as const];
    });
    const seen = amountsOf(series.map((one) => one.map((value) => measureOf(place, value))));
    const first = series[0].find((value) => value !== undefined);
    const isStill = seen.ups + seen.downs === 0 && new Set(series.flat().map(String)).size < 2;
    // What all moves change says less of one than what some do.
    const rank = [
      NOTED.test(place.text) ? 1 : 0,
      movedBy.length > 0 ? 0 : isStill ? 2 : 1,
      place.text.length,
    ];
    return [
      {
        rank,
        seen: {
          path: place.text,
          kind: place.kind,
          first: scalarOf(place.kind, first),
          ...seen,
          moved_by: Object.fromEntries(movedBy),
          at_end: scalarOf(place.kind, atEnd(plays, at, end)),
        },
      },
    ];
  });
  return found
    .sort(({ rank: a }, { rank: b }) => a.map((one, i) => one - b[i]).find((one) => one !== 0) ?? 0)
    .slice(0, MAX_PLACES)
    .map(({ seen }) => seen);
}

function measureOf({ kind }: Place, value: Value): number | null {
  const scalar = scalarOf(kind, value);
  return kind === "truth" ? null : amountOf(scalar as Value);
}

/** The range over all plays, and in how many frames it grew and fell. */
function amountsOf(
  series: readonly (readonly (number | null)[])[],
): Pick<ProbePlace, "low" | "high" | "ups" | "downs"> {
  let [low, high, ups, downs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (const one of series) {
    let before: number | null = null;
    for (const now of one) {
      if (now === null) continue;
      [low, high] = [Math.min(low, now), Math.max(high, now)];
      if (before !== null && now > before) ups++;
      if (before !== null && now < before) downs++;
      before = now;
    }
  }
  return { low: numberOf(low), high: numberOf(high), ups, downs };
}

function scoreOf({ place, why }: Chosen, plays: readonly Samples[], frames: readonly number[]): ProbeScore {
  // A length is a number of its list.
  const text = place.text.replace(/\??\.length$/, "");
  const at = plays[0].places.findIndex((one) => one.text === place.text || one.text === text);
  const values = plays.map(({ rows }, i) =>
    rows.slice(0, frames[i] + 1).map((row) => (at < 0 ? null : scoreIn(row[at]))),
  );
  const { low, high, ups } = amountsOf(values);
  return { text: place.text, why: wordsOf(why), ups, frames: sum(frames), low, high };
}

function scoreIn(value: Value): number | null {
  return typeof value === "boolean" ? Number(value) : amountOf(value);
}

function endOf(end: End, plays: readonly Samples[]): ProbeEnd {
  const ends = plays.map((play) => framesUntil(play, end));
  const isKnown = ends.some((frames) => frames !== null) || isRead(end, plays);
  return {
    text: end.text,
    why: wordsOf(end.why),
    ended: isKnown ? ends.filter((frames) => frames !== null).length : null,
    plays: plays.length,
    frames: sum(ends.map((frames, i) => frames ?? plays[i].rows.length - 1)),
  };
}

/** Whether a single value says whether it is over; else a course of values does. */
function isRead({ place, text }: End, plays: readonly Samples[]): boolean {
  return !text.startsWith("fell(") && plays[0].places.some((one) => one.text === place.text);
}

/** Frames until the end came in a play; null: it did not. */
function framesUntil({ places, rows }: Samples, end: End | null): number | null {
  if (end === null) return null;
  const at = places.findIndex(({ text }) => text === end.place.text);
  const frames = at < 0 ? -1 : rows.findIndex((row) => end.isOver(row[at]));
  return frames < 0 ? null : frames;
}

function atEnd(plays: readonly Samples[], at: number, end: End | null): Value {
  const ended = plays.find((play) => framesUntil(play, end) !== null) ?? plays[0];
  return ended.rows[framesUntil(ended, end) ?? ended.rows.length - 1][at];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
