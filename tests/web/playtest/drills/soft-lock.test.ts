import { EpisodeScript } from "@attract/worker/episode/episode-script";
import { replayEpisode } from "@attract/worker/episode/replay-episode";
import { expect, test } from "vitest";
import { drilled, played } from "./drilled.ts";
import { pitGame } from "./pit-game.ts";

const STEPS = 400;

async function found(definition: ReturnType<typeof pitGame>, steps = STEPS) {
  const episodes = await played(definition, 4, steps);
  return { episodes, ...(await drilled("soft-lock", definition, episodes)) };
}

test("a pit that nobody leaves is found where the walker falls in; the episode is cut 5 s later and shows it again", async () => {
  const game = pitGame(() => false);
  const { episodes, alarms, recorded, numbers, problem } = await found(game);
  expect([episodes.length, numbers, problem]).toEqual([4, { episodes: 4, locked: 4 }, null]);
  // Three are enough for one cause.
  expect(alarms.map(({ oracle }) => oracle)).toEqual(["soft-lock", "soft-lock", "soft-lock"]);
  for (const [i, alarm] of alarms.entries()) {
    const script = await EpisodeScript.of(game, episodes[i]);
    let place = 0;
    let fallen = 0;
    for (; place < 4; fallen++)
      place = Math.max(-4, place + (script.action(fallen, { active: new Uint8Array(1) }) === 1 ? 1 : -1));
    // The step before the fall is the first after which nothing matters: it was the last that did.
    expect([alarm.step, alarm.tick]).toEqual([fallen, fallen]);
    expect(alarm.text).toMatch(
      `from step ${fallen} (${(fallen / 10).toFixed(1)} s) on no input changes anything: 5 inputs`,
    );
    expect(recorded[i]).toMatchObject({
      num_steps: fallen + 50,
      end_reason: "stopped",
      num_ticks: fallen + 50,
    });
    const options = { definition: game, yieldTurn: () => Promise.resolve(), now: () => 0 };
    expect((await replayEpisode(await EpisodeScript.of(game, recorded[i]!), options)).equal).toBe(true);
    const again = await drilled("soft-lock", game, [recorded[i]!]);
    expect(again.alarms.map(({ step }) => step)).toEqual([fallen]);
  }
});

test("who falls and is over after 8 s is not locked, even if the recording stopped before that", async () => {
  const { alarms, numbers, episodes } = await found(
    pitGame(({ fallen }) => fallen > 80),
    100,
  );
  expect(episodes.filter(({ end_reason: reason }) => reason === "stopped").length).toBeGreaterThan(1);
  expect([alarms, numbers.locked]).toEqual([[], 0]);
  const late = await found(
    pitGame(({ fallen }) => fallen > 600),
    250,
  );
  expect(late.alarms.length).toBeGreaterThan(0);
});

test("who gets out by a key is not locked, nor who only draws what is pressed, nor who waits for a long way of one key", async () => {
  const climb = pitGame((walk, action) => {
    if (walk.fallen > 20 && action === 0) Object.assign(walk, { place: 0, fallen: 0 });
    return false;
  });
  expect((await found(climb)).alarms).toEqual([]);
  let pressed = 0;
  const drawn = pitGame(
    (_walk, action) => {
      pressed = action;
      return false;
    },
    {},
    (_walk, context) => context.fillRect(pressed, 0, 10, 10),
  );
  expect((await found(drawn)).alarms).toEqual([]);
  // The same drawing whatever is pressed.
  const still = pitGame(
    () => false,
    {},
    ({ place }, context) => context.fillRect(place, 0, 10, 10),
  );
  expect((await found(still)).alarms.length).toBe(3);
  // An animation that goes on by itself is no way out.
  const animated = pitGame(
    () => false,
    {},
    ({ steps }, context) => context.fillRect(steps, 0, 10, 10),
  );
  expect((await found(animated)).alarms.length).toBe(3);
});

test("a score screen in the last 5 s of the time limit is no lock; one of half a minute is", async () => {
  const until = (from: number) =>
    pitGame(() => false, {
      maxSeconds: 60,
      create: () => {
        let [place, steps] = [0, 0];
        return {
          start() {
            [place, steps] = [0, 0];
            return [0];
          },
          update(_: number, action: number) {
            if (++steps < from) place += action === 1 ? 1 : -1;
            return { observation: [place], reward: 0, terminated: false };
          },
        };
      },
    });
  const short = await found(until(550), 1000);
  expect(short.episodes[0]).toMatchObject({ end_reason: "time_limit", num_steps: 600 });
  expect([short.numbers, short.alarms]).toEqual([{ episodes: 4, locked: 0 }, []]);
  const long = await found(until(300), 1000);
  expect(long.alarms.map(({ step }) => step)).toEqual([299, 299, 299]);
});

test("episodes that the game ended are not looked at; one that does not replay is a problem, and so is no time", async () => {
  const ended = await found(pitGame(() => true));
  expect([ended.numbers, ended.problem]).toEqual([{ episodes: 0, locked: 0 }, null]);
  const game = pitGame(() => false);
  const episodes = await played(game, 2, STEPS);
  const other = episodes.map((episode) => ({
    ...episode,
    marks: { ...episode.marks, hashes: episode.marks.hashes.replaceAll(/[0-9a-f]/g, "0") },
  }));
  expect((await drilled("soft-lock", game, other)).problem).toContain("does not play its episodes again");
  expect((await drilled("soft-lock", game, episodes, { seconds: 0 })).problem).toBe(
    "there was no time left for it",
  );
});

test("a lock whose begin takes too long to find is told of from where it is known", async () => {
  let ms = 0;
  const game = pitGame(() => {
    ms++;
    return false;
  });
  const episodes = await played(game, 1, STEPS);
  const run = async (seconds: number) => {
    const began = ms;
    const { alarms, recorded } = await drilled("soft-lock", game, episodes, { seconds, now: () => ms });
    return { steps: alarms.map(({ step }) => step), recorded, taken: (ms - began) / 1000 };
  };
  const whole = await run(1000);
  const hurried = await run(0.8 * whole.taken);
  expect(hurried.steps).toHaveLength(1);
  expect(hurried.steps[0]).toBeGreaterThan(whole.steps[0]);
  expect(hurried.recorded[0]?.num_steps).toBe(hurried.steps[0] + 50);
});
