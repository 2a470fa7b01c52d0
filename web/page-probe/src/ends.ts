/** How a game says that it is over: by a name, a state, a number that has run out, a restart, or by standing still. */

import { isDrawnThing } from "./drawn-places.ts";
import type { Place, Value } from "./places.ts";
import {
  CLOCK_NAMES,
  LEFT_NAMES,
  LIVES_NAMES,
  MENU_STATES,
  OVER_NAMES,
  OVER_STATES,
  PLAYING_NAMES,
  SHOWN_LEFT_NAMES,
  STATE_NAMES,
} from "./rules.ts";

const MAX_STATES = 6;
/** Rank of an end that is known only from the page's scripts: below all others. */
export const GUESS = 3;
/** Frames without movement after which a game is over for good. */
const MIN_STILL_TICKS = 300;
const MIN_PAUSE_TICKS = 60;
/** Values that a watched place must take, and number of watched places. */
const MIN_CHANGES = 4;
const MAX_WATCHED = 4;
/** Factor by which a fall must exceed the growth before the first sample. */
const LARGE_FALL = 5;

/** The series of one place over one play. */
export type Series = readonly Value[];

export interface Chosen {
  readonly place: Place;
  /** Why, as a sentence's predicate. */
  readonly why: string;
}

export interface End extends Chosen {
  /** An expression of `w` that is true once it is over. */
  readonly text: string;
  isOver(value: Value): boolean;
}

/** What a single value says of the end. */
interface Sign {
  readonly text: string;
  /** Its place among all candidates, before shorter expressions are preferred. */
  readonly rank: number;
  /** Plays in which it occurred. */
  readonly count: number;
  /** Default: whether it occurred in random play. */
  readonly why?: string;
  isOver(value: Value): boolean;
}

export function endsOf(place: Place, series: readonly Series[]): (End & { rank: number })[] {
  const signOf = { truth: truthSign, word: wordSign, number: numberSign, list: null, grid: null }[place.kind];
  const sign = signOf?.(place, series) ?? null;
  if (sign === null) return [];
  const { count, rank, ...end } = sign;
  const brevity = place.text.length / (place.isQuoted ? 1000 : 100);
  return [{ place, why: reasonOf(count), ...end, rank: rank - brevity }];
}

function truthSign({ name, text, isShown, isQuoted }: Place, series: readonly Series[]): Sign | null {
  const become = (value: boolean): number =>
    series.filter((one) => one[0] !== value && lasts(one, (v) => v === value)).length;
  const [ended, stopped] = [become(true), become(false)];
  if (isQuoted) {
    // A text that is there from the start is no end.
    if (series.some((one) => one[0] === true)) return null;
    const why = "the page contains these words; they did not occur in random play";
    return ended > 0
      ? { text, rank: 10, count: ended, isOver: Boolean }
      : { text, rank: GUESS, count: 0, why, isOver: Boolean };
  }
  if (OVER_NAMES.test(name) || isShown) {
    const rank = (isShown ? 5 : 8) + (ended > 0 ? 6 : 0);
    return ended === 0 && isShown ? null : { text: `Boolean(${text})`, rank, count: ended, isOver: Boolean };
  }
  if (!PLAYING_NAMES.test(name) || (stopped === 0 && !/playing|running|alive/i.test(name))) return null;
  return {
    text: `!${text}`,
    rank: 5 + (stopped > 0 ? 6 : 0),
    count: stopped,
    isOver: (value) => !value,
  };
}

function wordSign({ name, text }: Place, series: readonly Series[]): Sign | null {
  if (!STATE_NAMES.test(name)) return null;
  const [first] = series[0];
  const later = new Set(series.flat().filter((value) => value !== first && typeof value === "string"));
  // A game may be over before the first look, since no key is pressed until then.
  const isBack = OVER_STATES.test(String(first)) && series.some((one) => comesBack(one, first));
  const over = isBack ? first : [...later].find((value) => OVER_STATES.test(String(value)));
  if (over !== undefined)
    return {
      text: `${text} === ${JSON.stringify(over)}`,
      rank: 14,
      count: 1,
      isOver: (value) => value === over,
    };
  if (later.size === 0 || MENU_STATES.test(String(first))) return null;
  return {
    text: `${text} !== ${JSON.stringify(first)}`,
    rank: 6,
    count: 1,
    isOver: (value) => value !== first,
  };
}

function numberSign({ name, text, isShown }: Place, series: readonly Series[]): Sign | null {
  const last = STATE_NAMES.test(name) ? stateAtEnd(series) : null;
  if (last !== null)
    return { text: `${text} === ${last}`, rank: 10, count: 1, isOver: (value) => value === last };
  const isLife = LIVES_NAMES.test(name);
  const isLeft = isLife || (isShown ? SHOWN_LEFT_NAMES : LEFT_NAMES).test(name);
  if (!isLeft || !series.some((one) => Number(one.find((value) => value !== undefined)) > 0)) return null;
  const ended = series.filter((one) => lasts(one, (value) => Number(value) <= 0)).length;
  if (ended === 0 && series.some(isRefilled))
    return {
      text: `fell(w, -Number(${text} ?? 0))`,
      rank: 8,
      count: 0,
      why: "it was refilled without running out: another game had begun",
      isOver: () => false,
    };
  const fell = series.some((one) => one.some((value, i) => i > 0 && Number(value) < Number(one[i - 1])));
  if (!fell || (ended === 0 && !isLife)) return null;
  const isOver = (value: Value): boolean => Number(value) <= 0;
  const sign: Sign = { text: `${text} <= 0`, rank: 6 + (ended > 0 ? 4 : 0), count: ended, isOver };
  return ended > 0 ? sign : { ...sign, why: "it fell in random play" };
}

