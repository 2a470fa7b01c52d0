/** What was played is played again, bit for bit, from its seed and its actions. */

import { type Block, int32View, type Lease, type ReplayOrder, type Tensor, tensorOf } from "@attract/schema";
import { RandomPolicy } from "@attract/worker/policy/policy";
import { replay } from "@attract/worker/rollout/replay";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, dict, discrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import cartpole from "../../../../web/games/cartpole/game.ts";
import foragers from "../../../../web/games/foragers/game.ts";
import lander from "../../../../web/games/lander/game.ts";
import pendulum from "../../../../web/games/pendulum/game.ts";
import snake from "../../../../web/games/snake/game.ts";
import { collect } from "../support/collected.ts";
import { createLoop, lease, seat } from "../support/counting-game.ts";
import { episodesOf } from "../support/episodes.ts";

const HORIZON = 24;
const INSTANCES = [5, 6, 7];
const SEAT = seat({ instance_ids: INSTANCES, horizon: HORIZON });

/** Observations of two entries, masks, a parameter, and an episode that may fail in mid-play. */
const mixed = defineGame({
  id: "Mixed-v1",
  tickSeconds: 1,
  maxSeconds: 40,
  observation: dict({
    place: box({ shape: [2] }),
    picture: box({ shape: [3], dtype: "uint8", low: 0, high: 255 }),
  }),
  action: discrete(3),
  actionMask: true,
  parameters: { speed: { default: 1, low: 0.5, high: 2 } },
  metrics: { travelled: "last" },
  create: () => {
    let random: () => number;
    let x = 0;
    let speed = 1;
    let steps = 0;
    const seen = () => ({ place: [x, speed], picture: [steps % 256, Math.floor(x) & 255, 7] });
    const mask = () => Uint8Array.from([1, x > 0 ? 1 : 0, 1]);
    return {
      start(context: { random: () => number; parameters: Readonly<Record<string, number>> }) {
        random = context.random;
        speed = context.parameters.speed;
        steps = 0;
        x = random();
        return { observation: seen(), actionMask: mask() };
      },
      update(_: number, action: number) {
        if (random() < 0.004) throw new Error("broke, as it does");
        steps++;
        x += speed * (action - 1) * Math.sin(random());
        return {
          observation: seen(),
          actionMask: mask(),
          reward: x,
          terminated: x > 3,
          info: { travelled: x },
        };
      },
    } as never;
  },
});

interface Played {
  blocks: Block[];
  leases: Lease[];
}

/** Plays `numLeases` leases of two segments each at random. */
async function play(definition: GameDefinition, leases: Lease[]): Promise<Played> {
  const seen = collect();
  const loop = createLoop(definition, { ...seen, seat: SEAT });
  const numAgents = definition.numAgents ?? 1;
  for (const one of leases) await loop.play(one, new RandomPolicy("main", 3, INSTANCES.length * numAgents));
  return { blocks: seen.blocks(), leases };
}

function leasesOf(numAgents: number, count: number, fields: Partial<Lease> = {}): Lease[] {
  const seats = Array.from({ length: numAgents }, () => lease().seats[0]);
  return Array.from({ length: count }, (_, i) =>
    lease({ lease_id: i + 1, num_segments: 2, seats, ...fields }),
  );
}

/** Columns of `tensor`, [steps, k, ...] or [k, ...], as the rows of one instance, plainly. */
function columnsOf(tensor: Tensor, axis: 0 | 1, k: number, columns: number[]): number[] {
  const width = { float32: 4, float16: 2, int32: 4, uint8: 1, uint16: 2 }[tensor.dtype];
  const per = (tensor.data.byteLength / (axis === 1 ? tensor.shape[0] * k : k)) | 0;
  expect(per % width).toBe(0);
  const rows = axis === 1 ? tensor.shape[0] : 1;
  const out: number[] = [];
  for (let row = 0; row < rows; row++)
    for (const column of columns)
      out.push(...tensor.data.subarray((row * k + column) * per, (row * k + column + 1) * per));
  return out;
}

