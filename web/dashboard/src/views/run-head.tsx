/** The run's name, what it is doing, and the buttons that change that. */

import type { FleetView, RunView } from "@attract/schema";
import { Anchor, Button } from "@mantine/core";
import { useState } from "react";
import { api, policyPath, serverUrl } from "../api/client.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { StatePill } from "../parts/state-pill.tsx";
import { formatRoute } from "../routes.ts";
import { type Connection, isOver } from "../state/run-state.ts";
import { policyIdsOf, seatsOf } from "../state/seats.ts";

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
          <h1>{titleOfRun(run)}</h1>
          <span className="mono soft run-id">{run.run_id}</span>
        </div>
        <StatePill state={run.state} />
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
            <Button component="a" href={formatRoute({ view: "start", game: run.game })}>
              Train again
            </Button>
          )}
          {run.updates > 0 &&
            policyIdsOf(seatsOf(run)).map((policyId) => (
              <Button
                key={policyId}
                component="a"
                variant="default"
                href={serverUrl(policyPath(run.run_id, "latest", policyId)).href}
                download={`${run.run_id}${policyId === null ? "" : `-${policyId}`}.onnx`}
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
      {run.state === "starting" && (
        <Starting hasWorkers={fleet?.hosts.some((host) => host.workers.length > 0) ?? false} />
      )}
    </>
  );
}

function Starting({ hasWorkers }: { hasWorkers: boolean }) {
  if (hasWorkers) return <p className="soft">Workers are here. The learner is getting ready.</p>;
  return (
    <p className="soft">
      Waiting for workers. Let this tab play, or{" "}
      <Anchor c="inherit" underline="always" href="#join-card" onClick={showJoin}>
        add another device
      </Anchor>
      .
    </p>
  );
}

/** "CartPole-v1" is shown as "CartPole"; before the game is known, its name or file. */
function titleOfRun(run: RunView): string {
  const id = run.description?.id ?? run.game;
  return id.replace(/-v\d+$/, "");
}

function showJoin(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("join-card")?.scrollIntoView({ behavior: "smooth", block: "center" });
}
