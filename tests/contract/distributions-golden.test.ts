import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSampler } from "@attract/worker/policy/sampler";
import type { ActionSpace } from "attract/spaces";
import { describe, expect, test } from "vitest";

// The worker's samplers against golden draws; `test_distributions_golden.py` holds torch's distributions to the same.
interface Row {
  outputs: number[];
  mask: number[] | null;
  uniforms: number[];
  action: number[];
  log_prob: number;
  mode: number[];
  mode_log_prob: number;
}

const file = join(import.meta.dirname, "golden/distributions.json");
const golden = JSON.parse(readFileSync(file, "utf8")) as Record<string, { space: ActionSpace; rows: Row[] }>;

describe("C9: draws", () => {
  for (const [name, { space, rows }] of Object.entries(golden)) {
    test(`C9: ${name}: the golden actions, with log-probabilities within 1e-6`, () => {
      const sampler = createSampler(space, rows.length);
      const { numComponents, numDraws, outputSizes } = sampler;
      // One output after the other, each [rows, size].
      let from = 0;
      const outputs = outputSizes.map((size) => {
        const [begin, end] = [from, from + size];
        from = end;
        return Float32Array.from(rows.flatMap((row) => row.outputs.slice(begin, end)));
      });
      const masks = Uint8Array.from(rows.flatMap((row) => row.mask ?? []));
      for (const [slot, row] of rows.entries()) {
        expect(row.uniforms).toHaveLength(numDraws);
        sampler.uniforms.set(row.uniforms, slot * numDraws);
        sampler.sample(outputs, slot, masks, slot);
        expectAction(slot, row.action, row.log_prob);
        sampler.choose(outputs, slot, masks, slot);
        expectAction(slot, row.mode, row.mode_log_prob);
      }

      function expectAction(slot: number, action: number[], logProb: number): void {
        const got = [...sampler.actions.subarray(slot * numComponents, (slot + 1) * numComponents)];
        // Continuous ones may differ in the last bit of float32: logarithm and cosine are the platform's.
        if (space.kind !== "box" && space.kind !== "mixed") expect(got).toEqual(action);
        else
          got.forEach(
            (x, c) =>
              void expect(Math.abs(x - action[c])).toBeLessThanOrEqual(3e-7 * Math.max(1, Math.abs(x))),
          );
        expect(Math.abs(sampler.logProbs[slot] - logProb)).toBeLessThanOrEqual(
          1e-6 * Math.max(1, Math.abs(logProb)),
        );
      }
    });
  }
});
