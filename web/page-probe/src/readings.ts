/** Finds the observation, the score and the end among the places of a played page. */

import { isMark } from "./boards.ts";
import { isDrawnThing } from "./drawn-places.ts";
import {
  type Chosen,
  changes,
  type End,
  endsOf,
  GUESS,
  isClock,
  isElement,
  newGameOf,
  type Series,
  stillnessOf,
} from "./ends.ts";
import { type Kind, MAX_ELEMENTS, type Place, type Seen, type Value } from "./places.ts";
import type { Players } from "./player.ts";
import {
  ANGLES,
  CLOCK_NAMES,
  GROWING,
  LIVES_NAMES,
  NO_SCORE,
  NOTED,
  OVER_NAMES,
  PLAYING_NAMES,
  RECORDS,
  SAID,
  SCORE_NAMES,
  STATE_NAMES,
} from "./rules.ts";
import { isSame, type Samples } from "./trial.ts";

const MAX_SEEN = 24;
const MAX_FOLLOWED = 600;
/** Followed places that did not change at first, the nearest ones. */
const MAX_STILL = 100;
const MAX_LISTS = 4;
/** Where nothing but what is drawn is seen. */
const MAX_LOOKS = 8;
const MAX_GRIDS = 2;
/** Marks observed on a board that is made of elements. */
const MAX_MARKS = 12;
/** Cells of all marks together. Each cell is a number in the observation. */
const MAX_MARKED = 4_096;
const SEEN_FIELDS = 5;
/** Radians in a frame: a game turns by more degrees. */
const MAX_TURN = 0.4;
const LARGEST = 1e7;
/** Scores and ends that are reported, and tried in this order. */
const MAX_CANDIDATES = 4;
/** Frames after its end in which a game may still count up what was scored. */
const MAX_OUTLIVED = 30;
/** A number with only two values that falls more often is no score that restarts. */
const MAX_FALLS = 3;

export interface Score extends Chosen {
  readonly rank: number;
  readonly isLikely: boolean;
}

export interface Reading {
  readonly score: Chosen | null;
  readonly end: End | null;
  readonly seen: readonly Seen[];
  /** What all else is seen from; default: it was not looked for. */
  readonly players?: Players;
  /** Candidates for each, the likeliest first, and the chosen one before the others. */
  readonly scores: readonly Chosen[];
  readonly ends: readonly End[];
}

/** Places that changed in a play, and those whose names say that they matter. */
export function worthFollowing({ places, rows }: Samples): readonly Place[] {
  if (places.length <= MAX_FOLLOWED) return places;
  const names = [
    ...SCORE_NAMES.map(([pattern]) => pattern),
    OVER_NAMES,
    PLAYING_NAMES,
    STATE_NAMES,
    LIVES_NAMES,
  ];
  const byLength = (a: Place, b: Place): number => a.text.length - b.text.length;
  const isNamed = (place: Place): boolean =>
    place.isShown || names.some((pattern) => pattern.test(place.name));
  const isChanged = (_: Place, at: number): boolean => rows.some((row) => !isSame(row[at], rows[0][at]));
  const changed = places.filter(isChanged).sort(byLength);
  const [named, others] = [true, false].map((isOne) =>
    places.filter((place, at) => !isChanged(place, at) && isNamed(place) === isOne).sort(byLength),
  );
  // What stayed where it was in one short play, such as a goal, may be elsewhere in the next.
  const still = others.filter(({ kind }) => kind !== "word").slice(0, MAX_STILL);
  return [...named.slice(0, MAX_FOLLOWED / 3), ...still, ...changed].slice(0, MAX_FOLLOWED);
}

/**
 * @param plays of the same places, at random.
 * @param changed places that a player's moves change.
 */
export function readingOf(
  plays: readonly Samples[],
  changed: ReadonlySet<string>,
  size: readonly [width: number, height: number],
): Reading {
  const { places } = plays[0];
  const seriesOf = (at: number): Series[] => plays.map(({ rows }) => rows.map((row) => row[at]));
  const scores: Score[] = [];
  let ends: (End & { rank: number })[] = [];
  places.forEach((place, at) => {
    // An element of a list may be another thing in the next frame.
    if (isElement(place)) return;
    const series = seriesOf(at);
    const score = scoreOf(place, series) ?? growthOf(place, series);
    if (score !== null) scores.push(score);
    ends.push(...endsOf(place, series));
  });
  scores.sort((a, b) => b.rank - a.rank);
  ends.sort((a, b) => b.rank - a.rank);
  // A value that its name only suggests, and that never changes, is a setting.
  const score = scores.find(({ isLikely }) => isLikely) ?? null;
  if (score !== null) {
    const scored = seriesOf(places.indexOf(score.place));
    ends = ends.filter((end) => !isOutlived(end, seriesOf(places.indexOf(end.place)), scored));
  }
  const newGame = score === null ? null : newGameOf(score.place, seriesOf(places.indexOf(score.place)));
  const [likeliest] = ends;
  // A sign that occurred is better than words that might.
  const isGuess = likeliest === undefined || likeliest.rank <= GUESS;
  const end = (isGuess ? (newGame ?? stillnessOf(places, seriesOf)) : null) ?? likeliest ?? null;
  return {
    score,
    end,
    seen: seenOf(places, seriesOf, changed, size, score?.place ?? null),
    scores: candidatesOf([score, ...scores], ({ place }) => place.text),
    ends: candidatesOf([end, ...ends, newGame], ({ text }) => text),
  };
}

