/** Events of a run that a person is notified of: it is solved, it does not learn, it is over. */

import type { RunView } from "@attract/schema";
import { titleOfFinding } from "./finding-text.ts";
import { formatNumber } from "./format.ts";
import { isOver } from "./run-state.ts";

export interface News {
  title: string;
  text: string;
}

type Watched = Pick<
  RunView,
  "state" | "title" | "game" | "episode_return_mean" | "goal" | "goal_reached" | "error" | "findings"
>;

/** What `now` brings that was not so `before`; a run that is first seen brings nothing. */
export function newsOf(before: Watched | null, now: Watched): readonly News[] {
  if (before === null) return [];
  const name = now.title || now.game;
  const known = new Set(before.findings.map(({ finding_id }) => finding_id));
  const news: News[] = now.findings
    .filter(({ kind, finding_id }) => kind === "learning" && !known.has(finding_id))
    .map((finding) => ({ title: `${name} does not learn`, text: titleOfFinding(finding) }));
  if (isOver(now.state) && !isOver(before.state)) news.push(endOf(now, name));
  return news;
}

function endOf(run: Watched, name: string): News {
  const reached = `Return ${formatNumber(run.episode_return_mean)}`;
  if (run.goal_reached)
    return { title: `${name} is solved`, text: `${reached}, goal ${formatNumber(run.goal)}` };
  if (run.state === "failed") return { title: `${name} failed`, text: run.error ?? reached };
  return { title: `${name} is ${run.state}`, text: reached };
}
