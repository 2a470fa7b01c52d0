/** The fleet, worker by worker. */

import type { FleetView, HostView, WorkerView } from "@attract/schema";
import { Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Help } from "../components/help.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { formatCount, formatDevice, plural } from "../state/format.ts";
import { withoutRules } from "../state/report-text.ts";
import { discardedText } from "../state/run-state.ts";

const STATES: Readonly<Record<WorkerView["state"], string>> = {
  joining: "Joining",
  waiting: "Waiting",
  playing: "Playing",
  left_out: "Banned",
  gone: "Gone",
};

const TIERS: Readonly<Record<HostView["tier"], string>> = {
  local: "this machine",
  invited: "invited",
  public: "public",
};

export function FleetCard({
  fleet,
  version,
  runId,
  isOver,
}: {
  fleet: FleetView | null;
  version: number;
  runId: string;
  isOver: boolean;
}) {
  const workers = fleet?.hosts.flatMap((host) => host.workers.map((worker) => ({ host, worker }))) ?? [];
  const here = workers.filter(({ worker }) => worker.state !== "gone");
  const gone = workers.filter(({ worker }) => worker.state === "gone");
  const numHosts = new Set(here.map(({ host }) => host.host_id)).size;
  return (
    <Part
      title="Devices and workers"
      flex={1}
      beside={
        fleet !== null && (
          <span className="soft">
            {plural(numHosts, "device")}, {plural(here.length, "worker")},{" "}
            {formatCount(here.length === 0 ? 0 : fleet.steps_per_second)} steps per second
            {discardedText(fleet)}
          </span>
        )
      }
    >
      {workers.length === 0 ? (
        <Text c="dimmed">
          {isOver
            ? "The run is over: it has no workers."
            : "No workers yet. Run some in this tab, or open the join link on another device."}
        </Text>
      ) : (
        <div style={{ overflowX: "auto" }}>
          <Table data-testid="fleet">
            <Table.Thead>
              <Table.Tr>
                <Head name="Device" />
                <Head name="Worker" />
                <Head name="State" />
                <Head name="Games" isNumber isRare />
                <Head name="Steps/s" isNumber />
                <Head name="Steps" isNumber isRare />
                <Head name="Episodes" isNumber isRare />
                <Head
                  name="Plays version"
                  isNumber
                  isRare
                  help={`Which policy it plays. The newest is ${version}.`}
                />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {[...here, ...gone].map(({ host, worker }) => (
                <Row key={worker.worker_id} host={host} worker={worker} runId={runId} />
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Part>
  );
}

function Head({
  name,
  isNumber,
  isRare,
  help,
}: {
  name: string;
  isNumber?: boolean;
  isRare?: boolean;
  help?: string;
}) {
  return (
    <Table.Th ta={isNumber ? "right" : undefined} visibleFrom={isRare ? "xs" : undefined}>
      {name} {help !== undefined && <Help about={name} text={help} />}
    </Table.Th>
  );
}

function Row({ host, worker, runId }: { host: HostView; worker: WorkerView; runId: string }) {
  return (
    <Table.Tr
      c={worker.state === "gone" ? "dimmed" : undefined}
      data-worker={worker.worker_id}
      data-state={worker.state}
    >
      <Table.Td>
        {formatDevice(host.user_agent)}{" "}
        <span className="soft">
          ({TIERS[host.tier]}
          {host.hidden && ", hidden"})
        </span>
      </Table.Td>
      <Table.Td>{worker.worker_index + 1}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        {STATES[worker.state]}
        {worker.deflates && <span className="soft">, sends pictures deflated</span>}
        {worker.left_out !== null && (
          <>
            <span className="soft">: {withoutRules(worker.left_out)}</span>{" "}
            <LiftBan runId={runId} identity={worker.identity} />
          </>
        )}
      </Table.Td>
      <RareNumber>{worker.num_instances}</RareNumber>
      <Table.Td ta="right">{formatCount(worker.steps_per_second)}</Table.Td>
      <RareNumber>{formatCount(worker.collected_steps)}</RareNumber>
      <RareNumber>{formatCount(worker.episodes)}</RareNumber>
      <RareNumber>{worker.policy_version ?? "–"}</RareNumber>
    </Table.Tr>
  );
}

/** A phone has no room for it. */
function RareNumber({ children }: { children: number | string }) {
  return (
    <Table.Td ta="right" visibleFrom="xs">
      {children}
    </Table.Td>
  );
}

function LiftBan({ runId, identity }: { runId: string; identity: string }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: () => api.letIn(runId, identity) });
  return (
    <>
      <ServerButton size="compact-xs" variant="default" loading={isPending} onClick={() => mutate()}>
        Lift the ban
      </ServerButton>
      <ErrorNotice error={error} />
    </>
  );
}
