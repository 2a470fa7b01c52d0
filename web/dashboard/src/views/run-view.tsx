/** One run, live or past: the game on its screen, the score, the charts, the fleet, what broke, who may join. */

import type { PolicyView, RunView as RunDescription } from "@attract/schema";
import { Loader, SegmentedControl } from "@mantine/core";
import { replaceRoute } from "../hooks/use-route.ts";
import { useRun } from "../hooks/use-run.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import type { Route } from "../routes.ts";
import { lessonNames } from "../state/lessons.ts";
import { isOver } from "../state/run-state.ts";
import { Cabinet } from "./cabinet.tsx";
import { Charts } from "./charts.tsx";
import { FindingsCard } from "./findings-card.tsx";
import { FleetCard } from "./fleet-card.tsx";
import { GameLog } from "./game-log.tsx";
import { JoinCard } from "./join-card.tsx";
import { Reports } from "./reports.tsx";
import { RunHead } from "./run-head.tsx";
import { Scores } from "./scores.tsx";

type RunRoute = Extract<Route, { view: "run" }>;

export function RunView({ route, isLan }: { route: RunRoute; isLan: boolean }) {
  const live = useRun(route.runId);
  const { run } = live;
  if (live.error !== null && run === null) {
    return (
      <main id="content">
        <h1>{route.runId}</h1>
        <ErrorNotice error={live.error} onRetry={() => location.reload()} />
      </main>
    );
  }
  if (run === null) return <Loader aria-label="Loading the run" />;
  const isRunning = !isOver(run.state);
  return (
    <main id="content">
      <RunHead
        run={run}
        fleet={live.fleet}
        connection={isRunning ? live.connection : "live"}
        onChange={live.accept}
      />
      <Reports reports={live.reports} />
      <FindingsCard findings={run.findings} />
      <div className="run-top">
        <Cabinet
          run={run}
          version={newestVersion(live.policy, run)}
          stage={route.stage}
          onStage={(stage) => replaceRoute({ ...route, stage })}
        />
        <div className="run-side">
          <Scores run={run} />
          {isRunning && <JoinCard run={run} fleet={live.fleet} isLan={isLan} />}
        </div>
      </div>
      <section className="section" aria-labelledby="charts-title">
        <div className="section-head">
          <h2 id="charts-title" className="section-title">
            Progress
          </h2>
          <SegmentedControl
            size="xs"
            aria-label="What the charts run over"
            value={route.axis}
            data={[
              { value: "steps", label: "By steps" },
              { value: "time", label: "By time" },
            ]}
            onChange={(value) => replaceRoute({ ...route, axis: value === "time" ? "time" : "steps" })}
          />
        </div>
        <Charts
          series={live.series}
          axis={route.axis}
          goal={run.goal}
          lessonNames={lessonNames(run)}
          isLoading={live.early !== null}
        />
      </section>
      <GameLog lines={live.log} />
      {isRunning && <FleetCard fleet={live.fleet} version={run.policy_version} />}
    </main>
  );
}

/** Version 0 is there once the run has left "starting"; asking for it before would only fail. */
function newestVersion(policy: PolicyView | null, run: RunDescription): number | null {
  if (policy !== null) return policy.policy_version;
  return run.state === "starting" ? null : run.policy_version;
}
