/** The fleet as the page knows it: one whole view, then changes. */

import type { FleetChanges, FleetView, HostChanges, HostView, WorkerView } from "@attract/schema";

/** `fleet` with the changes; hosts and workers that did not change keep their identity. */
export function changeFleet(fleet: FleetView, changes: FleetChanges): FleetView {
  const changed = new Map(changes.hosts.map((host) => [host.host_id, host]));
  const gone = new Set(changes.gone);
  const stay = fleet.hosts.filter((host) => !gone.has(host.host_id));
  const known = new Set(stay.map((host) => host.host_id));
  const hosts = stay.map((host) => changeHost(host, changed.get(host.host_id)));
  for (const host of changes.hosts)
    if (!known.has(host.host_id)) hosts.push(changeHost({ workers: [] as WorkerView[] } as HostView, host));
  return { ...fleet, ...(changes.totals as Partial<FleetView>), hosts };
}

function changeHost(host: HostView, changes: HostChanges | undefined): HostView {
  if (changes === undefined) return host;
  const gone = new Set(changes.gone.map(([index, id]) => keyOf(index, id)));
  const changed = new Map(
    changes.workers.map((worker) => [keyOf(worker.worker_index, worker.worker_id), worker.facts]),
  );
  const workers: WorkerView[] = [];
  for (const worker of host.workers) {
    const key = keyOf(worker.worker_index, worker.worker_id);
    const facts = changed.get(key);
    changed.delete(key);
    if (!gone.has(key)) workers.push(facts === undefined ? worker : { ...worker, ...facts });
  }
  // What is left is new, and whole.
  for (const facts of changed.values()) workers.push(facts as unknown as WorkerView);
  return { ...host, ...(changes.facts as Partial<HostView>), workers };
}

/** A worker without an id yet has 0, as the first one has. */
function keyOf(index: number, id: number): string {
  return `${index} ${id}`;
}
