/** A game whose rewards are those of another times a factor: what learns from the one should learn from the other. */

import type { Game, GameDefinition, UpdateResult } from "attract";

/** `game` with every reward and the weight of every reward term times `factor`; nothing else changes. */
export function scaled(game: GameDefinition, factor: number): GameDefinition {
  const terms = Object.entries(game.rewardTerms ?? {}).map(([name, weight]) => [name, weight * factor]);
  return {
    ...game,
    ...(game.rewardTerms && { rewardTerms: Object.fromEntries(terms) }),
    create: () => scaledGame(game.create(), factor),
  };
}

function scaledGame(inner: Game, factor: number): Game {
  return {
    start: (context) => inner.start(context),
    update: (deltaTime, action, out) => {
      const result = inner.update(deltaTime, action, out);
      return { ...result, reward: times(result.reward, factor) };
    },
    ...(inner.draw && { draw: inner.draw.bind(inner) }),
  };
}

function times(reward: UpdateResult["reward"], factor: number): UpdateResult["reward"] {
  if (reward === undefined) return undefined;
  return typeof reward === "number" ? reward * factor : Array.from(reward, (one) => one * factor);
}
