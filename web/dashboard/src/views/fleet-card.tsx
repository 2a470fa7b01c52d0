/** The fleet, worker by worker. */

import type { FleetView, HostView, WorkerView } from "@attract/schema";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Help } from "../components/help.tsx";
import { ErrorNotice } from "../components/notice.tsx";
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
    <section className="section card" aria-labelledby="fleet-title">
      <div className="section-head">
        <h2 id="fleet-title" className="section-title">
          Devices and workers
        </h2>
        {fleet !== null && (
          <span className="soft">
            {plural(numHosts, "device")}, {plural(here.length, "worker")},{" "}
            {formatCount(here.length === 0 ? 0 : fleet.steps_per_second)} steps per second
            {discardedText(fleet)}
          </span>
        )}
      </div>
      {workers.length === 0 ? (
        <p className="soft" style={{ margin: 0 }}>
          {isOver
            ? "The run is over: it has no workers."
            : "No workers yet. Run some in this tab, or open the join link on another device."}
        </p>
      ) : (
        <div className="table-scroll">
          <table className="plain-table fleet-table">
            <thead>
              <tr>
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
              </tr>
            </thead>
            <tbody>
              {[...here, ...gone].map(({ host, worker }) => (
                <Row key={worker.worker_id} host={host} worker={worker} runId={runId} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
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
    <th className={`${isNumber ? "number" : ""} ${isRare ? "rare" : ""}`}>
      <span className="label">
        {name}
        {help !== undefined && <Help about={name} text={help} />}
      </span>
    </th>
  );
}

function Row({ host, worker, runId }: { host: HostView; worker: WorkerView; runId: string }) {
  return (
    <tr data-worker={worker.worker_id} data-state={worker.state}>
      <td>
        {formatDevice(host.user_agent)}{" "}
        <span className="soft">
          ({TIERS[host.tier]}
          {host.hidden && ", hidden"})
        </span>
      </td>
      <td className="mono">{worker.worker_index + 1}</td>
      <td>
        {STATES[worker.state]}
        {worker.deflates && <span className="soft">, sends pictures deflated</span>}
        {worker.left_out !== null && (
          <>
            <span className="soft">: {withoutRules(worker.left_out)}</span>{" "}
            <LiftBan runId={runId} identity={worker.identity} />
          </>
        )}
      </td>
      <td className="mono number rare">{worker.num_instances}</td>
      <td className="mono number">{formatCount(worker.steps_per_second)}</td>
      <td className="mono number rare">{formatCount(worker.collected_steps)}</td>
      <td className="mono number rare">{formatCount(worker.episodes)}</td>
      <td className="mono number rare">{worker.policy_version ?? "–"}</td>
    </tr>
  );
}

function LiftBan({ runId, identity }: { runId: string; identity: string }) {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const lift = async () => {
    setPending(true);
    setError(null);
    try {
      await api.letIn(runId, identity);
    } catch (problem) {
      setError(problem);
    }
    setPending(false);
  };
  return (
    <>
      <ServerButton size="compact-xs" variant="default" loading={isPending} onClick={() => void lift()}>
        Lift the ban
      </ServerButton>
      {error !== null && <ErrorNotice error={error} />}
    </>
  );
}
