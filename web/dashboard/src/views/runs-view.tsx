/** Every run of the runs directory, newest first. */

import { Button, Loader } from "@mantine/core";
import { api } from "../api/client.ts";
import { Fact } from "../components/fact.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { useLoaded } from "../hooks/use-loaded.ts";
import { formatRoute, runRoute } from "../routes.ts";
import { formatAge, formatCount, formatDuration, formatNumber } from "../state/format.ts";

const RELOAD_MS = 5000;

export function RunsView() {
  const { value: runs, error, reload } = useLoaded("runs", api.runs, RELOAD_MS);
  const sorted = [...(runs ?? [])].sort((a, b) => b.created.localeCompare(a.created));
  return (
    <main id="content">
      <h1>Runs</h1>
      <p className="lede">Everything trained here. Open one to see its charts and watch its policy play.</p>
      {error !== null && <ErrorNotice error={error} onRetry={reload} />}
      {runs === null && error === null && <Loader aria-label="Loading runs" />}
      {runs !== null && runs.length === 0 && (
        <div className="card">
          <h2>No runs yet</h2>
          <p className="soft">Pick a game and start one; it is kept here, with every number, when it ends.</p>
          <Button component="a" href="#/">
            Pick a game
          </Button>
        </div>
      )}
      <ul className="runs-list">
        {sorted.map((run) => (
          <li key={run.run_id}>
            <a href={formatRoute(runRoute(run.run_id))}>
              <span className="title">
                {run.title}
                <br />
                <span className="soft run-id">
                  {formatAge(run.created, Date.now())}, <span className="mono">{run.run_id}</span>
                </span>
              </span>
              <Fact label="Return" value={formatNumber(run.episode_return_mean)} />
              <Fact label="Steps" value={formatCount(run.agent_steps)} />
              <Fact label="Time" value={formatDuration(run.elapsed_seconds)} />
              <StatePill state={run.state} />
              {run.state === "damaged" && <span className="soft reason">{run.error}</span>}
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}
