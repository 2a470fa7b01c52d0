/** The rollout loop on games whose starts are waited for. */

import type { FailureReport } from "@attract/worker/game/failures";
import type { BlockFrame } from "@attract/worker/rollout/block-writer";
import type { Game, GameDefinition, StartContext } from "attract/contract";
import { expect, test } from "vitest";
import { countingGame, createLoop, FakePolicy, lease } from "../../support/counting-game.ts";

/** The same game, of which each start is waited for, as where a page is loaded for each episode. */
function startedAhead(definition: GameDefinition, begun: number[]): GameDefinition {
  return {
    ...definition,
    page: { reset: "reload" } as GameDefinition["page"],
    create: () => {
      const game = definition.create();
      let isReady = false;
      return {
        ...game,
        ahead: {
          start: async () => {
            await new Promise((resolve) => setTimeout(resolve));
            begun.push(1);
            isReady = true;
          },
          step: () => null,
        },
        start(context: StartContext) {
          if (!isReady) throw new Error("not waited for");
          isReady = false;
          return game.start(context);
        },
      } as Game;
    },
  };
}

test("games whose starts are waited for give the same segments, whichever of them ends", async () => {
  const played = async (
    definition: GameDefinition,
  ): Promise<{ frames: Uint8Array[]; reports: FailureReport[] }> => {
    const frames: Uint8Array[] = [];
    const reports: FailureReport[] = [];
    const loop = createLoop(definition, {
      emit: ({ bytes }: BlockFrame) => frames.push(bytes),
      failed: (report) => reports.push(report),
    });
    await loop.play(lease({ num_segments: 3 }), new FakePolicy(4));
    return { frames, reports };
  };
  // One ends alone, the last one as well, all at once.
  for (const terminateAt of [1, 2, 3]) {
    const onTick = (instance: number, tick: number) =>
      tick % (terminateAt + instance) === 0 ? { reward: 1, terminated: true } : undefined;
    const begun: number[] = [];
    const plain = await played(countingGame({ onTick }));
    const ahead = await played(startedAhead(countingGame({ onTick }), begun));
    expect(ahead.reports).toEqual([]);
    expect(ahead.frames).toEqual(plain.frames);
    expect(begun.length).toBeGreaterThan(3);
  }
});
