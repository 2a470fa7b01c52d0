import { Vitals } from "@attract/worker/host/vitals";
import { hangReport, ranges, scriptFailure } from "@attract/worker/host/worker-reports";
import { expect, test } from "vitest";

test("ids are told in runs", () => {
  expect(ranges([5, 3, 4, 9])).toBe("3 to 5, 9");
  expect(ranges([7])).toBe("7");
});

test("a hang is told with lease, step, slots and seed, and that it has no stack", () => {
  const vitals = new Vitals(0);
  vitals.heard({ leaseId: 4, steps: 17, agentSteps: 17 }, 0);
  const watched = { vitals, instanceIds: [3, 4, 8], turn: null, player: null, seed: { low: 1, high: 2 } };
  const report = hangReport(watched, 5);
  expect(report).toMatchObject({
    kind: "hang",
    stack: null,
    lease_id: 4,
    slot_id: null,
    seed: { low: 1, high: 2 },
  });
  expect(report.text).toContain("after step 17 of lease 4");
  expect(report.text).toContain(
    "one of the slots 3 to 4, 8, or has used up the memory; a hang leaves no stack",
  );
  expect(hangReport({ ...watched, instanceIds: [6] }, 5).slot_id).toBe(6);
  const scripted = hangReport({ ...watched, player: "script:players/one.ts" }, 5);
  expect(scripted.text).toContain("act() of script:players/one.ts does not return");
  expect(hangReport({ ...watched, turn: 8 }, 5)).toMatchObject({ slot_id: 8, instance_id: 8 });
});

test("a script that failed says so, with or without the browser's words", () => {
  expect(scriptFailure("", "load")).toMatchObject({
    kind: "load",
    text: "the worker's script could not be loaded",
  });
  expect(scriptFailure("x is not defined", "crash").text).toBe("x is not defined");
});
