/** The bare tick: every tick is one of the game's, and games that end restart. */

import type { Out, StartContext } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { BareTicks } from "../../../benchmarks/browser/bare-ticks.ts";

/** Ends by itself after `length` ticks; counts what is asked of it. */
function countedGame(length: number, seen: { starts: number; ticks: number; first: number[] }) {
  return defineGame({
    id: "Counted-v1",
    tickSeconds: 0.1,
    maxSeconds: 0.8,
    observation: box({ shape: [1] }),
    action: discrete(2),
    create: () => {
      let sinceStart = 0;
      return {
        start({ random, out }: StartContext<Float32Array>) {
          seen.starts++;
          seen.first.push(random());
          sinceStart = 0;
          out.observation[0] = 0;
        },
        update(_: number, _action: number, out: Out<Float32Array>) {
          seen.ticks++;
          out.observation[0] = ++sinceStart;
          return { reward: 1, terminated: sinceStart === length };
        },
      } as never;
    },
  });
}

test.each([
  // 12 ticks of 3 games: episodes of 5 end at ticks 5 and 10; the time limit of 8 ticks ends one of 100 at tick 8.
  { length: 5, restarts: 2 },
  { length: 100, restarts: 1 },
])("games of $length ticks are started again where they end", ({ length, restarts }) => {
  const seen = { starts: 0, ticks: 0, first: [] as number[] };
  const views = [0, 1, 2].map(() => new Float32Array(1));
  const ticks = new BareTicks(countedGame(length, seen), views, [0, 1]);
  let steps = 0;
  for (let run = 0; run < 12; run++) steps += ticks.run();
  expect(steps).toBe(36);
  expect(seen.ticks).toBe(36);
  expect(seen.starts).toBe(3 * (1 + restarts));
  // Every start of every game draws from a stream of its own.
  expect(new Set(seen.first).size).toBe(seen.starts);
  // Since the last start: 12 - 10, or 12 - 8.
  expect(views.map((view) => view[0])).toEqual(Array(3).fill(length === 5 ? 2 : 4));
});
