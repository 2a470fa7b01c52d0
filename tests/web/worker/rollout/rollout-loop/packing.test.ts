/** Games of stacked pictures: what their blocks send of them. */

import { inflateRawSync } from "node:zlib";
import { type Block, decodeFromBrowser, type WelcomeWorker } from "@attract/schema";
import { DeflateChoice } from "@attract/worker/rollout/deflate-choice";
import type { LoopOptions } from "@attract/worker/rollout/loop-options";
import type { GameDefinition, StartContext } from "attract/contract";
import { defineGame } from "attract/define-game";
import { describe as descriptionOf } from "attract/description";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { createLoop, FakePolicy, lease, seat } from "../../support/counting-game.ts";

const [ROWS, COLUMNS, DEPTH] = [96, 96, 2];
const [CONTINUES, REPEATS] = [0, 1];

/** Picture t of an episode is t + 1 all over; an episode is truncated after three steps. */
function game(): GameDefinition {
  return defineGame({
    id: "Pictures-v1",
    tickSeconds: 0.1,
    maxSeconds: 0.3,
    observation: box({ dtype: "uint8", shape: [ROWS, COLUMNS, DEPTH] }),
    pictureStacks: { obs: DEPTH },
    action: discrete(2),
    create: () => {
      let ticks = 0;
      const show = ({ observation }: StartContext<Uint8Array>["out"]): void => {
        for (let i = 0; i < observation.length; i += DEPTH) {
          observation[i] = Math.max(1, ticks);
          observation[i + 1] = ticks + 1;
        }
      };
      return {
        start({ out }: StartContext<Uint8Array>) {
          ticks = 0;
          show(out);
        },
        update(_: number, _action: number, out: StartContext<Uint8Array>["out"]) {
          ticks++;
          show(out);
          return { reward: 0 };
        },
      } as never;
    },
  });
}

/** The result for `segments` segments of four steps of one slot. */
async function played(segments: number, fields: Partial<LoopOptions> = {}): Promise<Block[]> {
  const blocks: Block[] = [];
  const definition = game();
  const description = descriptionOf(definition) as WelcomeWorker["description"];
  const loop = createLoop(definition, {
    seat: { ...seat({ instance_ids: [0], max_frame_bytes: 1 << 20 }), description },
    emit: ({ bytes }) => blocks.push(decodeFromBrowser(bytes) as Block),
    ...fields,
  });
  await loop.play(lease({ num_segments: segments }), new FakePolicy(1));
  return blocks;
}

/** The picture of each step, by its first byte. */
function pictures(block: Block): number[] {
  const size = ROWS * COLUMNS;
  return [...block.observation.obs.data].filter((_, i) => i % size === 0);
}

test("each step sends its newest picture, and so do the ends", async () => {
  const [first, second] = await played(2);
  const { stacks, deflated } = first.packed.obs;
  expect(deflated).toBe(false);
  expect(first.observation.obs.shape).toEqual([4, 1, ROWS, COLUMNS, 1]);
  expect(pictures(first)).toEqual([1, 2, 3, 1]);
  expect([...stacks!.step.data]).toEqual([REPEATS, CONTINUES, CONTINUES, REPEATS]);
  expect([first.bootstrap_observation.obs.data[0], stacks!.bootstrap.data[0]]).toEqual([2, CONTINUES]);
  expect(first.final_observations!.observation.obs.data[0]).toBe(4);
  expect([...stacks!.final.data]).toEqual([CONTINUES]);
  // The second begins within an episode: its first stack is sent whole.
  expect(pictures(second)).toEqual([2, 3, 1, 2]);
  expect(second.packed.obs.stacks!.older.data[0]).toBe(1);
});

test("a server that knows of no stacks gets none", async () => {
  const definition = game();
  const description = {
    ...(descriptionOf(definition) as WelcomeWorker["description"]),
    picture_stacks: {},
  };
  for (const known of [{ description }, {}]) {
    const [block] = await played(1, {
      seat: { ...seat({ instance_ids: [0], max_frame_bytes: 1 << 20 }), ...known },
    });
    expect(block.packed).toEqual({});
    expect(block.observation.obs.shape).toEqual([4, 1, ROWS, COLUMNS, DEPTH]);
  }
});

test("one block is tried; where it pays, those after are deflated, and the lease is closed after the last", async () => {
  const said: string[] = [];
  let now = 0;
  const choice = new DeflateChoice((text) => said.push(text));
  const blocks: Block[] = [];
  const found = await played(4, {
    deflation: choice,
    // A look at the clock takes a microsecond, and the connection ten seconds a block.
    now: () => {
      now += 0.001;
      return now;
    },
    emit: ({ bytes }) => {
      blocks.push(decodeFromBrowser(bytes) as Block);
      choice.waits(bytes.byteLength, now);
      now += 10_000;
      choice.waits(0, now);
    },
  });
  expect(found).toEqual([]);
  expect(blocks.map(({ block_index }) => block_index)).toEqual([0, 1, 2, 3]);
  expect(blocks.map(({ packed }) => packed.obs.deflated)).toEqual([false, false, true, true]);
  expect(said).toHaveLength(1);
  const { data } = blocks[3].observation.obs;
  expect(data.length).toBeLessThan(1000);
  expect(inflateRawSync(data)).toHaveLength(4 * ROWS * COLUMNS);
});

test("on a quick connection nothing is", async () => {
  const choice = new DeflateChoice(() => undefined);
  let now = 0;
  const deflated: boolean[] = [];
  await played(4, {
    deflation: choice,
    now: () => {
      now += 1;
      return now;
    },
    emit: ({ bytes }) => {
      deflated.push((decodeFromBrowser(bytes) as Block).packed.obs.deflated);
      choice.waits(bytes.byteLength, now);
      choice.waits(0, now + 0.01);
    },
  });
  expect(deflated).toEqual([false, false, false, false]);
  expect(choice.verdict?.deflates).toBe(false);
});
