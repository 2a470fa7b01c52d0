/** A recorded episode on a stage: it stands at the tick that is asked for, as the play then did, and says where it differs. */

import type { EpisodeDifference, EpisodeError, RecordedEpisode } from "@attract/schema";
import { EpisodePlayer } from "@attract/worker/episode/episode-player";
import { EpisodeScript } from "@attract/worker/episode/episode-script";
import { EpisodeTape } from "@attract/worker/episode/episode-tape";
import { episodeError } from "@attract/worker/game/failures";
import { createSampler } from "@attract/worker/policy/sampler";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { createInstance } from "attract/group-instance";
import type { Instance } from "attract/instance";
import { box, discrete, numActionComponents } from "attract/spaces";
import { describe, expect, test, vi } from "vitest";
import foragers from "../../../../web/games/foragers/game.ts";
import lander from "../../../../web/games/lander/game.ts";
import snake from "../../../../web/games/snake/game.ts";

const SEED = { low: 7, high: 9 };

/** Goes a tenth of its speed at each tick, which no sum of floats holds; three ticks a step. */
function stroll({ step = 0.1, failsAt = Number.POSITIVE_INFINITY, limit = 60 } = {}): GameDefinition {
  return defineGame({
    id: "Stroll-v1",
    tickSeconds: 0.1,
    secondsPerStep: 0.3,
    observation: box({ shape: [2] }),
    action: discrete(["left", "right"]),
    parameters: { wind: { default: 0, low: 0, high: 1 } },
    create: () => {
      let [place, tick, wind] = [0, 0, 0];
      return {
        start({ random, parameters }) {
          place = random();
          wind = parameters.wind;
          tick = 0;
          return [place, tick];
        },
        update(_, action: number) {
          tick++;
          place += (action === 0 ? -step : step) + wind;
          if (tick === failsAt) throw new TypeError("a stone");
          return { observation: [place, tick], reward: place / 3, terminated: tick >= limit };
        },
      };
    },
  });
}

/** An episode of random play as a worker records it: whole steps. */
function recorded(definition: GameDefinition, maxSteps: number): RecordedEpisode {
  const { numAgents = 1 } = definition;
  const instance = createInstance(definition, { seedLow: SEED.low, seedHigh: SEED.high, instanceId: 3 });
  const tape = new EpisodeTape(definition);
  const sampler = createSampler(definition.action, numAgents);
  const parameters: Record<string, number> = definition.id === "Stroll-v1" ? { wind: 0.25 } : {};
  tape.begin(parameters);
  instance.start(5, parameters);
  let state = 1;
  let error: EpisodeError | null = null;
  const size = numActionComponents(definition.action);
  while (!instance.episodeOver && instance.episodeSteps < maxSteps && error === null) {
    for (let agent = 0; agent < numAgents; agent++) {
      for (let c = 0; c < sampler.numDraws; c++) {
        state = (state * 48271) % 2147483647;
        sampler.uniforms[agent * sampler.numDraws + c] = state / 2147483647;
      }
      if (instance.active[agent] === 1) sampler.sampleUniform(new Uint8Array(0), agent);
      else sampler.rest(agent);
    }
    tape.add(instance, sampler.actions, 0);
    const actions = Array.from({ length: numAgents }, (_, agent) => sampler.gameAction(agent));
    try {
      instance.step(numAgents === 1 ? actions[0] : (actions as number[]));
    } catch (thrown) {
      error = episodeError(thrown, instance);
    }
  }
  expect(size).toBeGreaterThan(0);
  const seat = { player: "random" as const, policy_id: null, policy_version: null, deterministic: false };
  const seats = Array.from({ length: numAgents }, () => seat);
  const terms = { run_id: null, seed: SEED, lesson_id: null, seats };
  return tape.recorded(instance, terms, instance.endReason, error) as RecordedEpisode;
}

async function playerOf(definition: GameDefinition, episode: RecordedEpisode) {
  const script = await EpisodeScript.of(definition, episode);
  const found: EpisodeDifference[] = [];
  const errors: unknown[] = [];
  let arrived = 0;
  let time = 0;
  const player = new EpisodePlayer({
    definition,
    script,
    yieldTurn: () => new Promise((resolve) => setTimeout(resolve)),
    // Each tick seems to take a millisecond: it yields at every fifth.
    now: () => time++,
    onDiffers: (difference) => found.push(difference),
    onArrived: () => arrived++,
    onError: (error) => errors.push(error),
  });
  const go = async (seconds: number) => {
    player.go(seconds);
    await vi.waitFor(() => expect(player.isBehind).toBe(false), { timeout: 20_000 });
    expect(errors).toEqual([]);
  };
  return { player, go, found, numArrived: () => arrived };
}