/** Whether the value was left and came back. */
function comesBack(one: Series, value: Value): boolean {
  const left = one.findIndex((other) => other !== value);
  return left >= 0 && one.indexOf(value, left) >= 0;
}

/** The state in which most plays ended, if they began in another; else null. */
function stateAtEnd(series: readonly Series[]): number | null {
  const states = new Set(series.flat());
  const last = series[0].at(-1);
  const isState = [...states].every((value) => Number.isInteger(value)) && states.size <= MAX_STATES;
  const ended = series.filter((one) => one.at(-1) === last && one[0] !== last);
  // It must stay: a state that comes and goes is no end.
  const stays = ended.filter(
    (one) => one.indexOf(last) === one.length - one.filter((v) => v === last).length,
  );
  return isState && stays.length * 2 > series.length ? Number(last) : null;
}

/** Whether it rose by more than one from its minimum to its first value: winning a life does not. */
function isRefilled(one: Series): boolean {
  const numbers = one.map(Number).filter((value) => !Number.isNaN(value));
  const least = Math.min(...numbers);
  return numbers.some(
    (value, i) => i > 0 && value === numbers[0] && numbers[i - 1] === least && value > least + 1,
  );
}

/** A game that restarts by itself without a sign: its score falls back to its first value, or near it. */
export function newGameOf(place: Place, series: readonly Series[]): End | null {
  const isBack = (value: number, before: number, first: number): boolean =>
    value < before &&
    // A count of frames has grown by the time of its first sample.
    (value === first || (value >= 0 && value < first && before - value > LARGE_FALL * (first - value)));
  const isAnew = series.some((one) =>
    one.some((value, i) => i > 0 && isBack(Number(value), Number(one[i - 1]), Number(one[0]))),
  );
  if (!isAnew) return null;
  return {
    place,
    text: `fell(w, Number(${place.text} ?? 0))`,
    why: "the score fell to its first value: another game had begun",
    isOver: () => false,
  };
}

/** A game without a sign of its end: after a while nothing moves any more, whatever is pressed. */
export function stillnessOf(places: readonly Place[], seriesOf: (at: number) => Series[]): End | null {
  const moving = places
    .map((place, at) => ({ place, series: seriesOf(at) }))
    .filter(({ place, series }) => {
      const isRead = place.kind === "number" ? place.text !== "picture" : isDrawnThing(place);
      const isOwn = isRead && !isElement(place) && !CLOCK_NAMES.test(place.name);
      return isOwn && changes(series) > MIN_CHANGES && !isClock(series);
    })
    .sort((a, b) => changes(b.series) - changes(a.series));
  if (moving.length === 0) return null;
  const numPlays = moving[0].series.length;
  let [longest, stopped] = [0, 0];
  for (let play = 0; play < numPlays; play++) {
    const rows = moving[0].series[play].map((_, i) =>
      moving.map(({ series }) => String(series[play][i])).join(),
    );
    const runs = [0];
    for (let i = 1; i < rows.length; i++) {
      if (rows[i] === rows[i - 1]) runs[runs.length - 1]++;
      else runs.push(0);
    }
    const last = runs.pop() as number;
    longest = Math.max(longest, ...runs);
    if (last >= MIN_STILL_TICKS) stopped++;
  }
  // A game that also pauses for as long may not be over.
  if (stopped * 2 <= numPlays || 2 * longest >= MIN_STILL_TICKS) return null;
  const texts = moving.slice(0, MAX_WATCHED).map(({ place }) => place.text);
  return {
    place: { text: "false", name: "stands", kind: "truth", fields: [], isShown: false, read: () => false },
    text: `stands(w, [${texts.join(", ")}], ${Math.max(MIN_PAUSE_TICKS, 2 * longest)})`,
    why: "no sign was found, but in random play nothing moved after a while",
    isOver: () => false,
  };
}

export function isElement({ text }: Place): boolean {
  return /\?\.\[\d/.test(text);
}

function reasonOf(count: number): string {
  return count === 0 ? "its name says so; it did not occur in random play" : "it occurred in random play";
}

/** Whether the condition becomes true and stays true for some frames. */
function lasts(series: Series, is: (value: Value) => boolean): boolean {
  let run = 0;
  for (const value of series) {
    run = is(value) ? run + 1 : 0;
    if (run >= 5) return true;
  }
  return run > 0;
}

export function changes(series: readonly Series[]): number {
  // A value that is constant in one game may differ in the next.
  return new Set(series.flat().map(String)).size - 1;
}

/** Whether it grows by about the same amount in nearly every frame. */
export function isClock(series: readonly Series[]): boolean {
  return series.every((one) => {
    const steps = one.slice(1).map((value, i) => Number(value) - Number(one[i]));
    const sorted = [...steps].sort((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const alike = steps.filter((step) => step > middle / 2 && step < middle * 2).length;
    return middle > 0 && alike > 0.95 * steps.length;
  });
}
