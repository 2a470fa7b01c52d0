/** Episodes that were recorded while they were played are the same when they are played again, or it is said where not. */

import type { RecordedEpisode } from "@attract/schema";
import { EpisodeMismatch, EpisodeScript } from "@attract/worker/episode/episode-script";
import { replayEpisode } from "@attract/worker/episode/replay-episode";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import cartpole from "../../../../web/games/cartpole/game.ts";
import foragers from "../../../../web/games/foragers/game.ts";
import harvest from "../../../../web/games/harvest/game.ts";
import keydoor from "../../../../web/games/keydoor/game.ts";
import lander from "../../../../web/games/lander/game.ts";
import memory from "../../../../web/games/memory/game.ts";
import pendulum from "../../../../web/games/pendulum/game.ts";
import snake from "../../../../web/games/snake/game.ts";
import { SEED } from "../support/counting-game.ts";
import { played } from "../support/played.ts";

const BUNDLED = { cartpole, foragers, harvest, keydoor, lander, memory, pendulum, snake };
const OPTIONS = { yieldTurn: () => Promise.resolve(), now: () => 0 };

async function replayed(definition: GameDefinition, episode: RecordedEpisode) {
  return replayEpisode(await EpisodeScript.of(definition, episode), { ...OPTIONS, definition });
}

/** Walks; observes where it is. `fault` throws in that tick of that place. */
function walk(options: { step?: number; fault?: (place: number, tick: number) => boolean } = {}) {
  const { step = 1, fault = () => false } = options;
  return defineGame({
    id: "Walk-v1",
    tickSeconds: 0.1,
    secondsPerStep: 0.3,
    observation: box({ shape: [2] }),
    action: discrete(["left", "right"]),
    parameters: { size: { default: 20, low: 5, high: 100 } },
    create: () => {
      let place = 0;
      let tick = 0;
      let size = 0;
      return {
        start({ random, parameters }) {
          place = random.int(5);
          tick = 0;
          size = parameters.size;
          return [place, tick];
        },
        update(_, action: number) {
          place += action === 0 ? -1 : step;
          tick++;
          if (fault(place, tick)) throw new TypeError(`lost at ${place}`);
          const terminated = Math.abs(place) > size || tick >= 200;
          return { observation: [place, tick], reward: place, terminated };
        },
      };
    },
  });
}

describe("an episode played again", () => {
  test.each(Object.entries(BUNDLED))("C5: is the same in %s", async (_, definition) => {
    const { recorded } = await played(definition, 8);
    expect(recorded).toHaveLength(8);
    for (const episode of recorded) {
      const replay = await replayed(definition, episode);
      expect(replay).toMatchObject({ equal: true, difference: null, returns: episode.returns });
      expect([replay.num_steps, replay.num_ticks]).toEqual([episode.num_steps, episode.num_ticks]);
    }
  });

  test("C5: has the parameters that were drawn for it", async () => {
    const parameters = { size: { kind: "uniform" as const, values: [5, 30] } };
    const { recorded } = await played(walk(), 8, { parameters, lesson_id: "small" });
    expect(new Set(recorded.map(({ parameters: { size } }) => size)).size).toBe(8);
    for (const episode of recorded) {
      expect(episode.lesson_id).toBe("small");
      expect((await replayed(walk(), episode)).equal).toBe(true);
      const other = await replayed(walk(), { ...episode, parameters: {} });
      // Whatever the walk's end depends on is another one.
      if (episode.end_reason === "terminated" && episode.num_steps < 60) expect(other.equal).toBe(false);
    }
  });

  test("C5: in another build differs from the first mark after the first other step, with step and second", async () => {
    const { recorded } = await played(walk(), 4);
    const { equal, difference } = await replayed(walk({ step: 2 }), recorded[0]);
    // A mark each third step: about one a second.
    expect(recorded[0].marks.interval).toBe(3);
    expect(equal).toBe(false);
    expect(difference).toMatchObject({ step: 3, text: "the agent sees something else since step 0" });
    expect(difference?.seconds).toBeCloseTo(0.9);
  });

  test("C5: with another action differs", async () => {
    const [episode] = (await played(walk(), 1)).recorded;
    const bytes = Uint8Array.from(atob(episode.actions.data), (c) => c.charCodeAt(0));
    bytes[7] = 1 - bytes[7];
    const data = btoa(String.fromCharCode(...bytes));
    const replay = await replayed(walk(), { ...episode, actions: { ...episode.actions, data } });
    expect(replay.difference?.step).toBe(9);
  });

  test("C5: that its player left ends where it was left, and that goes on there", async () => {
    const [episode] = (await played(walk(), 1, { max_episode_steps: 2 })).recorded;
    expect([episode.end_reason, episode.num_steps]).toEqual(["cut", 2]);
    expect((await replayed(walk(), episode)).equal).toBe(true);
    const said = await replayed(walk(), { ...episode, end_reason: "terminated" });
    expect(said.difference?.text).toBe(
      "the game goes on here; in the record it ended after 2 steps (terminated)",
    );
    const paid = await replayed(walk(), { ...episode, returns: [episode.returns[0] + 1] });
    expect(paid.difference?.text).toContain("the return is");
  });
});

