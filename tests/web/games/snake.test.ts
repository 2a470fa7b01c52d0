/** Snake conforms, and its board, food, hunger and observation are what the README says. */

import { expect, test } from "vitest";
import definition, { type Snake } from "../../../web/games/snake/game.ts";
import { GameInstance } from "../../../web/sdk/src/instance.ts";
import { createSequentialRandom, STREAM } from "../../../web/sdk/src/random.ts";
import { describeConformance } from "./conformance.ts";

describeConformance(definition, { maxMicrosecondsPerTick: 50 });

const [UP, DOWN, LEFT, RIGHT] = [0, 1, 2, 3];
const OPPOSITE = [DOWN, UP, RIGHT, LEFT];

function started(
  episode = 0,
  size = 10,
): { instance: GameInstance; snake: Snake; observation: Float32Array } {
  const instance = new GameInstance(definition, { seedLow: 5 });
  instance.start(episode, { size });
  return { instance, snake: instance.game as Snake, observation: instance.views[0] as Float32Array };
}

test("straight ahead the wall comes in as many steps as the ray says, and it kills", () => {
  const { instance, snake, observation } = started();
  snake.board.food = -1;
  const { direction } = snake;
  const stepsToWall = Math.round(1 / observation[8 + direction]);
  for (let step = 1; step <= stepsToWall; step++) {
    expect(instance.episodeOver).toBe(false);
    // Putting food out of the game keeps the length at three.
    snake.board.food = 0;
    instance.step(direction);
  }
  expect([instance.endReason, instance.totals.termSums[1]]).toEqual(["terminated", 1]);
  // Steps cost 0.005 each, death 1.
  expect(instance.episodeReturns[0]).toBeCloseTo(-1 - 0.005 * stepsToWall, 12);
});

test("turning back goes straight on", () => {
  const { instance, snake } = started();
  const { direction } = snake;
  const expected = snake.board.head + snake.board.offsets[direction];
  instance.step(OPPOSITE[direction]);
  expect([snake.board.head, snake.direction]).toEqual([expected, direction]);
});

test("food is where the observation says; eating it grows the snake and is worth 1", () => {
  for (let episode = 0; episode < 20; episode++) {
    const { instance, snake, observation } = started(episode);
    const down = Math.round(observation[20] * 10);
    const right = Math.round(observation[21] * 10);
    expect(snake.board.head + down * snake.board.width + right).toBe(snake.board.food);
    expect([...observation.subarray(16, 20)]).toEqual([down < 0, down > 0, right < 0, right > 0].map(Number));
    snake.board.food = snake.board.head + snake.board.offsets[snake.direction];
    instance.step(snake.direction);
    expect(instance.rewards[0]).toBeCloseTo(1 - 0.005, 12);
    expect([snake.board.length, instance.totals.metricValues[0]]).toEqual([4, 1]);
    expect(snake.board.blocked[snake.board.food]).toBe(0);
  }
});

test("the snake may follow its own tail but not run into its body", () => {
  const { instance, snake } = started(1);
  const { board } = snake;
  // Eat once, to length 4, then turn in a square of four cells: the head follows the tail for ever.
  board.food = board.head + board.offsets[snake.direction];
  instance.step(snake.direction);
  const turn = snake.direction <= DOWN ? LEFT : UP;
  for (const action of [turn, OPPOSITE[snake.direction], OPPOSITE[turn], snake.direction, turn]) {
    board.food = board.width + 1 === board.head ? board.width + 2 : board.width + 1;
    instance.step(action);
    expect(instance.episodeOver).toBe(false);
  }
  // At length 5 the same square is too small.
  const other = started(1);
  for (let meal = 0; meal < 2; meal++) {
    other.snake.board.food = other.snake.board.head + other.snake.board.offsets[other.snake.direction];
    other.instance.step(other.snake.direction);
  }
  const heading = other.snake.direction;
  const aside = heading <= DOWN ? LEFT : UP;
  for (const action of [aside, OPPOSITE[heading]]) other.instance.step(action);
  expect(other.instance.episodeOver).toBe(false);
  other.instance.step(OPPOSITE[aside]);
  expect(other.instance.endReason).toBe("terminated");
});

test("the snake starves after two steps per cell without food", () => {
  const { instance, snake } = started(2, 6);
  let steps = 0;
  // Round and round in a square of four cells.
  const turn = snake.direction <= DOWN ? LEFT : UP;
  const circle = [turn, OPPOSITE[snake.direction], OPPOSITE[turn], snake.direction];
  while (!instance.episodeOver) {
    snake.board.food = 0;
    instance.step(circle[steps++ % 4]);
  }
  expect([steps, instance.endReason]).toEqual([2 * 36, "terminated"]);
});

test("food falls on every free cell alike, and a full board ends the game", () => {
  const { snake } = started(3, 6);
  const { board } = snake;
  const counts = new Map<number, number>();
  const { random, reset } = createSequentialRandom(STREAM.game);
  reset(6, 0, 0, 0);
  for (let i = 0; i < 33_000; i++) {
    board.placeFood(random);
    counts.set(board.food, (counts.get(board.food) ?? 0) + 1);
  }
  // 36 cells less the snake's three; 1,000 each, deviation 31.
  expect(counts.size).toBe(33);
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(190);
  board.length = 36;
  board.placeFood(random);
  expect(board.food).toBe(-1);
});

test("the parameter `size` is the board's side", () => {
  for (const size of [6, 20]) {
    const { instance, snake, observation } = started(0, size);
    expect(snake.board.size).toBe(size);
    // One policy plays all sizes: the observation is as long, and within the same limits.
    expect(observation.length).toBe(26);
    expect(Math.max(...observation.map(Math.abs))).toBeLessThanOrEqual(1);
    instance.step(snake.direction);
    const { metricNames, metricValues } = instance.totals;
    expect(metricValues[metricNames.indexOf("size")]).toBe(size);
    const [up, down, left, right] = [...observation.subarray(8, 12)].map((inverse) =>
      Math.round(1 / inverse),
    );
    // The two rays across the heading span the board; the one backwards ends at the snake's own body.
    expect(snake.direction <= DOWN ? left + right - 1 : up + down - 1).toBe(size);
  }
});
