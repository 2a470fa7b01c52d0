/** A block's episodes one by one, as the server counts them. */

import type { Block, EpisodeResult } from "@attract/schema";

export function episodesOf({ episodes }: Block): EpisodeResult[] {
  const count = episodes.instance_id.length;
  const agents = count === 0 ? 0 : episodes.returns.length / count;
  return episodes.instance_id.map((instance_id, i) => ({
    instance_id,
    episode: episodes.episode[i],
    step: episodes.step[i],
    returns: episodes.returns.slice(i * agents, (i + 1) * agents),
    length_steps: episodes.length_steps[i],
    length_ticks: episodes.length_ticks[i],
    end_reason: episodes.end_reason[i],
    metrics: row(episodes.metrics, i),
    reward_terms: row(episodes.reward_terms, i),
    lesson_id: episodes.lesson_id.length === 0 ? null : episodes.lesson_id[i],
  }));
}

function row(columns: Record<string, (number | null)[]>, i: number): Record<string, number> {
  const entries = Object.entries(columns).map(([name, values]) => [name, values[i]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== null)) as Record<string, number>;
}