/** Whether the score grows in many frames in which it would be over: an introduction has ended, or a key has been released. */
function isOutlived({ isOver }: End, series: readonly Series[], scored: readonly Series[]): boolean {
  return series.some(
    (one, play) =>
      one.filter(
        (value, i) => i > 0 && isOver(value) && Number(scored[play][i]) > Number(scored[play][i - 1]),
      ).length > MAX_OUTLIVED,
  );
}

/** Each once, as `textOf` has it; the first stays the first. */
export function candidatesOf<T>(all: readonly (T | null)[], textOf: (one: T) => string): T[] {
  const known = new Map<string, T>();
  for (const one of all) if (one !== null && !known.has(textOf(one))) known.set(textOf(one), one);
  return [...known.values()].slice(0, MAX_CANDIDATES);
}

function scoreOf(place: Place, series: readonly Series[]): Score | null {
  if (
    place.kind !== "number" ||
    place.text === "picture" ||
    RECORDS.test(place.name) ||
    NO_SCORE.test(place.name)
  )
    return null;
  const named = SCORE_NAMES.find(([pattern]) => pattern.test(place.name))?.[1] ?? 0;
  const numbers = series.map((one) => one.filter((value): value is number => typeof value === "number"));
  const steps = numbers.flatMap((one) => one.slice(1).map((value, i) => value - one[i]));
  const ups = steps.filter((step) => step > 0).length;
  // A fall to the first value is a new game.
  const downs = numbers.flatMap((one) =>
    one.slice(1).filter((value, i) => value < one[i] && value > one[0]),
  ).length;
  // A player whose turn it is alternates.
  const falls = steps.filter((step) => step < 0).length;
  if (falls > MAX_FALLS && new Set(numbers.flat()).size === 2) return null;
  const isRare = ups > 0 && downs === 0 && ups < 0.2 * steps.length;
  // A speed or a direction goes below its first value.
  if (named === 0 && numbers.some((one) => one.some((value) => value < one[0]))) return null;
  if (named === 0 && !(isRare && (place.isShown || Number.isInteger(numbers[0].at(-1))))) return null;
  // The value of a brick or a fruit has such names, too, but it goes up and down and does not start at 0.
  const isFromNothing = numbers.every((one) => one[0] === 0);
  const rank =
    named +
    (ups > 0 ? 4 : 0) +
    (isFromNothing ? 2 : 0) -
    (downs > 0 ? 4 : 0) -
    (place.isShown ? 0.5 : 0) -
    place.text.length / 100;
  const why =
    ups > 0 ? `it grew ${ups} times in random play` : "its name says so; it did not grow in random play";
  return { place, why, rank, isLikely: ups > 0 || named >= SAID };
}

/** A thing that grows with each success, such as a snake, where nothing counts them. */
function growthOf(place: Place, series: readonly Series[]): Score | null {
  if ((place.kind !== "list" && place.kind !== "grid") || place.isShown || !GROWING.test(place.name))
    return null;
  const text = `${place.text}${place.text.includes("?.") ? "?" : ""}.length`;
  const lengthOf = (value: Value): Value => (Array.isArray(value) ? value[0] : undefined);
  const length: Place = {
    ...place,
    text,
    kind: "number",
    read: (window) => lengthOf(place.read(window)),
  };
  const score = scoreOf(
    { ...length, name: "score" },
    series.map((one) => one.map(lengthOf)),
  );
  // A named score is more likely than a length.
  return score === null
    ? null
    : { ...score, place: length, why: `its length: ${score.why}`, rank: score.rank - 10 };
}

/** Whether the place is visible: a mark of an element or a drawn thing. */
export function isThing(place: Place): boolean {
  return isDrawnThing(place) || isMark(place);
}

