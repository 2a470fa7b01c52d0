/** Several policies in one game: each is run once a step, on its own slots, and its segments name it. */

import { float32View, int32View } from "@attract/schema";
import type { ObservationBatch } from "@attract/worker/game/observation-batch";
import { RandomPolicy } from "@attract/worker/policy/policy";
import { describe, expect, test } from "vitest";
import { collect, floatRows } from "../support/collected.ts";
import { createLoop, lease, seat } from "../support/counting-game.ts";
import { episodesOf } from "../support/episodes.ts";
import { CountingPolicy, groupGame } from "../support/group-game.ts";

const SEAT = lease().seats[0];
/** Agents 0 and 2 are hunters, agent 1 is prey. */
const ROLES = [
  { ...SEAT, policy_id: "hunter", policy_version: 7 },
  { ...SEAT, policy_id: "prey", policy_version: 2 },
  { ...SEAT, policy_id: "hunter", policy_version: 7 },
];

describe("E9: named policies", () => {
  test("E9: each distinct policy runs once a step, on its slots only", async () => {
    const hunter = new CountingPolicy(6, "hunter", 7);
    const prey = new CountingPolicy(6, "prey", 2);
    const loop = createLoop(groupGame(), { seat: seat({ state_size: 2 }) });
    await loop.play(lease({ seats: ROLES }), hunter, prey, hunter);
    expect(hunter.runs).toEqual(new Array(5).fill(6));
    expect(prey.runs).toEqual(new Array(5).fill(3));
  });

  test("E9: a block names its policy and holds only its slots, with its numbers", async () => {
    const seen = collect();
    const hunter = new CountingPolicy(6, "hunter", 7);
    const prey = new CountingPolicy(6, "prey", 2);
    // Hunters always take action 1, prey action 0.
    for (let row = 0; row < 6; row++) {
      hunter.outputs[0][2 * row + 1] = 60;
      prey.outputs[0][2 * row] = 60;
    }
    const loop = createLoop(groupGame(), { ...seen, seat: seat({ state_size: 2, instance_ids: [0, 1] }) });
    const close = await loop.play(lease({ seats: ROLES, num_segments: 2 }), hunter, prey, hunter);
    const blocks = seen.blocks();
    expect(
      blocks.map(({ policy_id, policy_version, block_index, segment_index }) => [
        policy_id,
        policy_version,
        block_index,
        segment_index,
      ]),
    ).toEqual([
      ["hunter", 7, 0, 0],
      ["prey", 2, 1, 0],
      ["hunter", 7, 2, 1],
      ["prey", 2, 3, 1],
    ]);
    expect(blocks.slice(0, 2).map((block) => [...int32View(block.slot_id)])).toEqual([
      [0, 2, 3, 5],
      [1, 4],
    ]);
    expect(floatRows(blocks[2].observation.obs)[1]).toEqual([5, 205, 1005, 1205]);
    expect(floatRows(blocks[3].observation.obs)[1]).toEqual([105, 1105]);
    expect(floatRows(blocks[3].value)[1]).toEqual([50_105, 51_105]);
    expect(floatRows(blocks[3].recurrent_state.state)).toEqual([
      [4, -4],
      [4, -4],
    ]);
    expect(new Set(int32View(blocks[2].action))).toEqual(new Set([1]));
    expect(new Set(int32View(blocks[3].action))).toEqual(new Set([0]));
    expect(floatRows(blocks[3].bootstrap_observation.obs)).toEqual([[108], [1108]]);
    expect([...float32View(blocks[3].bootstrap_value)]).toEqual([80_108, 81_108]);
    expect(close?.num_blocks).toBe(4);
    expect([...int32View(close!.slot_id)]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...float32View(close!.bootstrap_value)].slice(0, 3)).toEqual([80_008, 80_108, 80_208]);
  });

  test("E2, E9: each final observation is valued by its own policy", async () => {
    const seen = collect();
    const game = groupGame({ onStep: (_, step) => (step === 2 ? { truncated: true } : undefined) });
    const hunter = new CountingPolicy(6, "hunter", 7);
    const prey = new CountingPolicy(6, "prey", 2);
    const lying = Object.assign(prey, {
      run(this: CountingPolicy, ...args: Parameters<CountingPolicy["run"]>) {
        const done = CountingPolicy.prototype.run.apply(this, args);
        for (let row = 0; row < args[1]; row++) this.values[row] *= -1;
        return done;
      },
    });
    const loop = createLoop(game, { ...seen, seat: seat({ state_size: 2, instance_ids: [0] }) });
    await loop.play(lease({ seats: ROLES }), hunter, lying, hunter);
    const [first, second] = seen.blocks();
    expect([...float32View(first.final_observations!.value)]).toEqual([20_002, 20_202, 20_004, 20_204]);
    expect([...int32View(first.final_observations!.column)]).toEqual([0, 1, 0, 1]);
    expect([...float32View(second.final_observations!.value)]).toEqual([-20_102, -20_104]);
    expect([...int32View(second.final_observations!.column)]).toEqual([0, 0]);
    // Results travel with the first agent whose segments are sent.
    expect(episodesOf(first)).toHaveLength(2);
    expect(episodesOf(second)).toHaveLength(0);
  });

  test("E9: only seats that learn give segments; a script sits beside them", async () => {
    const seen = collect();
    const seats = [
      { ...SEAT, script: "random" as const, learns: false },
      { ...SEAT, policy_version: 3 },
      { ...SEAT, policy_version: 1, learns: false },
    ];
    const game = groupGame({ onStep: (_, step) => (step === 3 ? { terminated: true } : undefined) });
    const loop = createLoop(game, { ...seen, seat: seat({ state_size: 2, instance_ids: [0, 1] }) });
    const learner = new CountingPolicy(6, "main", 3);
    const frozen = new CountingPolicy(6, "main", 1);
    const close = await loop.play(lease({ seats }), new RandomPolicy("main", 3, 6, 2), learner, frozen);
    const [block] = seen.blocks();
    expect(seen.frames).toHaveLength(1);
    expect(block.policy_version).toBe(3);
    expect([...int32View(block.slot_id)]).toEqual([1, 4]);
    expect([...int32View(close!.slot_id)]).toEqual([1, 4]);
    expect(episodesOf(block).map(({ instance_id, returns }) => [instance_id, returns.length])).toEqual([
      [0, 3],
      [1, 3],
    ]);
    expect(learner.runs).toEqual(new Array(5).fill(2));
    expect(frozen.runs).toEqual(new Array(5).fill(2));
  });

  test("P6: each seat is deterministic or not on its own, also under one policy", async () => {
    const seen = collect();
    const policy = new CountingPolicy(9, "main", 3);
    const seats = [{ ...SEAT, deterministic: true }, SEAT, SEAT];
    const loop = createLoop(groupGame(), { ...seen, seat: seat({ horizon: 20 }) });
    await loop.play(lease({ seats }), policy);
    expect(policy.runs).toEqual(new Array(21).fill(9));
    const actions = [...int32View(seen.blocks()[0].action)];
    expect(new Set(actions.filter((_, i) => i % 3 === 0))).toEqual(new Set([0]));
    expect(new Set(actions.filter((_, i) => i % 3 === 1))).toEqual(new Set([0, 1]));
  });
});

test("the rows of one policy have masks, which an exported model takes", async () => {
  const game = { ...groupGame(), actionMask: true };
  const sizes: number[] = [];
  class Masked extends CountingPolicy {
    override run(batch: ObservationBatch, rows: number): Promise<void> {
      sizes.push(batch.maskSize);
      return super.run(batch, rows);
    }
  }
  const [hunter, prey] = [new Masked(6, "hunter", 7), new Masked(6, "prey", 2)];
  await createLoop(game, { seat: seat({ state_size: 2 }) }).play(
    lease({ seats: ROLES }),
    hunter,
    prey,
    hunter,
  );
  expect(new Set(sizes)).toEqual(new Set([2]));
});
