/** The run's name, what it is doing, and the buttons that change that. */

import type { EditLabels, FleetView, RunRow, RunView } from "@attract/schema";
import { Anchor, Group, Paper, Progress, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
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
import {
  type Connection,
  isOver,
  lookOf,
  numWorkers,
  progressText,
  timeLeftText,
  waitsForWorkers,
} from "../state/run-state.ts";
import { modelFileOf, policyIdsOf, seatsOf } from "../state/seats.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";
import { Name, Star, TagsAndNote } from "./run-labels.tsx";

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
  const [isAsking, setAsking] = useState(false);
  const isAway = useServerAway();
  const isDone = isOver(run.state);
  const act = useMutation({
    mutationFn: async (name: Action) => {
      onChange(await api[name](run.run_id));
      if (!isDone) return;
      onRestart();
      await tabHost.join(workersHere(run));
    },
  });
  const join = useMutation({ mutationFn: () => tabHost.join(workersHere(run)) });
  const relabel = useMutation({ mutationFn: edit });
  useAnnounce(`${run.title}: ${lookOf(run.state, waitsForWorkers(run, fleet))[0]}`);
  const labels = row && {
    run: row,
    edit: mayChange ? (_run: RunRow, change: Partial<EditLabels>) => relabel.mutate(change) : null,
  };
  const heading = <h1>{row?.name || run.title}</h1>;
  const button = (
    name: Action,
    text: string,
    variant: "filled" | "default",
    onClick: () => void = () => act.mutate(name),
  ) => (
    <ServerButton
      variant={variant}
      loading={act.isPending && act.variables === name}
      disabled={act.isPending}
      onClick={onClick}
    >
      {text}
    </ServerButton>
  );

  return (
    <>
      <Group gap="8px 16px" data-testid="run-head">
        <div>
          <Group component="span" gap={6}>
            {labels && <Star {...labels} />}
            {labels ? <Name {...labels}>{heading}</Name> : heading}
          </Group>
          <Text span c="dimmed" fz={13} style={{ overflowWrap: "anywhere" }}>
            {row?.name && `${run.title}, `}
            <span className="mono">{run.run_id}</span>
          </Text>{" "}
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
        <Group gap={8} ml={{ sm: "auto" }}>
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
        </Group>
      </Group>
      {run.is_elsewhere && (
        <Text c="dimmed">
          Another process trains this run, such as <code>attract train</code> in a terminal. Stop it there, by
          Ctrl-C.
        </Text>
      )}
      <ConfirmDialog
        opened={isAsking}
        title="Stop training?"
        yes="Stop training"
        no="Keep training"
        onAnswer={(isYes) => {
          setAsking(false);
          if (isYes) act.mutate("stop");
        }}
      >
        The run ends after the current update and keeps its newest policy. It can be resumed later.
      </ConfirmDialog>
      <ErrorNotice error={act.error ?? join.error ?? relabel.error} />
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
            onJoin={join.mutate}
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
  onJoin,
}: {
  run: RunView;
  lastLeftSeconds: number | null;
  workersHref: string;
  onJoin: () => void;
}) {
  const mayChange = useMayChange();
  const { numWorkers: asked } = useSyncExternalStore(tabHost.subscribe, tabHost.state);
  if (asked > 0) {
    return <Text c="dimmed">This tab is starting its workers.</Text>;
  }
  const wanted = workersHere(run);
  return (
    <Paper p="lg" className="edge" data-tone="wait" data-testid="waiting">
      <Group justify="space-between" gap="12px 20px">
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
        <ServerButton onClick={() => onJoin()}>Run {plural(wanted, "worker")} here</ServerButton>
      </Group>
    </Paper>
  );
}

/** As many of the workers that the run waits for as this machine runs well. */
function workersHere(run: RunView): number {
  return Math.min(workersOf(run), suggestedWorkers(navigator.hardwareConcurrency || 2));
}

/** How far the run is, and the time left where that is known. Nothing where there is nothing to reach. */
function RunProgress({ run }: { run: RunView }) {
  const [share, text] = [run.progress_share, progressText(run)];
  if (text === null) return null;
  const left = timeLeftText(run);
  return (
    <Stack gap={6} fz={14} flex="1 1 220px" maw={{ xs: 340 }} data-testid="progress">
      <span>
        {text}
        {left !== null && <span className="soft">, {left}</span>}
      </span>
      {share !== null && <Progress value={share * 100} size="sm" aria-label={`Progress: ${text}`} />}
    </Stack>
  );
}
