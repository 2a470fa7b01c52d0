/** What a check plays at random can be played again: its first episode, and each in which the game failed. */

import type { RecordedEpisode } from "@attract/schema";
import { CheckedEpisodes } from "@attract/worker/episode/checked-episodes";
import { EpisodeScript } from "@attract/worker/episode/episode-script";
import { replayEpisode } from "@attract/worker/episode/replay-episode";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { describe, expect, test } from "vitest";
import { checkGame } from "../../../../web/check/src/check.ts";
import foragers from "../../../../web/games/foragers/game.ts";
import keydoor from "../../../../web/games/keydoor/game.ts";
import pendulum from "../../../../web/games/pendulum/game.ts";

/** Drifts by its actions and the wind until it is 40 ticks old. `fault` throws where it stands. */
function drift(fault: (place: number, tick: number, wind: number) => boolean = () => false): GameDefinition {
  return defineGame({
    id: "Drift-v1",
    tickSeconds: 0.05,
    secondsPerStep: 0.1,
    observation: box({ shape: [2] }),
    action: box({ shape: [1], low: -0.7, high: 1.6 }),
    parameters: { wind: { default: 0, low: -1, high: 1 } },
    create: () => {
      let [place, tick, wind] = [0, 0, 0];
      return {
        start({ random, parameters }) {
          [place, tick, wind] = [random(), 0, parameters.wind];
          if (fault(place, tick, wind)) throw new RangeError("no room");
          return [place, tick];
        },
        update(_, action: Float32Array) {
          tick++;
          place += action[0] / 3 + wind;
          if (fault(place, tick, wind)) throw new RangeError(`lost at ${place}`);
          return { observation: [place, tick], reward: action[0] / 7, terminated: tick >= 40 };
        },
      };
    },
  });
}

/** Adds up what its two agents do, also in the steps in which the second takes no part. */
const pair = defineGame({
  id: "Pair-v1",
  tickSeconds: 0.1,
  numAgents: 2,
  observation: box({ shape: [1] }),
  action: discrete(5),
  create: () => {
    let [sum, tick] = [0, 0];
    const seen = () => ({ observation: [[sum], [-sum]], active: [true, tick % 3 === 0] });
    return {
      start() {
        [sum, tick] = [0, 0];
        return seen();
      },
      update(_, actions: readonly number[]) {
        tick++;
        sum += actions[0] + 10 * actions[1];
        return { ...seen(), reward: [sum, 0], terminated: tick >= 20 };
      },
    };
  },
});

/** A check as a worker makes it, of so many steps of random play. */
async function checked(definition: GameDefinition, steps = 300) {
  const episodes = new CheckedEpisodes(definition);
  const onCopy = episodes.watch.bind(episodes);
  const { findings } = await checkGame(definition, { now: () => 0, steps, onCopy });
  const failed = findings.map(({ id, thrown }) => [id, episodes.takeFailed(thrown)] as const);
  return { failed: failed.filter(([, episode]) => episode !== null), first: episodes.takeFirst() };
}

async function replayed(definition: GameDefinition, episode: RecordedEpisode | null) {
  const script = await EpisodeScript.of(definition, episode as RecordedEpisode);
  return replayEpisode(script, { definition, yieldTurn: () => Promise.resolve(), now: () => 0 });
}

describe("the first episode", () => {
  test.each(Object.entries({ drift: drift(), foragers, keydoor, pair, pendulum }))(
    "C5: of %s is the same when it is played again",
    async (_, definition) => {
      const { first, failed } = await checked(definition);
      expect(failed).toEqual([]);
      expect(first).toMatchObject({ episode: 0, seed: { low: 1, high: 0 }, run_id: null });
      expect(first?.seats.every(({ player }) => player === "random")).toBe(true);
      expect(first?.num_steps).toBeGreaterThan(10);
      const { equal, difference, end_reason: reason } = await replayed(definition, first);
      expect([equal, difference, reason]).toEqual([true, null, first?.end_reason]);
    },
  );

  test("that did not end is as long as it was played", async () => {
    const endless = { ...drift(), create: () => ({ ...drift().create(), update: () => ({ reward: 1 }) }) };
    const { first } = await checked({ ...endless, maxSeconds: undefined }, 123);
    expect([first?.num_steps, first?.end_reason]).toEqual([123, "stopped"]);
    expect((await replayed(endless, first)).equal).toBe(true);
  });

  test("is none where the game fails in it; one is kept where it fails later", async () => {
    expect((await checked(drift((_, tick) => tick === 3))).first).toBeNull();
    const { first: later } = await checked(drift((place, tick) => tick === 0 && place > 0.9));
    expect(later).toMatchObject({ episode: 0, end_reason: "terminated", num_steps: 20 });
  });
});

describe("an episode in which the game failed", () => {
  test("S5: fails again in the same tick", async () => {
    const definition = drift((place, tick) => tick > 5 && place > 2);
    const { failed } = await checked(definition);
    expect(failed.map(([id]) => id)).toEqual(["contract"]);
    const [[, episode]] = failed;
    expect(episode?.error).toMatchObject({ kind: "throw", name: "RangeError" });
    expect(episode?.num_steps).toBe(Math.ceil((episode?.error?.tick as number) / 2));
    expect(await replayed(definition, episode)).toMatchObject({ equal: true, num_ticks: episode?.num_ticks });
    expect((await replayed(drift(), episode)).difference?.text).toContain("the game does not fail");
  });

  test("S5: in a later start has its number and no step", async () => {
    const definition = drift((place, tick) => tick === 0 && place > 0.9);
    const { failed } = await checked(definition);
    const [[, episode]] = failed;
    expect(episode).toMatchObject({
      num_steps: 0,
      error: { tick: 0, text: "start() threw: RangeError: no room" },
    });
    expect(episode?.episode).toBeGreaterThan(0);
    expect((await replayed(definition, episode)).equal).toBe(true);
  });

  test("S5: at an end of a parameter has that value", async () => {
    const definition = drift((_, tick, wind) => wind === 1 && tick === 12);
    const { failed, first } = await checked(definition);
    expect(failed.map(([id]) => id)).toEqual(["parameter"]);
    const [[, episode]] = failed;
    expect(episode).toMatchObject({ parameters: { wind: 1 }, seed: { low: 4 }, num_steps: 6 });
    expect((await replayed(definition, episode)).equal).toBe(true);
    expect(first?.end_reason).toBe("terminated");
  });
});

test("episodes beyond the room of an answer are left out", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
  const definition = defineGame({
    id: "Ends-v1",
    tickSeconds: 1,
    observation: box({ shape: [1] }),
    action: discrete(2),
    parameters: Object.fromEntries(names.map((name) => [name, { default: 0, low: -1, high: 1 }])),
    create: () => {
      let fails = false;
      return {
        start({ parameters }) {
          fails = Object.values(parameters).some((value) => value !== 0);
          return [0];
        },
        update() {
          if (fails) throw new Error("at an end");
          return { observation: [0], reward: 0, terminated: true };
        },
      };
    },
  });
  // Forty ends fail, and an answer has room for the texts of sixteen episodes at most: 1 MiB of 64 KiB each.
  expect((await checked(definition)).failed).toHaveLength(15);
});
