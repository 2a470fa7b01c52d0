/** The run's name, what it is doing, and the buttons that change that. */

import type { EditLabels, FleetView, RunRow, RunView } from "@attract/schema";
import { Anchor, Group } from "@mantine/core";
import { useState, useSyncExternalStore } from "react";
import { api, policyPath, serverUrl } from "../api/client.ts";
import { useServerAway } from "../api/queries.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton, ServerLink } from "../components/server-button.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { useAnnounce } from "../hooks/use-announce.ts";
import { useMayChange } from "../hooks/use-role.ts";
import type { Edit } from "../hooks/use-run-row.ts";
import { formatRoute } from "../routes.ts";
import { isErrorShown } from "../state/faults.ts";
import { formatDuration, plural } from "../state/format.ts";
import { type Connection, isOver, lookOf, numWorkers, waitsForWorkers } from "../state/run-state.ts";
import { modelFileOf, policyIdsOf, seatsOf } from "../state/seats.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";
import { Name, Star, TagsAndNote } from "./run-labels.tsx";
import { RunProgress } from "./run-progress.tsx";

interface RunHeadProps {
  run: RunView;
  /** Its labels; null: not known yet. */
  row: RunRow | null;
  edit: Edit;
  fleet: FleetView | null;
  connection: Connection;
  /** Address of the part that has the workers. */
  workersHref: string;
  onChange: (run: RunView) => void;
  /** Called when the run, which was over, is resumed. */
  onRestart: () => void;
}

type Action = "pause" | "resume" | "stop";

export function RunHead(props: RunHeadProps) {
  const { run, row, edit, fleet, connection, workersHref, onChange, onRestart } = props;
  const mayChange = useMayChange();
  const [pending, setPending] = useState<Action | null>(null);
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isAway = useServerAway();
  const isDone = isOver(run.state);
  useAnnounce(`${run.title}: ${lookOf(run.state, waitsForWorkers(run, fleet))[0]}`);
  const act = async (name: Action) => {
    setPending(name);
    setError(null);
    try {
      onChange(await api[name](run.run_id));
      if (isDone) {
        onRestart();
        await tabHost.join(workersHere(run));
      }
    } catch (problem) {
      setError(problem);
    }
    setPending(null);
  };
  const labels = row && {
    run: row,
    edit: mayChange ? (_run: RunRow, change: Partial<EditLabels>) => void edit(change).catch(setError) : null,
  };
  const heading = <h1>{row?.name || run.title}</h1>;
  const button = (
    name: Action,
    text: string,
    variant: "filled" | "default",
    onClick: () => void = () => void act(name),
  ) => (
    <ServerButton variant={variant} loading={pending === name} disabled={pending !== null} onClick={onClick}>
      {text}
    </ServerButton>
  );

  return (
    <>
      <div className="run-head">
        <div>
          <Group component="span" gap={6}>
            {labels && <Star {...labels} />}
            {labels ? <Name {...labels}>{heading}</Name> : heading}
          </Group>
          <span className="soft run-id">
            {row?.name && `${run.title}, `}
            <span className="mono">{run.run_id}</span>
          </span>{" "}
          {labels && <TagsAndNote {...labels} />}
        </div>
        {(isDone || !isAway) && <StatePill state={run.state} isWaiting={waitsForWorkers(run, fleet)} />}
        {run.lesson !== null && (
          <span className="soft" data-testid="lesson">
            Lesson {run.lesson.number} of {run.lesson.num_lessons}: {run.lesson.name}
          </span>
        )}
        {connection === "lost" && !isAway && <span className="soft">Connection lost. Trying again.</span>}
        <RunProgress run={run} />
        <div className="actions">
          {run.newest_model !== null &&
            policyIdsOf(seatsOf(run)).map((policyId) => (
              <ServerLink
                key={policyId}
                variant={isDone ? "filled" : "default"}
                href={serverUrl(policyPath(run.run_id, "latest", policyId)).href}
                download={modelFileOf(policyId)}
              >
                Get {policyId ?? "policy"}
              </ServerLink>
            ))}
          {run.state === "running" && !run.is_elsewhere && button("pause", "Pause training", "default")}
          {run.state === "paused" && !run.is_elsewhere && button("resume", "Resume training", "filled")}
          {!isDone && !run.is_elsewhere && button("stop", "Stop", "default", () => setAsking(true))}
          {(run.state === "stopped" || run.state === "failed") && button("resume", "Resume", "default")}
          {isDone && mayChange && (
            <ServerLink
              variant={run.newest_model === null ? "filled" : "default"}
              href={formatRoute({ view: "start", game: run.game, from: run.run_id })}
            >
              Train again
            </ServerLink>
          )}
        </div>
      </div>
      {run.is_elsewhere && (
        <p className="soft">
          Another process trains this run, such as <code>attract train</code> in a terminal. Stop it there, by
          Ctrl-C.
        </p>
      )}
      {isAsking && (
        <ConfirmDialog
          title="Stop training?"
          yes="Stop training"
          no="Keep training"
          onAnswer={(isYes) => {
            setAsking(false);
            if (isYes) void act("stop");
          }}
        >
          The run ends after the current update and keeps its newest policy. It can be resumed later.
        </ConfirmDialog>
      )}
      {error !== null && <ErrorNotice error={error} />}
      {(run.state === "failed" || run.state === "paused") && run.error !== null && !isErrorShown(run) && (
        <ErrorNotice error={new Error(run.error)} />
      )}
      {run.beginning !== null && (numWorkers(fleet) ?? 0) > 0 && (
        <p className="soft" data-testid="beginning">
          Before the first update: {run.beginning.text}.
        </p>
      )}
      {!run.is_elsewhere &&
        ((run.state === "starting" && numWorkers(fleet) === 0) || waitsForWorkers(run, fleet)) && (
          <Waiting
            run={run}
            lastLeftSeconds={fleet?.last_left_seconds ?? null}
            workersHref={workersHref}
            onError={setError}
          />
        )}
    </>
  );
}

/** No worker plays: what would change that. */
function Waiting({
  run,
  lastLeftSeconds,
  workersHref,
  onError,
}: {
  run: RunView;
  lastLeftSeconds: number | null;
  workersHref: string;
  onError: (error: unknown) => void;
}) {
  const mayChange = useMayChange();
  const { numWorkers: asked } = useSyncExternalStore(tabHost.subscribe, tabHost.state);
  if (asked > 0) {
    return <p className="soft">This tab is starting its workers.</p>;
  }
  const wanted = workersHere(run);
  return (
    <Group className="card waiting" justify="space-between" gap="12px 20px" mb="md" data-testid="waiting">
      <span>
        {/* Seconds are no change of state: only what stays is announced. */}
        <span role="status">No worker plays this game now, so nothing is learned.</span>
        {lastLeftSeconds !== null && ` The last one left ${formatDuration(lastLeftSeconds)} ago.`}
        {mayChange && (
          <>
            {" "}
            Let this tab run {plural(wanted, "worker")}, or{" "}
            <Anchor href={workersHref}>add another device</Anchor>.
          </>
        )}
      </span>
      <ServerButton onClick={() => void tabHost.join(wanted).catch(onError)}>
        Run {plural(wanted, "worker")} here
      </ServerButton>
    </Group>
  );
}

/** As many of the workers that the run waits for as this machine runs well. */
function workersHere(run: RunView): number {
  return Math.min(workersOf(run), suggestedWorkers(navigator.hardwareConcurrency || 2));
}