describe("an episode that failed", () => {
  test("S5: fails again in the same tick of the same step, with the same words", async () => {
    const definition = walk({ fault: (place, tick) => place === 4 && tick > 10 });
    const { reports } = await played(definition, 6);
    const [report] = reports.filter(({ recorded }) => recorded !== null);
    const episode = report.recorded as RecordedEpisode;
    expect(episode).toMatchObject({
      end_reason: "failed",
      seed: SEED,
      error: { kind: "throw", name: "TypeError" },
    });
    expect(episode.error?.tick).toBe(report.tick);
    expect(episode.num_steps).toBe(Math.ceil((report.tick as number) / 3));
    const replay = await replayed(definition, episode);
    expect(replay).toMatchObject({ equal: true, end_reason: "failed", num_ticks: report.tick });
    expect(replay.error?.text).toBe(episode.error?.text);
    const mended = await replayed(walk(), episode);
    expect(mended.difference?.text).toBe(`the game does not fail; in the record: ${episode.error?.text}`);
  });

  test("S5: with a return that is too large has the failing step once", async () => {
    const huge = { observation: [0, 0], reward: Number.MAX_VALUE / 4, terminated: false };
    const definition = { ...walk(), create: () => ({ start: () => [0, 0], update: () => huge }) };
    const { reports } = await played(definition, 1);
    const episode = reports[0].recorded as RecordedEpisode;
    expect(episode.error?.text).toContain("return");
    const { equal, num_steps: numSteps, num_ticks: numTicks } = await replayed(definition, episode);
    expect([equal, numSteps, numTicks]).toEqual([true, episode.num_steps, episode.num_ticks]);
  });

  test("S5: in its start has no step", async () => {
    const definition = {
      ...walk(),
      create: () => ({
        start: () => {
          throw new RangeError("no level");
        },
        update: () => ({ reward: 0 }),
      }),
    };
    const { reports } = await played(definition, 1);
    const episode = reports[0].recorded as RecordedEpisode;
    expect(episode).toMatchObject({ num_steps: 0, end_reason: "failed", error: { tick: 0 } });
    expect((await replayed(definition, episode)).equal).toBe(true);
  });
});

describe("a game that has to be waited for", () => {
  test("starts once a page is there; where none can be had, it is no failure of the game", async () => {
    const [episode] = (await played(walk(), 1)).recorded;
    const script = await EpisodeScript.of(walk(), episode);
    let isThere = false;
    const definition = walk();
    const create = () => {
      const game = definition.create();
      const start: typeof game.start = (context) => {
        expect(isThere).toBe(true);
        return game.start(context);
      };
      return { ...game, start };
    };
    const preload = async () => {
      await Promise.resolve();
      isThere = true;
    };
    const options = { ...OPTIONS, definition: { ...definition, create } };
    expect(await replayEpisode(script, { ...options, preloaded: { maxCopies: 1, preload } })).toMatchObject({
      equal: true,
    });
    const none = { maxCopies: 1, preload: () => Promise.reject(new Error("no page")) };
    await expect(replayEpisode(script, { ...options, preloaded: none })).rejects.toThrow("no page");
  });
});

describe("a record that does not fit", () => {
  const refused = async (
    change: (episode: RecordedEpisode) => Partial<RecordedEpisode>,
    definition = walk(),
  ) => {
    const [episode] = (await played(walk(), 1)).recorded;
    return expect(EpisodeScript.of(definition, { ...episode, ...change(episode) })).rejects;
  };

  test("is refused with what is wrong", async () => {
    await (await refused(() => ({ game_id: "Other-v1" }))).toThrow(
      new EpisodeMismatch("this is an episode of Other-v1, and the game is Walk-v1"),
    );
    await (await refused(() => ({ parameters: { speed: 2 } }))).toThrow(
      "the game takes no parameter speed = 2",
    );
    await (await refused(() => ({ num_steps: 1 }))).toThrow("its actions are [");
    await (await refused(({ actions }) => ({ actions: { ...actions, data: "AA==" } }))).toThrow(
      "the actions are damaged: 1 bytes",
    );
    await (await refused(({ actions }) => ({ actions: { ...actions, data: "!" } }))).toThrow("not base64");
    await (await refused(({ actions }) => ({ actions: { ...actions, deflated: true } }))).toThrow("damaged");
    await (await refused(({ actions }) => ({ actions: { ...actions, shape: [1 << 19, 2] } }))).toThrow(
      "its actions",
    );
    await (
      await refused(({ actions, num_steps: n }) => ({
        actions: { ...actions, data: btoa("\u0002".repeat(n)) },
      }))
    ).toThrow("2 is no action of the game");
  });
});