const seenBy = (instance: Instance) => JSON.stringify([instance.views, [...instance.episodeReturns]]);

describe("going to a second", () => {
  test("forward, back and again gives the same", async () => {
    const definition = stroll();
    const { player, go, found } = await playerOf(definition, recorded(definition, 100));
    await go(0);
    expect([player.instance.episodeTicks, player.step]).toEqual([0, 0]);
    await go(2.1);
    expect([player.instance.episodeTicks, player.step]).toEqual([21, 7]);
    const then = seenBy(player.instance);
    await go(2.25);
    expect([player.instance.episodeTicks, player.step]).toEqual([22, 7]);
    await go(0.5);
    expect([player.instance.episodeTicks, player.step]).toEqual([5, 1]);
    await go(2.1);
    expect(seenBy(player.instance)).toBe(then);
    // 60 ticks, and then the game is over.
    await go(1e9);
    expect([player.instance.episodeTicks, player.step]).toEqual([60, 19]);
    await go(-1);
    expect(player.instance.episodeTicks).toBe(0);
    expect(found).toEqual([]);
  });

  test("the newest wish counts, also while it goes to another", async () => {
    const definition = stroll({ limit: 3000 });
    const { player, go, numArrived } = await playerOf(definition, recorded(definition, 900));
    player.go(200);
    expect(player.isBehind).toBe(true);
    player.go(100);
    await new Promise((resolve) => setTimeout(resolve));
    await go(3);
    expect(player.instance.episodeTicks).toBe(30);
    expect(numArrived()).toBe(1);
  });

  test("the parameters, seed, stream and number of the record are the game's", async () => {
    const definition = stroll();
    const episode = recorded(definition, 100);
    const { player, go } = await playerOf(definition, episode);
    await go(0);
    const start = seenBy(player.instance);
    for (const change of [{ seed: { low: 7, high: 10 } }, { instance: 4 }, { episode: 6 }]) {
      const other = await playerOf(definition, { ...episode, ...change });
      await other.go(0);
      expect(seenBy(other.player.instance)).not.toBe(start);
    }
    const calm = await playerOf(definition, { ...episode, parameters: {} });
    await calm.go(1e9);
    expect(calm.found[0].step).toBe(3);
  });
});

describe("what it says of the play", () => {
  test.each(Object.entries({ stroll: stroll(), snake, lander, foragers }))(
    "%s, tick by tick, is the play of whole steps",
    async (_, definition) => {
      const episode = recorded(definition, 200);
      const { go, found } = await playerOf(definition, episode);
      for (let second = 0; second < episode.num_steps * episode.seconds_per_step; second += 1.7)
        await go(second);
      await go(1e9);
      expect(found).toEqual([]);
    },
  );

  test("the first difference, once, and it goes on", async () => {
    const episode = recorded(stroll(), 100);
    const { player, go, found } = await playerOf(stroll({ step: 0.2 }), episode);
    await go(0.85);
    expect(found).toEqual([]);
    await go(1);
    expect(found).toMatchObject([{ step: 3, text: "the agent sees something else since step 0" }]);
    await go(1e9);
    await go(0);
    await go(1e9);
    expect(found).toHaveLength(1);
    expect(player.instance.episodeTicks).toBe(60);
  });

  test("a return that is another", async () => {
    const episode = recorded(stroll(), 10);
    const [value] = episode.returns;
    const { go, found } = await playerOf(stroll(), { ...episode, returns: [value * (1 + 1e-6)] });
    await go(1e9);
    expect(found[0].text).toContain("the return is");
  });

  test("a failure in the same tick is no difference; it can begin again after it", async () => {
    const definition = stroll({ failsAt: 23 });
    const episode = recorded(definition, 100);
    expect([episode.end_reason, episode.num_steps]).toEqual(["failed", 8]);
    const { player, go, found } = await playerOf(definition, episode);
    await go(1e9);
    expect([found, player.instance.episodeTicks]).toEqual([[], 22]);
    await go(1);
    expect(player.instance.episodeTicks).toBe(10);
    const mended = await playerOf(stroll(), episode);
    await mended.go(1e9);
    expect(mended.found[0].text).toBe(
      "the game does not fail; in the record: update() threw: TypeError: a stone",
    );
  });

  test("a page's failure is the same wherever the page is served", async () => {
    const definition = stroll({ failsAt: 23 });
    const { error, ...episode } = recorded(definition, 100);
    const text = `${error?.text} (game.js:3:5)`;
    const then = { ...episode, error: { ...(error as EpisodeError), text } };
    const elsewhere = await playerOf(definition, then);
    await elsewhere.go(1e9);
    expect(elsewhere.found).toEqual([]);
    const other = await playerOf(definition, {
      ...then,
      error: { ...then.error, text: text.replace("stone", "rock") },
    });
    await other.go(1e9);
    expect(other.found[0].text).toContain("(update() threw: TypeError: a stone); in the record in tick 23 (");
  });

  test("a failure that the record has not is named with the step that was not finished", async () => {
    const { go, found } = await playerOf(stroll({ failsAt: 23 }), recorded(stroll(), 100));
    await go(1e9);
    // 22 ticks are 7 steps and one tick.
    expect(found).toMatchObject([{ step: 7, text: "the game fails: update() threw: TypeError: a stone" }]);
  });

  test("an end before the record's", async () => {
    const episode = recorded(stroll(), 100);
    const { player, go, found } = await playerOf(stroll({ limit: 10 }), episode);
    await go(1e9);
    expect(found[0].text).toContain("ends here (terminated); in the record it ended after 20 steps");
    expect(player.instance.episodeTicks).toBe(10);
  });
});

