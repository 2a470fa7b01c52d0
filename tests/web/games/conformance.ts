/** What every bundled game must pass; each game's own test calls `describeConformance`. */

import { describe, expect, test } from "vitest";
import { checkGame } from "../../../web/check/src/check.ts";
import type { GameDefinition } from "../../../web/sdk/src/contract.ts";

/** Runs the conformance kit over `definition` with no finding allowed but the `warnings` a game is meant to have. */
export function describeConformance(
  definition: GameDefinition,
  expected: { maxMicrosecondsPerTick: number; warnings?: string[] },
): void {
  describe(`${definition.id} conforms`, async () => {
    const report = await checkGame(definition, {
      now: performance.now.bind(performance),
      heapBytes: () => process.memoryUsage().heapUsed,
    });

    test("nothing is found that is not meant to be", () => {
      const warnings = expected.warnings ?? [];
      expect(report.findings.map((finding) => [finding.id, finding.severity])).toEqual(
        warnings.map((id) => [id, "warning"]),
      );
      expect(report.isTrainable).toBe(true);
    });

    test("an episode's end is reached, and more than one", () => {
      expect(report.play!.episodes).toBeGreaterThan(1);
      expect(report.play!.lengthMean).toBeGreaterThan(1);
    });

    test(`a tick takes less than ${expected.maxMicrosecondsPerTick} microseconds`, () => {
      expect(report.play!.microsecondsPerTick).toBeLessThan(expected.maxMicrosecondsPerTick);
    });

    test("it can be watched and played by hand", () => {
      expect(report.description!.has_draw).toBe(true);
      expect(Object.keys(report.description!.keys).length).toBeGreaterThan(1);
    });
  });
}