/** Everything that a game decides about of `instance` in a block, as bytes and plain numbers. */
function partOf(block: Block, instance: number, numAgents: number) {
  const slots = [...int32View(block.slot_id)];
  const columns = slots.flatMap((slot, c) => (Math.floor(slot / numAgents) === instance ? [c] : []));
  const steps = (tensor: Tensor) => columnsOf(tensor, 1, slots.length, columns);
  const finals = block.final_observations;
  const at = finals === null ? [] : [...int32View(finals.column)];
  const chosen = at.flatMap((column, i) => (columns.includes(column) ? [i] : []));
  const each = (from: Record<string, Tensor>, take: (tensor: Tensor) => number[]) =>
    Object.fromEntries(Object.entries(from).map(([key, tensor]) => [key, take(tensor)]));
  return {
    observation: each(block.observation, steps),
    bootstrap: each(block.bootstrap_observation, (tensor) => columnsOf(tensor, 0, slots.length, columns)),
    action: steps(block.action),
    mask: block.action_mask === null ? null : steps(block.action_mask),
    reward: steps(block.reward),
    terminated: steps(block.terminated),
    truncated: steps(block.truncated),
    valid: steps(block.valid),
    ticks: steps(block.executed_ticks),
    finalSteps: finals === null ? [] : chosen.map((i) => int32View(finals.step)[i]),
    finals:
      chosen.length === 0
        ? []
        : each(finals!.observation, (tensor) => columnsOf(tensor, 0, at.length, chosen)),
    episodes: episodesOf(block).filter((one) => one.instance_id === instance),
    firstStep: int32View(block.first_step)[columns[0]],
  };
}

/** The orders of every segment of `instance`, as the server makes them from what it was told. */
function ordersOf(played: Played, instance: number, definition: GameDefinition): [ReplayOrder, Block][] {
  const numAgents = definition.numAgents ?? 1;
  const found: [ReplayOrder, Block][] = [];
  let before: number[] = [];
  let episode = 0;
  let begun = played.leases[0];
  let isKnown = true;
  for (const block of played.blocks) {
    const by = played.leases.find((one) => one.lease_id === block.lease_id)!;
    const k = block.slot_id.shape[0];
    const first = INSTANCES.indexOf(instance) * numAgents;
    const size = block.action.shape.slice(2).reduce((product, n) => product * n, 1);
    const isReal = block.action.dtype === "float32";
    const numbers = isReal ? new Float32Array(block.action.data.slice().buffer) : int32View(block.action);
    const actions: number[] = [];
    for (let t = 0; t < HORIZON; t++)
      actions.push(...numbers.subarray((t * k + first) * size, (t * k + first + numAgents) * size));
    const all = [...before, ...actions];
    const width = numAgents * size;
    const shape = [all.length / width, numAgents, ...block.action.shape.slice(2)];
    const order: ReplayOrder = {
      instance_id: instance,
      episode,
      first_step: int32View(block.first_step)[first],
      num_before: before.length / width,
      action: tensorOf(isReal ? Float32Array.from(all) : Int32Array.from(all), shape),
      begun: { lesson_id: begun.lesson_id, parameters: begun.parameters },
      terms: { lesson_id: by.lesson_id, parameters: by.parameters },
    };
    if (isKnown) found.push([order, block]);
    const last = episodesOf(block)
      .filter((one) => one.instance_id === instance)
      .at(-1);
    const failed = [...Array(HORIZON).keys()]
      .filter((t) => numAgents === 1 && block.valid.data[t * k + first] === 0)
      .at(-1);
    if (last !== undefined) {
      before = actions.slice((last.step + 1) * width);
      episode = last.episode + 1;
      begun = by;
      isKnown = true;
    } else before = all;
    // A game that failed: which episode follows is only known once that has ended.
    if (failed !== undefined && failed > (last?.step ?? -1)) isKnown = false;
  }
  return found;
}

async function replayed(
  definition: GameDefinition,
  orders: ReplayOrder[],
  fields: Partial<Lease> = {},
): Promise<Block[]> {
  const seen = collect();
  const seats = leasesOf(definition.numAgents ?? 1, 1)[0].seats;
  const order = lease({
    purpose: "replay",
    lease_id: 99,
    num_segments: orders.length,
    seats,
    replays: orders,
    ...fields,
  });
  const close = await replay(order, {
    definition,
    seat: { ...SEAT, instance_ids: [1000, 1001] },
    yieldTurn: () => Promise.resolve(),
    now: () => 0,
    emit: seen.emit,
    isVoid: () => false,
    progressed: () => undefined,
  });
  expect(close?.num_blocks).toBe(seen.frames.length);
  expect(seen.blocks().map((block) => block.block_index)).toEqual(seen.frames.map((_, i) => i));
  return seen.blocks();
}

