/** The run's name, what it is doing, and the buttons that change that. */

import type { FleetView, RunView } from "@attract/schema";
import { Anchor, Button } from "@mantine/core";
import { useState, useSyncExternalStore } from "react";
import { api, policyPath, serverUrl } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { formatRoute } from "../routes.ts";
import { beginningText } from "../state/beginning-text.ts";
import { plural } from "../state/format.ts";
import { type Connection, isOver, numWorkers, waitsForWorkers } from "../state/run-state.ts";
import { modelFileOf, policyIdsOf, seatsOf } from "../state/seats.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";

interface RunHeadProps {
  run: RunView;
  fleet: FleetView | null;
  connection: Connection;
  onChange: (run: RunView) => void;
}

export function RunHead({ run, fleet, connection, onChange }: RunHeadProps) {
  const [pending, setPending] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const act = async (name: "pause" | "resume" | "stop") => {
    setPending(name);
    setError(null);
    try {
      const view = await api[name](run.run_id);
      if (view !== undefined) onChange(view);
    } catch (problem) {
      setError(problem);
    }
    setPending(null);
  };
  const button = (name: "pause" | "resume" | "stop", text: string, variant: "filled" | "default") => (
    <Button
      variant={variant}
      loading={pending === name}
      disabled={pending !== null}
      onClick={() => act(name)}
    >
      {text}
    </Button>
  );

  return (
    <>
      <div className="run-head">
        <div>
          <h1>{run.title}</h1>
          <span className="mono soft run-id">{run.run_id}</span>
        </div>
        <StatePill state={run.state} isWaiting={waitsForWorkers(run, fleet)} />
        {run.lesson !== null && (
          <span className="soft" data-testid="lesson">
            Lesson {run.lesson.number} of {run.lesson.num_lessons}: {run.lesson.name}
          </span>
        )}
        {connection === "lost" && <span className="soft">Connection lost. Trying again.</span>}
        <div className="actions">
          {run.state === "running" && button("pause", "Pause", "default")}
          {run.state === "paused" && button("resume", "Resume", "filled")}
          {!isOver(run.state) && button("stop", "Stop", "default")}
          {isOver(run.state) && (
            <Button component="a" href={formatRoute({ view: "start", game: run.game, from: run.run_id })}>
              Train again
            </Button>
          )}
          {run.newest_model !== null &&
            policyIdsOf(seatsOf(run)).map((policyId) => (
              <Button
                key={policyId}
                component="a"
                variant="default"
                href={serverUrl(policyPath(run.run_id, "latest", policyId)).href}
                download={modelFileOf(policyId)}
              >
                Get {policyId ?? "policy"}
              </Button>
            ))}
        </div>
      </div>
      {error !== null && <ErrorNotice error={error} />}
      {(run.state === "failed" || run.state === "paused") && run.error !== null && (
        <ErrorNotice error={new Error(run.error)} />
      )}
      {run.beginning !== null && (numWorkers(fleet) ?? 0) > 0 && (
        <p className="soft" role="status" data-testid="beginning">
          Before the first update: {beginningText(run.beginning)}.
        </p>
      )}
      {((run.state === "starting" && numWorkers(fleet) === 0) || waitsForWorkers(run, fleet)) && (
        <Waiting run={run} lastLeftSeconds={fleet?.last_left_seconds ?? null} onError={setError} />
      )}
    </>
  );
}

/** Nobody plays: what would change that. */
function Waiting({
  run,
  lastLeftSeconds,
  onError,
}: {
  run: RunView;
  lastLeftSeconds: number | null;
  onError: (error: unknown) => void;
}) {
  const { numWorkers: asked } = useSyncExternalStore(tabHost.subscribe, tabHost.state);
  if (asked > 0) {
    return (
      <p className="soft" role="status">
        This tab is starting its workers.
      </p>
    );
  }
  const wanted = Math.min(workersOf(run), suggestedWorkers(navigator.hardwareConcurrency || 2));
  return (
    <div className="card waiting" role="status" data-testid="waiting">
      <span>
        No worker plays this game now, so nothing is learned.
        {lastLeftSeconds !== null && ` The last one left ${Math.round(lastLeftSeconds)} s ago.`} Let this tab
        run {plural(wanted, "worker")}, or{" "}
        <Anchor c="inherit" underline="always" href="#join-card" onClick={showJoin}>
          add another device
        </Anchor>
        .
      </span>
      <Button onClick={() => tabHost.join(wanted).catch(onError)}>Run {plural(wanted, "worker")} here</Button>
    </div>
  );
}

function showJoin(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("join-card")?.scrollIntoView({ block: "center" });
}
