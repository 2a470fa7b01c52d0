/** Calls a game's `draw` on a canvas that only listens, and says what would go wrong on a real one. */

import type { Context2D } from "./context-2d.ts";
import type { GameDefinition } from "./contract.ts";
import { drawActions } from "./cost.ts";
import { thrownByGame } from "./errors.ts";
import { createInstance } from "./group-instance.ts";
import { RandomPlayer } from "./random-play.ts";

const DRAWN_STEPS = 20;

/** Draws the first steps of one episode; `complain` hears of exceptions, coordinates that are no numbers, and a blank canvas. */
export function drawOnce(definition: GameDefinition, complain: (message: string) => void): void {
  const instance = createInstance(definition, { seedLow: 5 });
  const player = new RandomPlayer(definition.action, 5);
  const heard = { marks: 0, bad: "" };
  const context = listeningContext(heard);
  instance.start(0);
  try {
    for (let step = 0; step < DRAWN_STEPS && !instance.episodeOver; step++) {
      instance.game.draw?.(context, 320, 240);
      instance.step(drawActions(instance, player));
    }
    instance.game.draw?.(context, 320, 240);
  } catch (thrown) {
    complain(thrownByGame("draw", thrown).message);
    return;
  }
  if (heard.bad !== "") complain(`draw() called ${heard.bad}: coordinates must be finite numbers`);
  if (heard.marks === 0) complain("draw() drew nothing: neither fill, stroke nor text");
}

function listeningContext(heard: { marks: number; bad: string }): Context2D {
  const known: Record<string, unknown> = {};
  return new Proxy(known, {
    get(target, name) {
      if (typeof name === "symbol" || name in target) return target[name as string];
      return (...args: unknown[]) => {
        if (/^(fill|stroke)/.test(name)) heard.marks++;
        if (heard.bad === "" && args.some((arg) => typeof arg === "number" && !Number.isFinite(arg))) {
          heard.bad = `${name}(${args.join(", ")})`;
        }
        return name.startsWith("create") ? { addColorStop: () => undefined } : undefined;
      };
    },
  }) as unknown as Context2D;
}
