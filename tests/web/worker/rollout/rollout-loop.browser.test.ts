/** What the rollout loop leaves behind in memory, in a real Chromium. */

import type { Lease } from "@attract/schema";
import type { Policy } from "@attract/worker/policy/policy";
import type { GameDefinition, Out, StartContext } from "attract/contract";
import { defineGame } from "attract/define-game";
import { type ActionSpace, box, dict, discrete, multiDiscrete } from "attract/spaces";
import { expect, test } from "vitest";
import cartpole from "../../../../web/games/cartpole/game.ts";
import { allocatedBytes } from "../support/allocated.ts";
import { countingGame, createLoop, FakePolicy, lease, seat } from "../support/counting-game.ts";

const INSTANCES = 64;
const HORIZON = 128;
const AGENT_STEPS = 1_000_000;

/** Bytes of live objects: Chromium is started with `--expose-gc` and `--enable-precise-memory-info`. */
function liveBytes(): number {
  const { gc } = globalThis as unknown as { gc(): void };
  for (let i = 0; i < 3; i++) gc();
  return (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;
}

test("the loop's own code allocates nothing per agent step", async () => {
  const loop = createLoop(countingGame(), {
    seat: seat({ instance_ids: Array.from({ length: INSTANCES }, (_, i) => i), horizon: 2048 }),
    now: () => performance.now(),
  });
  const policy = new FakePolicy(INSTANCES);
  // Until the compiler has made the most of it.
  for (let id = 1; id < 8; id++) await loop.play(lease({ lease_id: id }), policy);
  const allocated = await allocatedBytes(() => loop.play(lease({ lease_id: 8 }), policy));
  console.log(`131,072 agent steps: ${(allocated / 1024).toFixed(0)} KiB allocated`);
  // Promises of 2,048 steps and the blocks at the end: measured 0.2 MiB. One small object per agent step would be 2 MiB more.
  expect(allocated).toBeLessThan(1024 * 1024);
});

/** Uniform outputs, zero values, a state that nothing changes; writes nothing down. */
class StillPolicy implements Policy {
  readonly isRandom = false;
  readonly outputs: readonly Float32Array[];
  readonly values: Float32Array;
  readonly states: Float32Array;
  readonly #done = Promise.resolve();

  constructor(
    rows: number,
    sizes: readonly number[],
    stateSize: number,
    readonly policyId = "main",
    readonly policyVersion = 3,
  ) {
    this.outputs = sizes.map((size) => new Float32Array(rows * size));
    this.values = new Float32Array(rows);
    this.states = new Float32Array(rows * stateSize);
  }

  run(): Promise<void> {
    return this.#done;
  }
}

/** What a game may ask for beside one discrete action of one agent; its own code allocates nothing per step. */
function variant(
  length: number,
  numAgents: number,
  action: ActionSpace,
  actionMask: boolean,
): GameDefinition {
  return defineGame({
    id: "Variant-v1",
    tickSeconds: 0.1,
    numAgents,
    observation: dict({ place: box({ shape: [3] }), picture: box({ shape: [2, 2], dtype: "uint8" }) }),
    action,
    actionMask,
    create: () => {
      let t = 0;
      const isEnded = new Array<boolean>(numAgents).fill(false);
      const isActive = new Array<boolean>(numAgents).fill(true);
      const reward = numAgents === 1 ? 1 : new Array<number>(numAgents).fill(1);
      const terminated = numAgents === 1 ? false : isEnded;
      const result = { reward, terminated: terminated as boolean | boolean[], active: isActive };
      const showAgent = (seen: { place: Float32Array; picture: Uint8Array }, agent: number): void => {
        seen.place[0] = t;
        seen.place[1] = agent;
        seen.place[2] = 0.5;
        seen.picture.fill(t & 255);
      };
      const show = (out: Out): void => {
        if (numAgents === 1) showAgent(out.observation, 0);
        else for (let a = 0; a < numAgents; a++) showAgent(out.observation[a], a);
      };
      return {
        start({ out }: StartContext) {
          t = 0;
          isActive.fill(true);
          isEnded.fill(false);
          show(out);
        },
        update(_: number, _actions: unknown, out: Out) {
          t++;
          show(out);
          // The last agent ends in step 20 and comes back in step 30.
          if (numAgents === 1) result.terminated = t === length;
          else {
            isEnded[numAgents - 1] = t === 20;
            isActive[numAgents - 1] = t < 20 || t >= 30;
            if (t === length) isEnded.fill(true);
            if (t === length) isActive.fill(false);
          }
          return result;
        },
      } as never;
    },
  });
}

const discreteSeat = lease().seats[0];
interface Case {
  name: string;
  definition: GameDefinition;
  policies: StillPolicy[];
  seats: Lease["seats"];
}

/** @param length steps of an episode. */
function cases(length: number): Case[] {
  const one = [discreteSeat];
  return [
    {
      name: "masks",
      definition: variant(length, 1, multiDiscrete([3, 4]), true),
      policies: [new StillPolicy(INSTANCES, [7], 0)],
      seats: one,
    },
    {
      name: "continuous actions and a memory",
      definition: variant(length, 1, box({ shape: [3], low: -1, high: 2 }), false),
      policies: [new StillPolicy(INSTANCES, [3, 3], 32)],
      seats: one,
    },
    {
      name: "several agents of two policies with a memory and masks",
      definition: variant(length, 3, discrete(4), true),
      policies: ["a", "b"].map((id) => new StillPolicy(3 * INSTANCES, [4], 32, id)),
      seats: [discreteSeat, discreteSeat, discreteSeat],
    },
  ];
}

const CARTPOLE: Case = {
  name: "CartPole",
  definition: cartpole,
  policies: [new StillPolicy(INSTANCES, [2], 0)],
  seats: [discreteSeat],
};

for (const { name, definition, policies, seats } of [CARTPOLE, ...cases(50)]) {
  test(`a million agent steps grow the heap by less than 1 MiB: ${name}`, async () => {
    const stateSize = policies[0].states.length / policies[0].values.length;
    const instanceIds = Array.from({ length: INSTANCES }, (_, i) => i);
    const loop = createLoop(definition, {
      seat: seat({ instance_ids: instanceIds, horizon: HORIZON, state_size: stateSize }),
      now: () => performance.now(),
    });
    const bySeat = seats.map((_, agent) => policies[agent % policies.length]);
    await loop.play(lease({ num_segments: 8, seats }), ...bySeat);
    const steps = loop.agentSteps;
    const before = liveBytes();
    for (let id = 2; loop.agentSteps < steps + AGENT_STEPS; id++) {
      await loop.play(lease({ lease_id: id, seats }), ...bySeat);
    }
    const grown = liveBytes() - before;
    console.log(
      `${name}, ${loop.agentSteps - steps} agent steps: ${(grown / 1024).toFixed(0)} KiB more live`,
    );
    expect(grown).toBeLessThan(1024 * 1024);
  });
}

test("masks, continuous actions and several agents allocate nothing per agent step either", {
  tags: ["long"],
}, async () => {
  // Episodes so long that their results weigh nothing.
  for (const { name, definition, policies, seats } of cases(5000)) {
    const stateSize = policies[0].states.length / policies[0].values.length;
    const instanceIds = Array.from({ length: INSTANCES }, (_, i) => i);
    // One block a segment: of each that is cut, every row of a wide tensor takes a view, which was half of what masks cost.
    const room = { horizon: 512, max_frame_bytes: 16 * 1024 * 1024 };
    const loop = createLoop(definition, {
      seat: seat({ instance_ids: instanceIds, state_size: stateSize, ...room }),
      now: () => performance.now(),
    });
    const bySeat = seats.map((_, agent) => policies[agent % policies.length]);
    for (let id = 1; id < 12; id++) await loop.play(lease({ lease_id: id, seats }), ...bySeat);
    let perStep = Number.POSITIVE_INFINITY;
    // Now and then the compiler allocates beside the loop: the least of nine leases is the loop's own.
    for (let id = 12; id < 21; id++) {
      const before = loop.agentSteps;
      const allocated = await allocatedBytes(() => loop.play(lease({ lease_id: id, seats }), ...bySeat));
      perStep = Math.min(perStep, allocated / (loop.agentSteps - before));
    }
    console.log(`${name}: ${perStep.toFixed(1)} bytes allocated per agent step`);
    // The promises of a step are shared by all its agents, the blocks by all steps; a small object each would be 12 bytes more.
    expect(perStep).toBeLessThan(8);
  }
});
