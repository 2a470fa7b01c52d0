/** Some runs, one line each: as many as fit beside other things. */

import type { RunRow } from "@attract/schema";
import { StatePill } from "../components/state-pill.tsx";
import { formatRoute, runRoute } from "../routes.ts";
import { formatAge, formatCount, formatNumber } from "../state/format.ts";

export function RunRows({ runs }: { runs: readonly RunRow[] }) {
  return (
    <ul className="run-rows">
      {runs.map((run) => (
        <li key={run.run_id}>
          <a href={formatRoute(runRoute(run.run_id))}>
            <span title={run.note || undefined}>
              <strong>
                {run.starred && "★ "}
                {run.name || run.title}
              </strong>{" "}
              {run.tags.map((tag) => (
                <span key={tag} className="tag">
                  {tag}
                </span>
              ))}
            </span>
            <span className="soft">{formatAge(run.created, Date.now())}</span>
            <span>Return {formatNumber(run.episode_return_mean)}</span>
            <span className="soft">{formatCount(run.agent_steps)} steps</span>
            <StatePill state={run.state} />
          </a>
        </li>
      ))}
    </ul>
  );
}
