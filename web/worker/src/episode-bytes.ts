/** How long episode results are on the wire, known before they are encoded: a block is cut by it. */

import { type EpisodeResult, encodeMessage } from "@attract/schema";

/** Bytes of an episode result with one return of one byte, no metrics and terms, and no letters in its reason. */
const EPISODE_BYTES = encodeMessage({
  instance_id: 0,
  episode: 0,
  step: 0,
  returns: [0],
  length_steps: 0,
  length_ticks: 0,
  end_reason: "" as "cut",
  metrics: {},
  reward_terms: {},
  lesson_id: null,
} satisfies EpisodeResult as never).byteLength;

/**
 * Bytes of `result` as MessagePack, a few too many at most: encoding it to know would cost more than playing a short episode.
 */
export function resultBytes(result: EpisodeResult): number {
  // A list or map of more than 15 has a header of 3 bytes instead of 1.
  let bytes = EPISODE_BYTES + result.end_reason.length + result.returns.length - 1 + 3 * 2;
  bytes += numberBytes(result.instance_id) + numberBytes(result.episode) + numberBytes(result.step);
  bytes += numberBytes(result.length_steps) + numberBytes(result.length_ticks);
  if (result.lesson_id !== null) bytes += nameBytes(result.lesson_id);
  for (const value of result.returns) bytes += numberBytes(value);
  for (const name in result.metrics) bytes += nameBytes(name) + numberBytes(result.metrics[name]);
  for (const name in result.reward_terms) bytes += nameBytes(name) + numberBytes(result.reward_terms[name]);
  return bytes;
}

/** Bytes of a number beyond the first: whole ones are as short as they can be, others are float64. */
function numberBytes(value: number): number {
  if (!Number.isSafeInteger(value)) return 8;
  if (value >= 0)
    return value < 0x80 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : value < 0x100000000 ? 4 : 8;
  return value >= -0x20 ? 0 : value >= -0x80 ? 1 : value >= -0x8000 ? 2 : value >= -0x80000000 ? 4 : 8;
}

/** Bytes of a name, and the first byte of its number. Only a name that is not plain ASCII is taken for longer than it is. */
export function nameBytes(name: string): number {
  let bytes = name.length < 32 ? 2 : 4;
  for (let i = 0; i < name.length; i++) bytes += name.charCodeAt(i) < 0x80 ? 1 : 3;
  return bytes;
}
