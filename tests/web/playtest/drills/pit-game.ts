/** A walk with a pit: what becomes of who falls in is the test's to say. */

import type { Context2D, GameDefinition, GameOptions } from "attract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";

const PIT = 4;

export interface Walk {
  place: number;
  /** Steps since the walker fell; 0: it walks. */
  fallen: number;
  steps: number;
}

/**
 * @param fall what `update` does once the walker lies in the pit: returns whether the episode is over.
 * @param inPit observed beside the place.
 */
export function pitGame(
  fall: (walk: Walk, action: number) => boolean,
  options: Partial<GameOptions> = {},
  draw?: (walk: Walk, context: Context2D) => void,
): GameDefinition {
  return defineGame({
    id: "Pit-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: discrete(["left", "right"]),
    create: () => {
      const walk: Walk = { place: 0, fallen: 0, steps: 0 };
      return {
        start() {
          Object.assign(walk, { place: 0, fallen: 0, steps: 0 });
          return [0];
        },
        update(_deltaTime: number, action: number) {
          walk.steps++;
          if (walk.fallen === 0) {
            walk.place = Math.max(-PIT, walk.place + (action === 1 ? 1 : -1));
            if (walk.place >= PIT) walk.fallen = 1;
            return { observation: [walk.place], reward: 0, terminated: false };
          }
          walk.fallen++;
          return { terminated: fall(walk, action), observation: [walk.place], reward: 0 };
        },
        ...(draw === undefined ? {} : { draw: (context: Context2D) => draw(walk, context) }),
      };
    },
    ...options,
  });
}
