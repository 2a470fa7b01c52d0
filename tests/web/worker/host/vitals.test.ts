import { RestartLimit, Vitals } from "@attract/worker/host/vitals";
import { describe, expect, test } from "vitest";

const beat = (leaseId: number | null, agentSteps = 0) => ({ leaseId, steps: 0, agentSteps });

describe("silence", () => {
  test("counts from the last sign of life, and only under a lease", () => {
    const vitals = new Vitals(0);
    expect(vitals.isSilent(100_000, 5000)).toBe(false);
    vitals.heard(beat(1), 1000);
    expect(vitals.isSilent(6000, 5000)).toBe(false);
    expect(vitals.isSilent(6001, 5000)).toBe(true);
    vitals.forgive(6001);
    expect(vitals.isSilent(11_000, 5000)).toBe(false);
    vitals.heard(beat(null), 7000);
    expect(vitals.isSilent(100_000, 5000)).toBe(false);
  });
});

describe("speed", () => {
  test("is averaged over two seconds, and begins anew with a new counter", () => {
    const vitals = new Vitals(0);
    vitals.heard(beat(1, 500), 1000);
    expect(vitals.stepsPerSecond).toBe(0);
    vitals.heard(beat(1, 3000), 2000);
    expect(vitals.stepsPerSecond).toBe(1500);
    vitals.heard(beat(1, 10), 2500);
    expect(vitals.stepsPerSecond).toBe(0);
    vitals.heard(beat(1, 2010), 4500);
    expect(vitals.stepsPerSecond).toBe(1000);
  });
});

test("three breaks within a minute end it; each worker has its own count", () => {
  const limit = new RestartLimit();
  expect([limit.mayRestart(0, 0), limit.mayRestart(0, 59_000), limit.mayRestart(1, 59_000)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(limit.mayRestart(0, 60_001)).toBe(true);
  expect(limit.mayRestart(0, 60_002)).toBe(false);
  limit.clear();
  expect(limit.mayRestart(0, 60_003)).toBe(true);
});