function seenOf(
  places: readonly Place[],
  seriesOf: (at: number) => Series[],
  changed: ReadonlySet<string>,
  size: readonly [width: number, height: number],
  score: Place | null,
): Seen[] {
  const known = new Set<string>();
  const candidates: { seen: Seen; rank: number }[] = [];
  const hasKept = places.some(
    ({ isShown, kind }, at) => !isShown && kind !== "truth" && changes(seriesOf(at)) > 2,
  );
  places.forEach((place, at) => {
    if (
      place.text === "picture" ||
      place === score ||
      NOTED.test(place.text) ||
      RECORDS.test(place.name) ||
      place.kind === "word" ||
      place.isQuoted ||
      (place.isShown && hasKept)
    )
      return;
    const series = seriesOf(at);
    if (changes(series) === 0 || (CLOCK_NAMES.test(place.name) && place.kind === "number")) return;
    const print = series.map((one) => one.map(String).join()).join(";");
    if (known.has(print)) return;
    known.add(print);
    if (
      place.kind === "number" &&
      ((isClock(series) && !changed.has(place.text)) || largest(series.flat()) > LARGEST)
    )
      return;
    const seen = describe(place, series, size);
    if (seen === null) return;
    // A stack that never holds more than one thing: what is in that says more than its row.
    const isSole = place.kind === "list" && seen.count === 1;
    if (isSole && places.some(({ text }) => text.startsWith(`${place.text}?.[0]`))) return;
    const rank = (changed.has(place.text) ? 10 : 0) + kindRank(place.kind) - place.text.length / 20;
    candidates.push({ seen, rank });
  });
  candidates.sort((a, b) => b.rank - a.rank);
  const of = (kinds: readonly Kind[], limit: number): Seen[] =>
    candidates
      .filter(({ seen }) => kinds.includes(seen.place.kind))
      .slice(0, limit)
      .map(({ seen }) => seen);
  const lists = of(["list"], places.every(isThing) ? MAX_LOOKS : MAX_LISTS);
  const ofBoards = candidates.filter(({ seen: { place } }) => isMark(place)).map(({ seen }) => seen);
  const grids = [
    ...of(["grid"], Number.POSITIVE_INFINITY)
      .filter(({ place }) => !isMark(place))
      .slice(0, MAX_GRIDS),
    ...ofBoards.slice(0, MAX_MARKS).filter(({ count }, i) => (i + 1) * count <= MAX_MARKED),
  ];
  // A list's elements are in the list.
  const isWithin = ({ place }: Seen): boolean =>
    [...lists, ...grids].some((whole) => place.text.startsWith(`${whole.place.text}?.[`));
  const others = of(["number", "truth"], Number.POSITIVE_INFINITY).filter((one) => !isWithin(one));
  return [...others.slice(0, MAX_SEEN), ...lists, ...grids];
}

function kindRank(kind: Kind): number {
  return { number: 2, truth: 1, list: 3, grid: 3, word: 0 }[kind];
}

function describe(place: Place, series: readonly Series[], size: readonly [number, number]): Seen | null {
  const all = series.flat().filter((value) => value !== undefined);
  if (place.kind === "truth") return { place, scales: [1], fields: [], count: 1 };
  if (place.kind === "number") {
    const scales = [scaleOf(place.name, largest(all), size)];
    const turn = ANGLES.test(place.name) ? turnOf(series) : undefined;
    return { place, scales, fields: [], count: 1, ...(turn !== undefined && { turn }) };
  }
  const rows = all as (readonly number[])[];
  if (place.kind === "grid") {
    if (rows.length === 0) return null;
    const [columns, cells] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at])));
    const scale = nice(largest(rows.flatMap((row) => row.slice(2))));
    return { place, scales: [scale], fields: [String(columns), String(cells)], count: columns * cells };
  }
  const width = place.fields.length;
  const count = Math.min(MAX_ELEMENTS, Math.max(0, ...rows.map((row) => row[0])));
  if (count === 0 || width === 0) return null;
  const fields: string[] = [];
  const scales: number[] = [];
  place.fields.forEach((field, at) => {
    const values = rows.flatMap((row) => row.slice(1).filter((_, i) => i % width === at));
    if (fields.length === SEEN_FIELDS || new Set(values).size < 2 || largest(values) > LARGEST) return;
    fields.push(field);
    scales.push(
      isDrawnThing(place) && !/^d/.test(field)
        ? 1
        : scaleOf(field.split(".").at(-1) as string, largest(values), size),
    );
  });
  return fields.length === 0 ? null : { place, scales, fields, count };
}

/** Radians in a unit of an angle: 1, or those of a degree where it turns by more than `MAX_TURN` a frame; undefined: it does not turn. */
function turnOf(series: readonly Series[]): number | undefined {
  const steps = series.flatMap((one) =>
    one.slice(1).map((value, i) => Math.abs(Number(value) - Number(one[i]))),
  );
  const turns = steps.filter((step) => step > 0).sort((a, b) => a - b);
  const middle = turns[Math.floor(turns.length / 2)];
  if (middle === undefined) return undefined;
  return middle < MAX_TURN ? 1 : Math.PI / 180;
}

/** Places are divided by the window's size, all else by a round number that it hardly passes. */
function scaleOf(name: string, maximum: number, [width, height]: readonly [number, number]): number {
  if (/^x$|posx|xpos/i.test(name) && maximum > width / 4 && maximum <= 4 * width) return width;
  if (/^y$|posy|ypos/i.test(name) && maximum > height / 4 && maximum <= 4 * height) return height;
  return nice(maximum);
}

function nice(maximum: number): number {
  if (!(maximum > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(maximum));
  const step = [1, 2, 5, 10].find((one) => one * power >= maximum) as number;
  return Number((step * power).toPrecision(3));
}

function largest(values: readonly Value[]): number {
  let maximum = 0;
  for (const value of values)
    if (typeof value === "number" && Math.abs(value) > maximum) maximum = Math.abs(value);
  return maximum;
}
