/** Episode results as the columns of a block, and how long they are before they are encoded: a block is cut by it. */

import type { EpisodeColumns, EpisodeResult } from "@attract/schema";

/** Numbers in an episode's entries beside its returns, metrics and reward terms. */
const NUM_COUNTS = 5;
/** A list or map of many entries has a header so many bytes longer than an empty one's. */
const HEADER_MARGIN = 4;
const NUM_LISTS = NUM_COUNTS + 5;

/** What the block says of `results`, in their order. */
export function episodeColumns(results: readonly EpisodeResult[]): EpisodeColumns {
  const returns: number[] = [];
  for (let i = 0; i < results.length; i++) {
    const own = results[i].returns;
    for (let agent = 0; agent < own.length; agent++) returns.push(own[agent]);
  }
  return {
    instance_id: results.map((one) => one.instance_id),
    episode: results.map((one) => one.episode),
    step: results.map((one) => one.step),
    returns,
    length_steps: results.map((one) => one.length_steps),
    length_ticks: results.map((one) => one.length_ticks),
    end_reason: results.map((one) => one.end_reason),
    metrics: byName(results, "metrics"),
    reward_terms: byName(results, "reward_terms"),
    lesson_id: results.some((one) => one.lesson_id !== null) ? results.map((one) => one.lesson_id) : [],
  };
}

/** Bytes of the columns of `results` beside `resultBytes` of each, beyond those of no episodes; a few too many at most. */
export function columnBytes(results: readonly EpisodeResult[]): number {
  let bytes = HEADER_MARGIN * NUM_LISTS;
  for (const kind of ["metrics", "reward_terms"] as const) {
    for (const name of namesOf(results, kind)) bytes += nameBytes(name) + HEADER_MARGIN;
  }
  return bytes;
}

/** Most bytes of one result's entries: encoding it to know would cost more than playing a short episode. */
export function resultBytes(result: EpisodeResult, numNames: number): number {
  // The first byte of each number and of the reason. A name that this episode lacks takes a byte, too.
  let bytes = NUM_COUNTS + result.returns.length + numNames + 1 + result.end_reason.length;
  bytes += numberBytes(result.instance_id) + numberBytes(result.episode) + numberBytes(result.step);
  bytes += numberBytes(result.length_steps) + numberBytes(result.length_ticks);
  bytes += result.lesson_id === null ? 1 : nameBytes(result.lesson_id);
  for (const value of result.returns) bytes += numberBytes(value);
  for (const name in result.metrics) bytes += numberBytes(result.metrics[name]);
  for (const name in result.reward_terms) bytes += numberBytes(result.reward_terms[name]);
  return bytes;
}

/** How many columns of metrics and reward terms there are. */
export function numColumnNames(results: readonly EpisodeResult[]): number {
  return namesOf(results, "metrics").size + namesOf(results, "reward_terms").size;
}

function byName(
  results: readonly EpisodeResult[],
  kind: "metrics" | "reward_terms",
): Record<string, (number | null)[]> {
  const columns: Record<string, (number | null)[]> = {};
  for (const name of namesOf(results, kind)) columns[name] = results.map((one) => one[kind][name] ?? null);
  return columns;
}

function namesOf(results: readonly EpisodeResult[], kind: "metrics" | "reward_terms"): Set<string> {
  const names = new Set<string>();
  for (let i = 0; i < results.length; i++) for (const name in results[i][kind]) names.add(name);
  return names;
}

/** Bytes of a number beyond the first: whole ones are as short as they can be, others are float64. */
function numberBytes(value: number): number {
  if (!Number.isSafeInteger(value)) return 8;
  if (value >= 0)
    return value < 0x80 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : value < 0x100000000 ? 4 : 8;
  return value >= -0x20 ? 0 : value >= -0x80 ? 1 : value >= -0x8000 ? 2 : value >= -0x80000000 ? 4 : 8;
}

/** Most bytes of a name with its header. Only a name that is not plain ASCII is taken for longer than it is. */
export function nameBytes(name: string): number {
  let bytes = name.length < 32 ? 2 : 4;
  for (let i = 0; i < name.length; i++) bytes += name.charCodeAt(i) < 0x80 ? 1 : 3;
  return bytes;
}
