import type { PlaytestGame } from "@attract/schema";
import type { GameDefinition } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { drilled, played } from "./drilled.ts";

interface Car {
  place: number;
  speed: number;
  laps: number;
}

/** Drives; `begin` sets it to its start, and `look` says what is observed. */
function race(begin: (car: Car) => void, { numbers = 2, tick = (_car: Car): void => undefined } = {}) {
  return defineGame({
    id: "Race-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [numbers] }),
    action: discrete(2),
    create: () => {
      const car = { place: 0, speed: 1, laps: 0 };
      let steps = 0;
      const look = () => Array.from({ length: numbers }, (_, i) => (i === 0 ? car.place : car.speed));
      return {
        start({ random }) {
          begin(car);
          car.place = random.int(3);
          steps = 0;
          return look();
        },
        update(_: number, action: number) {
          tick(car);
          car.place += car.speed * action;
          if (steps++ === 20) car.speed += 1;
          return { observation: look(), reward: 0, terminated: car.place > 40 };
        },
      };
    },
  });
}

const whole = (car: Car): void => {
  car.speed = 1;
};

async function run(game: GameDefinition, seconds = 60, observed: PlaytestGame["observed"] = []) {
  return drilled("retry-broken", game, await played(game, 4, 200), { seconds, observed });
}

test("a second try that keeps the speed of the first is found: which after which, at which second, in what", async () => {
  const { alarms, recorded, numbers, problem } = await run(race(() => undefined));
  expect([alarms.length, recorded, numbers, problem]).toEqual([
    1,
    [null],
    { episodes: 2, first: 0, last: 1 },
    null,
  ]);
  expect(alarms[0]).toMatchObject({ oracle: "retry-broken", step: 0, stack: null });
  expect(alarms[0].text).toBe(
    "episode 1, after episode 0 in the same copy, differs from the same episode in a new copy " +
      "at step 0 (0.0 s): observation[1] is 2 instead of 1",
  );
  expect(await run(race(whole))).toMatchObject({ alarms: [], numbers: { episodes: 5 }, problem: null });
});

test("what goes on with its chance is no fault of a restart that was guessed", async () => {
  const bag = defineGame({
    id: "Bag-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [2] }),
    action: discrete(2),
    create: () => {
      let next: number | null = null;
      let [piece, steps] = [0, 0];
      return {
        start({ random }) {
          [piece, next] = [next ?? random.int(100), random.int(100)];
          steps = 0;
          return [piece, steps];
        },
        update: () => ({ observation: [piece, ++steps], reward: 0, terminated: steps > 20 }),
      };
    },
  });
  const read = ["w.piece", "w.steps"].map((text) => ({ text, numbers: 1 }));
  expect((await run(bag)).alarms[0].text).toContain("at step 0 (0.0 s): observation[0] is ");
  expect(await run(bag, 60, read)).toMatchObject({ alarms: [], problem: null });
  expect(
    (
      await run(
        race(() => undefined),
        60,
        read,
      )
    ).alarms,
  ).toHaveLength(1);
});

test("what differs is called by what it was read of, where that is known; of a list nothing is compared at a guessed start", async () => {
  const kept = race(() => undefined);
  const read = (numbers: number) => [
    { text: "w.car", numbers: 1 },
    { text: "w.speed", numbers },
  ];
  const { alarms } = await run(kept, 60, read(1));
  expect(alarms[0].text).toContain("what is seen of w.speed is 2 instead of 1");
  expect((await run(kept, 60, read(3))).alarms).toEqual([]);
});

test("a copy that does not begin again is shown by the episode before, and is no error of the one after", async () => {
  const game = race((car) => {
    whole(car);
    if (car.laps++ > 0) throw new Error("no second lap");
  });
  const { alarms, recorded } = await run(game);
  const [episode] = await played(game, 1, 200);
  expect(alarms).toMatchObject([
    {
      oracle: "retry-broken",
      text: "after this episode the game does not begin again in the same page: start() threw: no second lap",
      step: episode.num_steps,
    },
  ]);
  expect(recorded).toMatchObject([{ num_steps: episode.num_steps, actions: episode.actions }]);
});

test("of a picture it says that something else is seen", async () => {
  const { alarms } = await run(race(() => undefined, { numbers: 3_000 }));
  expect(alarms[0].text).toContain("at step 0 (0.0 s): the agents see something else");
  expect((await run(race(whole, { numbers: 3_000 }))).alarms).toEqual([]);
});

test("what only three tries before together bring about names them all; the step is that of the episode", async () => {
  const third = (car: Car): void => {
    car.speed = 1;
    car.laps++;
  };
  const tick = (car: Car): void => {
    if (car.laps === 4 && car.place > 5) car.speed = 0;
  };
  const { alarms } = await run(race(third, { tick }));
  expect(alarms[0].text).toMatch(
    /^episode 3, after episodes 0 to 2 in the same copy, differs .* at step [1-9]\d* \(/,
  );
});

test("a game that fails in its second try alone is found with what it says", async () => {
  const tick = (car: Car): void => {
    if (car.laps === 2) throw new Error("the second lap");
  };
  const { alarms } = await run(
    race(
      (car) => {
        whole(car);
        car.laps++;
      },
      { tick },
    ),
  );
  expect(alarms[0].text).toMatch(/at step 1 \(0.1 s\): the game failed: .*the second lap/);
});

test("a game that is never the same twice is a problem and no alarm", async () => {
  let dice = 0;
  const { alarms, problem } = await run(
    race(whole, {
      tick: (car) => {
        car.place += (dice++ % 7) * 0.01;
      },
    }),
  );
  expect(alarms).toEqual([]);
  expect(problem).toMatch(
    /^the game is not deterministic: episode 0 differs between two new copies at step 1 /,
  );
});

test("without episodes or time it says so", async () => {
  expect((await drilled("retry-broken", race(whole))).problem).toContain("no episode of this game was given");
  expect((await run(race(whole), 0)).problem).toBe("only 0 of 5 episodes were compared in the time given");
});

test("what only a drawing keeps of the games before is measured, unless each copy draws otherwise", async () => {
  const drawn = async (text: (laps: number) => string) => {
    const game = race(whole);
    const create: typeof game.create = () => {
      const own = game.create();
      let laps = 0;
      return {
        ...own,
        start: (context) => {
          laps++;
          return own.start(context);
        },
        draw: (context) => context.fillText(text(laps), 0, 0),
      };
    };
    const { alarms, numbers } = await run({ ...game, create });
    expect(alarms).toEqual([]);
    return numbers;
  };
  let copies = 0;
  expect(await drawn((laps) => `lap ${laps}`)).toEqual({ episodes: 5, drawn_alike: 0 });
  expect(await drawn(() => "lap")).toEqual({ episodes: 5, drawn_alike: 1 });
  expect(await drawn(() => `copy ${copies++}`)).toEqual({ episodes: 5 });
});