describe("the recorded actions and an adviser", () => {
  test("the action is that of the step that comes next, or is under way", async () => {
    const definition = stroll();
    const episode = recorded(definition, 100);
    const actions = Uint8Array.from(atob(episode.actions.data), (c) => c.charCodeAt(0));
    expect(new Set(actions).size).toBe(2);
    const { player, go } = await playerOf(definition, episode);
    for (const seconds of [0, 0.3, 0.65, 2.1, 1e9]) {
      await go(seconds);
      expect(player.action).toBe(actions[Math.min(Math.floor(seconds / 0.3 + 1e-6), actions.length - 1)]);
    }
  });

  test("without memory it is asked only about what comes next", async () => {
    const definition = stroll();
    const { player, go } = await playerOf(definition, recorded(definition, 100));
    const asked: number[] = [];
    const decide = async (instance: Instance) => asked.push(instance.episodeTicks);
    player.advise({ hasMemory: false, decide });
    await go(0);
    await go(3);
    // Once a step, at its beginning: 27 is within a step of where it goes.
    expect(asked).toEqual([0, 27, 30]);
    expect(player.isAdvised).toBe(true);
    await go(3.1);
    expect([asked.length, player.isAdvised]).toEqual([3, true]);
  });

  test("with a memory it sees every step from the first", async () => {
    const definition = stroll();
    const { player, go } = await playerOf(definition, recorded(definition, 100));
    await go(1.2);
    const begins: number[] = [];
    const asked: number[] = [];
    const decide = async (instance: Instance, flags: Uint8Array) => {
      asked.push(instance.episodeTicks);
      begins.push(flags[0]);
    };
    player.advise({ hasMemory: true, decide });
    await go(1.2);
    expect(asked).toEqual([0, 3, 6, 9, 12]);
    expect(begins).toEqual([1, 0, 0, 0, 0]);
  });
});

/** The third agent is always there; the second comes in the second tick of a step, and the first goes in one and is back before it ends. */
const comings = defineGame({
  id: "Comings-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.3,
  numAgents: 3,
  observation: box({ shape: [1] }),
  action: discrete(2),
  create: () => {
    let tick = 0;
    const seen = () => [[tick], [-tick], [0]];
    return {
      start() {
        tick = 0;
        return { observation: seen(), active: [true, false, true] };
      },
      update() {
        tick++;
        const active = [tick % 9 !== 4 && tick % 12 !== 0, tick % 10 >= 5, true];
        return { observation: seen(), reward: [1, 10, 0], active, terminated: tick >= 60 };
      },
    };
  },
});

test("E9: agents that come and go within a step earn what they earned in whole steps", async () => {
  const { player, go, found } = await playerOf(comings, recorded(comings, 100));
  await go(1e9);
  expect([found, player.instance.episodeTicks]).toEqual([[], 60]);
});
