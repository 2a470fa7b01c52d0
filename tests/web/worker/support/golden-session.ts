/** What a session makes of a golden policy, against what torch says of the same network. */

import { ObservationBatch } from "@attract/worker/game/observation-batch";
import type { ModelPolicy } from "@attract/worker/policy/policy";
import { createSampler } from "@attract/worker/policy/sampler";
import { expect } from "vitest";
import type { GoldenPolicy } from "./golden-policy.ts";

/** A tenth of what `learner/verification.py` takes for rounding of a log-probability from the first check on. */
const ROUNDING = 1e-5;

export function expectAllClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    expect(Math.abs(actual[i] - expected[i]) / Math.max(1, Math.abs(expected[i]))).toBeLessThan(ROUNDING);
  }
}

export function rowsOf(policy: GoldenPolicy): number {
  return policy.outputs.value.shape[0];
}

/** Runs `session` on the golden rows: its outputs, its states, and what is drawn and chosen from them. */
export async function expectAsTorch(session: ModelPolicy, policy: GoldenPolicy): Promise<void> {
  const { description, state_size: stateSize, inputs, outputs } = policy;
  const rows = rowsOf(policy);
  const batch = new ObservationBatch(description.observation as never, rows, {
    maskSize: (policy.action_mask?.data.length ?? 0) / rows,
    stateSize,
  });
  for (const [e, array] of batch.arrays.entries()) {
    array.set(inputs[batch.arrays.length === 1 ? "obs" : `obs_${e}`].data);
  }
  if (stateSize > 0) batch.states.set(inputs.state_ins.data);
  batch.masks.set(policy.action_mask?.data ?? []);
  await session.run(batch, rows);
  const sampler = createSampler(description.action as never, rows);
  for (const [i, output] of sampler.outputNames.entries()) {
    expectAllClose(session.outputs[i], outputs[output].data);
  }
  expectAllClose(session.values, outputs.value.data);
  expectAllClose(session.states, outputs.state_outs?.data ?? []);
  sampler.uniforms.set(policy.uniforms.data);
  for (let row = 0; row < rows; row++) sampler.sample(session.outputs, row, batch.masks, row);
  expectAllClose(sampler.actions, policy.actions.data);
  expectAllClose(sampler.logProbs, policy.log_probs.data);
  for (let row = 0; row < rows; row++) sampler.choose(session.outputs, row, batch.masks, row);
  expectAllClose(sampler.actions, policy.modes.data);
}