const PARAMETERS = { speed: { kind: "uniform" as const, values: [0.5, 2] } };
const CASES: [string, GameDefinition, Partial<Lease>][] = [
  ["discrete actions and a time limit, cut once by desync", cartpole, { desync_steps: 30 }],
  ["a grid with random food", snake, {}],
  ["several agents that end one by one", foragers, {}],
  ["continuous actions", pendulum, { desync_steps: 40 }],
  ["arithmetic of floats, step after step", lander, {}],
  ["entries, masks, parameters, failures", mixed, { parameters: PARAMETERS, lesson_id: "fast" }],
];

describe("a replay", () => {
  test.each(CASES)("C10: gives every segment of %s again, bit for bit", async (_, definition, fields) => {
    const numAgents = definition.numAgents ?? 1;
    const leases = leasesOf(numAgents, 6, fields);
    // From here on another lesson, which only episodes that begin later are under.
    for (const one of leases.slice(3))
      if (one.lesson_id !== null) Object.assign(one, { lesson_id: null, parameters: {} });
    const played = await play(definition, leases);
    let numInside = 0;
    for (const instance of INSTANCES) {
      const pairs = ordersOf(played, instance, definition);
      const blocks = await replayed(
        definition,
        pairs.map(([order]) => order),
        { desync_steps: fields.desync_steps ?? 0 },
      );
      expect(blocks.map((block) => block.segment_index)).toEqual(pairs.map((_, i) => i));
      for (const [i, [order, original]] of pairs.entries()) {
        if (order.num_before > 0) numInside++;
        expect(partOf(blocks[i], instance, numAgents), `instance ${instance}, segment ${i}`).toEqual(
          partOf(original, instance, numAgents),
        );
      }
    }
    // Segments that begin in mid-episode were among them.
    expect(numInside).toBeGreaterThan(5);
  });

  test("C10: of a later episode begins with that episode", async () => {
    const played = await play(cartpole, leasesOf(1, 4));
    const late = ordersOf(played, 6, cartpole).filter(([order]) => order.episode > 0);
    expect(late.length).toBeGreaterThan(0);
    const [[order, original]] = late;
    const [block] = await replayed(cartpole, [order]);
    expect(partOf(block, 6, 1)).toEqual(partOf(original, 6, 1));
  });

  test("C10: of other actions gives other numbers", async () => {
    const played = await play(cartpole, leasesOf(1, 1));
    const [[order, original]] = ordersOf(played, 6, cartpole);
    const actions = int32View(order.action).slice();
    actions[2] = 1 - actions[2];
    const [block] = await replayed(cartpole, [{ ...order, action: tensorOf(actions, order.action.shape) }]);
    expect(partOf(block, 6, 1).observation).not.toEqual(partOf(original, 6, 1).observation);
  });

  test("a game that cannot be started any more gives no block, and the others theirs", async () => {
    let starts = 0;
    const broken = defineGame({
      id: "Broken-v1",
      tickSeconds: 1,
      observation: box({ shape: [1] }),
      action: discrete(2),
      create: () =>
        ({
          start() {
            if (starts++ < 20) throw new Error("no");
            return [0];
          },
          update: () => ({ reward: 0 }),
        }) as never,
    });
    const action = tensorOf(new Int32Array(HORIZON), [HORIZON, 1]);
    const terms = { lesson_id: null, parameters: {} };
    const order: ReplayOrder = {
      instance_id: 5,
      episode: 0,
      first_step: 0,
      num_before: 0,
      action,
      begun: terms,
      terms,
    };
    // Ten failures give a game up.
    const blocks = await replayed(broken, [order, order, order]);
    expect(blocks.map((block) => block.segment_index)).toEqual([2]);
  });

  test("ends early when its lease is void", async () => {
    const seen = collect();
    const order = lease({ purpose: "replay", replays: [] });
    const options = {
      definition: cartpole,
      seat: SEAT,
      yieldTurn: () => Promise.resolve(),
      now: () => 0,
      emit: seen.emit,
      isVoid: () => true,
      progressed: () => undefined,
    };
    expect(await replay(order, options)).toBeNull();
    expect(seen.frames).toEqual([]);
  });
});
