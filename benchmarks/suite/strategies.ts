/** For each game of the suite a simple strategy, as one would script it in a few lines: what an agent has to beat. */

import type { GameRandom } from "attract";

/** Chooses one agent's action from its observation and action mask; created again for every episode. */
export type Strategy = (observation: ArrayLike<number>, mask: ArrayLike<number>) => number | number[];

export interface SimpleStrategy {
  /** What it does, in one sentence. */
  says: string;
  create(random: GameRandom): Strategy;
}

const LEFT = 0;
const STAY = 1;
const RIGHT = 2;

/** Left, stay or right towards `distance`, given as seen from here. */
const towards = (distance: number, near: number) =>
  Math.abs(distance) <= near ? STAY : distance < 0 ? LEFT : RIGHT;

/** Straight on, and when a wall is in the way in another direction, drawn at random; `walls` finds the four flags. */
const bumpAndTurn =
  (walls: (observation: ArrayLike<number>) => number[]) =>
  (random: GameRandom): Strategy => {
    let direction = random.int(4);
    return (observation) => {
      const isWall = walls(observation);
      if (isWall[direction] === 1) {
        const free = [0, 1, 2, 3].filter((d) => isWall[d] !== 1);
        direction = free[random.int(free.length)];
      }
      return direction;
    };
  };

export const strategies: Record<string, SimpleStrategy> = {
  "cart-pole": {
    says: "pushes to the side to which the pole leans",
    create: () => (seen) => (seen[2] > 0 ? 1 : 0),
  },
  "mountain-car": {
    says: "accelerates to the right",
    create: () => () => RIGHT,
  },
  "mountain-car-continuous": {
    says: "gives full throttle to the right",
    create: () => () => [1],
  },
  acrobot: {
    says: "turns the elbow the way it turns already",
    create: () => (seen) => (seen[5] > 0 ? RIGHT : LEFT),
  },
  jumper: {
    says: "runs towards the next platform: above it while it rises, below it while it falls",
    create: () => (seen) => towards(seen[1] > 0 ? seen[4] : seen[2], 10),
  },
  exit: {
    says: "goes towards the exit, and in a direction drawn at random where a wall is in the way",
    create: (random) => (seen) => {
      const dx = seen[2] - seen[0];
      const dy = seen[3] - seen[1];
      const isAcross = Math.abs(dx) > Math.abs(dy);
      const direction = isAcross ? (dx < 0 ? 2 : 3) : dy < 0 ? 0 : 1;
      return seen[4 + direction] === 1 ? random.int(4) : direction;
    },
  },
  treasure: {
    says: "goes up, down or right at random",
    create: (random) => () => [0, 1, 3][random.int(3)],
  },
  merge: {
    says: "slides down if it can, else left, else right, else up",
    create: () => (_seen, mask) => [1, 2, 3, 0].find((action) => mask[action] === 1)!,
  },
  breakout: {
    says: "moves the middle of the paddle below the ball",
    create: () => (pixels) => {
      const size = 20;
      let ball = 0;
      let paddle = size;
      for (let i = 0; i < size * size; i++) {
        const pixel = pixels[2 * i];
        if (pixel === 255) ball = i % size;
        if (pixel === 160) paddle = Math.min(paddle, i % size);
      }
      return towards(ball - (paddle + 2), 0);
    },
  },
  duel: {
    says: "moves the paddle level with the ball",
    create: () => (seen) => towards(seen[3] - seen[0], 2),
  },
  maze: {
    says: "goes straight on until it bumps into a wall, then turns at random",
    create: bumpAndTurn((seen) => [4, 10, 6, 8].map((i) => (seen[i] === 1 ? 1 : 0))),
  },
  thruster: {
    says: "thrusts towards the beacon and never brakes",
    create: () => (seen) => [Math.sign(seen[4]), Math.sign(seen[5])],
  },
};
