import { EpisodeScript } from "@attract/worker/episode/episode-script";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { createInstance } from "attract/group-instance";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { drilled } from "./drilled.ts";

/** Fails once it has moved this far, or is not a number there; a box moves by twice its number. */
function cliff(action: GameDefinition["action"], failing: "throw" | "nan", numAgents = 1): GameDefinition {
  return defineGame({
    id: "Cliff-v1",
    tickSeconds: 0.1,
    maxSeconds: 100,
    numAgents,
    observation: box({ low: -100, high: 100, shape: [1] }),
    action,
    create: () => {
      let x = 0;
      const seen = () => (numAgents === 1 ? [x] : Array.from({ length: numAgents }, () => [x]));
      return {
        start() {
          x = 0;
          return seen();
        },
        update(_seconds: number, given: unknown) {
          const moves = (numAgents === 1 ? [given] : given) as (number | ArrayLike<number>)[];
          for (const move of moves) x += typeof move === "number" ? move : move[0];
          if (x > 6 && failing === "throw") throw new Error("fell off");
          if (x > 6) x = Number.NaN;
          return { observation: seen(), reward: numAgents === 1 ? 0 : moves.map(() => 0) };
        },
      };
    },
  } as unknown as GameDefinition);
}

const OPTIONS = { heapBytes: async () => 0, yieldTurn: () => Promise.resolve(), seconds: 5 };

test.each([
  ["leak", discrete(3), 1],
  ["leak", box({ low: -1, high: 3, shape: [1] }), 1],
  ["slow", discrete(3), 2],
] as const)(
  "%s tells of an error that it meets, with the episode that shows it",
  async (kind, action, numAgents) => {
    const game = cliff(action, "throw", numAgents);
    const { alarms, recorded, problem } = await drilled(kind, game, [], OPTIONS);
    expect(problem).toBe("the game failed: update() threw: fell off");
    expect(alarms.map(({ oracle, text }) => [oracle, text])).toEqual([["error", "update() threw: fell off"]]);
    const [episode] = recorded;
    if (episode === null) throw new Error("it was not recorded");
    expect([episode.end_reason, episode.num_steps]).toEqual(["failed", alarms[0].step + 1]);
    // Played again it fails in the same step, as it was seen.
    const script = await EpisodeScript.of(game, episode);
    const instance = createInstance(game);
    instance.setStream(episode.seed.low, episode.seed.high, episode.instance);
    instance.start(episode.episode, episode.parameters);
    const play = () => {
      for (let step = 0; step < episode.num_steps; step++) {
        expect(script.difference(step, instance)).toBe(null);
        instance.step(script.action(step, instance));
      }
    };
    expect(play).toThrow("fell off");
    expect(instance.episodeSteps).toBe(alarms[0].step);
  },
);

test("what is not a number is told of as that, once", async () => {
  const { alarms, recorded } = await drilled("leak", cliff(discrete(3), "nan"), [], OPTIONS);
  expect(alarms.map(({ oracle }) => oracle)).toEqual(["nan"]);
  expect(recorded).toHaveLength(1);
});
