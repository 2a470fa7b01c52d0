import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { expect, test } from "vitest";
import { drilled, played } from "./drilled.ts";

/** Walks on a field; `moves` says what each choice does, "fire" is seen for a step where there is something to be hit. */
function field(moves: readonly (readonly [number, number])[], { mask = false } = {}) {
  return defineGame({
    id: "Field-v1",
    tickSeconds: 0.1,
    maxSeconds: 20,
    observation: box({ shape: [2] }),
    action: discrete(moves.length),
    ...(mask ? { actionMask: true } : {}),
    create: () => {
      let [x, y] = [0, 0];
      return {
        start({ random, out }) {
          [x, y] = [random.int(100), random.int(100)];
          if (mask) out.actionMask![0] = 0;
          return [x, y];
        },
        update(_: number, action: number) {
          [x, y] = [x + moves[action][0], y + moves[action][1]];
          return { observation: [x, y], reward: 0 };
        },
      };
    },
  });
}

const MOVES = [
  [-1, 0],
  [1, 0],
  [0, -1],
  [0, 1],
] as const;

test("each key that does something of its own does so in all states; a dead one in none, nor one that does what another does", async () => {
  const run = async (moves: readonly (readonly [number, number])[]) => {
    const game = field(moves);
    return drilled("dead-key", game, await played(game, 4, 300));
  };
  const whole = await run(MOVES);
  expect(whole).toMatchObject({ alarms: [], recorded: [], problem: null });
  expect(whole.numbers).toEqual({ states: 32, "action 0": 1, "action 1": 1, "action 2": 1, "action 3": 1 });
  // Beside one that waits, a key that does nothing waits as well.
  const waiting = [...MOVES, [0, 0]] as const;
  expect((await run(waiting)).numbers["action 4"]).toBe(1);
  expect(
    (
      await run([
        [-1, 0],
        [1, 0],
        [0, 0],
        [0, 1],
        [0, 0],
      ])
    ).numbers,
  ).toEqual({
    states: 32,
    "action 0": 1,
    "action 1": 1,
    "action 2": 0,
    "action 3": 1,
    "action 4": 0,
  });
});

test("an action that is always forbidden has no number, and the others are compared without it", async () => {
  const game = field(MOVES, { mask: true });
  const { numbers } = await drilled("dead-key", game, await played(game, 4, 300));
  expect(numbers).toEqual({ states: 32, "action 1": 1, "action 2": 1, "action 3": 1 });
});

test("what is only drawn counts as well: a horn that nobody observes", async () => {
  const horn = (isHeard: boolean) => {
    let pressed = 0;
    const game = field([...MOVES, [0, 0], [0, 0]]);
    return {
      ...game,
      create: () => {
        const inner = game.create();
        return {
          start: inner.start.bind(inner),
          update(seconds: number, action: number, out: Parameters<typeof inner.update>[2]) {
            pressed = Number(isHeard && action === 5);
            return inner.update(seconds, action as never, out);
          },
          draw: (context: { fillRect(x: number, y: number, w: number, h: number): void }) =>
            context.fillRect(pressed, 0, 1, 1),
        };
      },
    } as typeof game;
  };
  const share = async (game: ReturnType<typeof horn>) =>
    (await drilled("dead-key", game, await played(game, 4, 300))).numbers["action 5"];
  expect(await share(horn(true))).toBe(1);
  expect(await share(horn(false))).toBe(0);
});

test("without episodes or without time it says so, and has no numbers to compare", async () => {
  const game = field(MOVES);
  expect((await drilled("dead-key", game, [])).problem).toBe("no episode of this game was given to begin in");
  const episodes = await played(game, 2, 300);
  // Time passes only where it is asked for, which is once a step.
  let ms = 0;
  const now = () => {
    ms += 0.05;
    return ms;
  };
  const { numbers, problem } = await drilled("dead-key", game, episodes, { now, seconds: 0.3 });
  expect(problem).toMatch(/^only \d+ of 20 states were looked at in the time given$/);
  expect(Object.keys(numbers)).toEqual(["states"]);
  const other = { ...episodes[0], game_id: "Other-v1" };
  expect((await drilled("dead-key", game, [other])).problem).toContain("no episode of this game");
});
