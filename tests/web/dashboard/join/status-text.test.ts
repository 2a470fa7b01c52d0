/** What the host page says. */

import type { HostStatus } from "@attract/worker";
import { describe, expect, it } from "vitest";
import { describeStatus } from "../../../../web/dashboard/src/join/status-text.ts";

const STATUS: HostStatus = {
  connected: true,
  tier: "invited",
  runId: "snake-1",
  game: "snake",
  numWorkers: 2,
  workers: [],
  stepsPerSecond: 100,
  error: null,
  ended: false,
};

describe("describeStatus", () => {
  it.each([
    [{}, "Playing for snake-1", "connected"],
    [{ numWorkers: 0 }, "Connected. Getting ready", "connected"],
    [{ runId: null }, "Connected. Waiting for a run to start", "connected"],
    [{ connected: false }, "Connecting", "starting"],
    [{ connected: false, ended: true }, "Ended", "failed"],
  ] as const)("%j", (change, state, tone) => {
    expect(describeStatus({ ...STATUS, ...change })).toEqual({ state, tone, error: null });
  });

  it("passes on what went wrong", () => {
    expect(describeStatus({ ...STATUS, error: "the link has expired" }).error).toBe("the link has expired");
  });
});
