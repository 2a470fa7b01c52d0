/** Planted: whoever learns to beat the newest policy forgets how to beat the ones before: five rounds, each seen by both. */

import { box, defineGame, discrete } from "attract";

const ROUNDS = 5;

class RockPaperScissors {
  round = 0;

  start() {
    this.round = 0;
    return [this.seen(), this.seen()];
  }

  update(_deltaTime: number, [one, other]: ArrayLike<number>) {
    this.round += 1;
    // 1: one's move is the next in the circle and wins; 2: it is the one before.
    const won = [0, 1, -1][(one - other + 3) % 3];
    return {
      observation: [this.seen(one, other), this.seen(other, one)],
      reward: [won, -won],
      terminated: this.round === ROUNDS,
    };
  }

  /** The last moves of both, the own first. */
  seen(...moves: number[]) {
    return [
      this.round / ROUNDS,
      ...[0, 1].flatMap((place) => [0, 1, 2].map((move) => Number(moves[place] === move))),
    ];
  }
}

export default defineGame({
  id: "RockPaperScissors-v1",
  tickSeconds: 0.1,
  numAgents: 2,
  observation: box({ low: 0, high: 1, shape: [7] }),
  action: discrete(3),
  create: () => new RockPaperScissors(),
});
