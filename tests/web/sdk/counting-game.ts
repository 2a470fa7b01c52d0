/** A game whose numbers name themselves, and which breaks the contract on demand. */

import type { Game, GameOptions, Out, StartContext, UpdateResult } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";

/** Observation after tick t of episode e is [1000 * e + t, action]; the reward of tick t is t / 16, exact in binary. */
export class CountingGame implements Game {
  tick = 0;
  episodes = -1;
  deltaTimes: number[] = [];
  actions: number[] = [];

  start({ out }: StartContext<Float32Array>): void {
    this.tick = 0;
    this.episodes++;
    this.fill(out, 0);
  }

  update(deltaTime: number, action: number, out: Out<Float32Array>): UpdateResult {
    this.tick++;
    this.deltaTimes.push(deltaTime);
    this.actions.push(action);
    this.fill(out, action);
    return { reward: this.tick / 16 };
  }

  protected fill(out: Out<Float32Array>, action: number): void {
    out.observation[0] = 1000 * this.episodes + this.tick;
    out.observation[1] = action;
  }
}

/** A counting game without end; `overrides` replaces options and, in `update`, what a tick returns. */
export function countingGame(
  overrides: Partial<GameOptions> & { start?: Game["start"]; tickResult?: (tick: number) => unknown } = {},
) {
  const { start, tickResult, ...options } = overrides;
  return defineGame({
    id: "Counting-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [2] }),
    action: discrete(3),
    create: () => {
      const game = new CountingGame();
      if (start !== undefined) game.start = start as CountingGame["start"];
      if (tickResult !== undefined) {
        const { update } = game;
        game.update = (deltaTime, action, out) => {
          const usual = update.call(game, deltaTime, action, out);
          const result = tickResult(game.tick);
          return (
            typeof result === "object" && result !== null && !("then" in result)
              ? { ...usual, ...result }
              : result
          ) as UpdateResult;
        };
      }
      return game;
    },
    ...options,
  });
}
