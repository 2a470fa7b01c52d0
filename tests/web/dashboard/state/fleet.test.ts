/** Changes of the fleet, applied to the view before them, give the view after them. */

import type { FleetChanges, FleetView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import { changeFleet } from "../../../../web/dashboard/src/state/fleet.ts";

const worker = (index: number, id: number, more: object = {}) => ({
  worker_index: index,
  worker_id: id,
  state: "playing",
  ...more,
});

const FLEET = {
  steps_per_second: 10,
  num_hosts: 2,
  hosts: [
    { host_id: "a", hidden: false, workers: [worker(0, 0), worker(1, 3)] },
    { host_id: "b", hidden: false, workers: [worker(0, 1)] },
  ],
} as unknown as FleetView;

const changes = (more: Partial<FleetChanges>): FleetChanges => ({ totals: {}, hosts: [], gone: [], ...more });

describe("changeFleet", () => {
  it("keeps the identity of what did not change", () => {
    const fleet = changeFleet(FLEET, changes({ totals: { steps_per_second: 12 } }));
    expect(fleet.steps_per_second).toBe(12);
    expect(fleet.num_hosts).toBe(2);
    expect(fleet.hosts[0]).toBe(FLEET.hosts[0]);
  });

  it("changes facts, adds and removes workers of a host", () => {
    const host = {
      host_id: "a",
      facts: { hidden: true },
      workers: [
        { worker_index: 1, worker_id: 3, facts: { state: "gone" } },
        { worker_index: 0, worker_id: 7, facts: worker(0, 7) },
      ],
      gone: [[0, 0]],
    };
    const fleet = changeFleet(FLEET, changes({ hosts: [host] }));
    expect(fleet.hosts[0]).toEqual({
      host_id: "a",
      hidden: true,
      workers: [worker(1, 3, { state: "gone" }), worker(0, 7)],
    });
    expect(fleet.hosts[1]).toBe(FLEET.hosts[1]);
  });

  it("adds a host after the others, and removes one", () => {
    const facts = { host_id: "c", hidden: true };
    const host = {
      host_id: "c",
      facts,
      workers: [{ worker_index: 0, worker_id: 9, facts: worker(0, 9) }],
      gone: [],
    };
    const fleet = changeFleet(FLEET, changes({ hosts: [host], gone: ["a"] }));
    expect(fleet.hosts).toEqual([FLEET.hosts[1], { ...facts, workers: [worker(0, 9)] }]);
  });
});
